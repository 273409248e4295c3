"""With `--mode observe`: what YuniKorn's scheduler binds, compared with what our gates would have let pass.

Only quota is compared. Each Pod that is bound is held against the queues as they were just before; who comes first is
YuniKorn's own affair. Watches of several kinds run beside each other, so where quota changed shortly before or after,
or room came shortly after, nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from reconciler.controllers.yunikorn.kinds import COMPARED, MAPS, NAMESPACE, SCHEDULED_POD
from reconciler.controllers.yunikorn.reasons import reason_text
from reconciler.core.controller import Controller
from reconciler.objects.observed import Observed
from reconciler.observer.comparison import PATIENCE, Difference, Kind, Report, Result
from scheduling.objects.times import SECOND
from scheduling.world.decisions import Decision
from scheduling.yunikorn.gated_pod import GatedPod
from scheduling.yunikorn.gatekeeper import Gatekeeper
from scheduling.yunikorn.queue import Lack
from scheduling.yunikorn.queues_in_force import QueuesInForce
from scheduling.yunikorn.waiting import Waiting

_QUEUES = ""
"""Stands for queues.yaml where Namespaces have their names."""
PERIOD = 30 * SECOND
"""How often, in nanoseconds, it is asked who waits though there is room; a Pod is named that did so twice."""


class ComparedPods(Controller):
    """Has that watched which is compared. It writes nothing."""

    watched = COMPARED


class _Suspected(NamedTuple):
    """A Pod that was bound in the queue at `since`, though it would have waited here for `waiting`."""

    since: int
    pod: str
    queue: str
    waiting: Waiting


class PodComparison:
    """An Observer. `namespace` is that of YuniKorn's ConfigMaps, `known` whether all objects were listed."""

    def __init__(self, namespace: str, report: Report, known: Callable[[], bool]) -> None:
        self._report = report
        self._known = known
        self._keeper = Gatekeeper(QueuesInForce(namespace))
        self._changed: dict[str, int] = {}
        self._suspected: list[_Suspected] = []
        self._fitting: set[str] = set()
        self._named: set[str] = set()
        self._said: dict[str, str] = {}
        self._looked = 0

    def changing(self, before: Observed | None, after: Observed, now: int) -> None:
        kind, name = after.key
        if kind == SCHEDULED_POD.kind:
            self._pod(name, after.value, now)
        elif kind in MAPS:
            self._keeper.queues.put(MAPS[kind], after.value)
            self._quota_changes(_QUEUES, now)
        elif kind == NAMESPACE.kind:
            self._keeper.put_namespace(name, after.value)
            if _annotations(before) != _annotations(after):
                self._quota_changes(name, now)

    def changed(self, now: int) -> None:
        """It keeps its own queues."""

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        """Decisions are Kueue's."""

    def passed(self, now: int, _: float, /) -> None:
        self._keeper.refresh()
        due = [each for each in self._suspected if each.since + PATIENCE < now]
        self._suspected = [each for each in self._suspected if each.since + PATIENCE >= now]
        for each in due:
            self._judge(each)
        if now >= self._looked + PERIOD and self._known():
            self._looked = now
            self._changed = {where: at for where, at in self._changed.items() if at >= now - PERIOD}
            self._look_for_room()

    # --- what was bound

    def _quota_changes(self, where: str, now: int) -> None:
        if self._known():
            self._changed[where] = now
            self._fitting.clear()

    def _changed_since(self, moment: int, pod: str) -> bool:
        """Whether the quota of the Pod's Namespace, or queues, changed then or later."""
        return any(self._changed.get(where, 0) >= moment for where in (_QUEUES, pod.partition("/")[0]))

    def _pod(self, name: str, pod: GatedPod | None, now: int) -> None:
        self._keeper.refresh()
        waiting = self._keeper.why(name)
        self._keeper.put_pod(name, pod)
        self._said.pop(name, None)
        if pod is not None and pod.gated and pod.waits:
            self._said[name] = pod.waits
        if waiting is None or pod is None or pod.gated or not self._known():
            return
        if waiting.has_room:
            self._report(Result.SAME, None)
        elif self._changed_since(now - PATIENCE, name):
            self._report(Result.UNSURE, None)
        else:
            self._keeper.refresh()
            application = self._keeper.scheduler.owners.get(name)
            queue = application.leaf.path if application is not None else ""
            self._suspected.append(_Suspected(now, name, queue, waiting))

    def _judge(self, each: _Suspected) -> None:
        lacks = each.waiting.lacks
        if self._changed_since(each.since, each.pod) or (lacks and not any(map(self._is_over, lacks))):
            self._report(Result.UNSURE, None)
            return
        theirs = f"bound in {each.queue}" if each.queue else "bound"
        why = reason_text(each.waiting)
        self._report(Result.DIFFERENT, Difference(Kind.OVER_ADMITTED, each.pod, theirs, "it waits", why))

    def _is_over(self, lack: Lack) -> bool:
        """Whether the queue still uses more than it may; what users have is not counted again."""
        queue = self._keeper.scheduler.tree.queues.get(lack.queue)
        return bool(lack.whose) or (queue is not None and queue.allocated.get(lack.resource, 0) > lack.limit)

    # --- what waits

    def _look_for_room(self) -> None:
        """Name each Pod that is next in its queue and has had room since the last look, once."""
        found = {ask.key: application.leaf.path for application, ask in self._keeper.scheduler.fitting()}
        news = self._fitting & found.keys() - self._named
        for name in sorted(news):
            said = ": ".join(filter(None, ("it waits", self._said.get(name))))
            ours = f"there is room for it in {found[name]}"
            self._report(Result.DIFFERENT, Difference(Kind.NOT_ADMITTED, name, said, ours, ""))
        self._fitting = set(found)
        self._named = (self._named | news) & self._fitting


def _annotations(observed: Observed | None) -> Mapping[str, str]:
    return observed.value.annotations if observed is not None and observed.value is not None else {}
