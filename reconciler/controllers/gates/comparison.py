"""With `--mode observe`: what another scheduler lets in and binds, compared with what our gates would have let pass.

Only quota is compared. Each Pod that is bound is held against the queues as they were just before, and so is what is
let into a queue; who comes first is the scheduler's own affair. Watches of several kinds run beside each other, so
where quota changed shortly before or after, or room came shortly after, nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from cluster.stream import Manifest
from policies.dialects.pod_reading import pod_reading
from policies.dialects.reading import text
from policies.model.objects import parted
from reconciler.objects.observed import Observed
from reconciler.objects.watched import WatchedKind
from reconciler.observer.comparison import PATIENCE, ComparisonResult, DecisionDifference, DifferenceKind, Report
from scheduling.objects.times import SECOND
from scheduling.world.decisions import Decision

PERIOD = 30 * SECOND
"""How often, in nanoseconds, it is asked who waits though there is room; a Pod is named that did so twice."""
EVERYWHERE = ""
"""Stands for the quota of all namespaces."""


class GateVerdict(NamedTuple):
    """Why a Pod would wait here, empty where it has room. `stands`: whether what was short is still exceeded."""

    why: str
    stands: Callable[[], bool]


class LetIn(NamedTuple):
    """`what` it is, its `namespace/name`, the queue, and why it would wait here."""

    what: str
    name: str
    queue: str
    verdict: GateVerdict


class PodAtGate(Protocol):
    """What all projects keep of a Pod."""

    @property
    def gated(self) -> bool: ...


class Judge(Protocol):
    """Who knows the queues of a project. `pods` is the view of its Pods, each as if it waited at our gate until it is
    bound."""

    @property
    def pods(self) -> WatchedKind[PodAtGate]: ...

    def put_pod(self, observed: Observed[object]) -> str:
        """The Pod has changed, or is gone. What its scheduler says of why it waits; empty where it does not."""

    def take(self, before: Observed[object] | None, after: Observed[object]) -> str | None:
        """Any other object has changed. Of which namespace that may change the quota; None: of none."""

    def let_in(self, before: Observed[object] | None, after: Observed[object]) -> LetIn | None:
        """What the scheduler has let into a queue by this change of another object, which is not taken in yet."""

    def refresh(self) -> None:
        """Take in what was observed."""

    def verdict(self, name: str) -> GateVerdict | None:
        """None for a Pod that does not wait."""

    def queue_of(self, name: str) -> str:
        """The queue in which the Pod counts; empty for none."""

    def fitting(self) -> Mapping[str, str]:
        """Pods that are next in their queue and have room, with that queue."""


class _Suspected(NamedTuple):
    """`theirs` was done with it at `since`, though it would have waited here."""

    since: int
    name: str
    shown: str
    theirs: str
    verdict: GateVerdict


class PodComparison:
    """An Observer. `known`: whether all objects were listed, before which nothing can be said."""

    def __init__(self, judge: Judge, report: Report, known: Callable[[], bool]) -> None:
        self._judge = judge
        self._report = report
        self._known = known
        self._changed: dict[str, int] = {}
        self._suspected: list[_Suspected] = []
        self._fitting: set[str] = set()
        self._named: set[str] = set()
        self._said: dict[str, str] = {}
        self._looked = 0

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:
        kind, name = after.key
        if kind == self._judge.pods.kind:
            self._pod(name, after, now)
            return
        self._judge.refresh()
        found = self._judge.let_in(before, after)
        where = self._judge.take(before, after)
        if where is not None and self._known():
            self._changed[where] = now
            self._fitting.clear()
        if found is not None and self._known():
            shown, theirs = f"{found.what} {found.name}", f"let into {found.queue}"
            self._weigh(_Suspected(now, found.name, shown, theirs, found.verdict))

    def changed(self, now: int) -> None:
        """It keeps its own queues."""

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        """Decisions are Kueue's."""

    def passed(self, now: int, _: float, /) -> None:
        self._judge.refresh()
        due = [each for each in self._suspected if each.since + PATIENCE < now]
        self._suspected = [each for each in self._suspected if each.since + PATIENCE >= now]
        for each in due:
            self._conclude(each)
        if now >= self._looked + PERIOD and self._known():
            self._looked = now
            self._changed = {where: at for where, at in self._changed.items() if at >= now - PERIOD}
            self._look_for_room()

    # --- what was bound

    def _pod(self, name: str, observed: Observed[object], now: int) -> None:
        self._judge.refresh()
        verdict, pod = self._judge.verdict(name), self._judge.pods.value(observed)
        said = self._judge.put_pod(observed)
        self._said.pop(name, None)
        if said:
            self._said[name] = said
        self._judge.refresh()
        if verdict is None or pod is None or pod.gated or not self._known():
            return
        queue = self._judge.queue_of(name)
        self._weigh(_Suspected(now, name, name, f"bound in {queue}" if queue else "bound", verdict))

    def _weigh(self, each: _Suspected) -> None:
        if not each.verdict.why:
            self._report(ComparisonResult.SAME, None)
        elif self._changed_since(each.since - PATIENCE, each.name):
            self._report(ComparisonResult.UNSURE, None)
        else:
            self._suspected.append(each)

    def _conclude(self, each: _Suspected) -> None:
        if self._changed_since(each.since, each.name) or not each.verdict.stands():
            self._report(ComparisonResult.UNSURE, None)
            return
        why = each.verdict.why
        self._report(
            ComparisonResult.DIFFERENT,
            DecisionDifference(DifferenceKind.OVER_ADMITTED, each.shown, each.theirs, "it waits", why),
        )

    def _changed_since(self, moment: int, name: str) -> bool:
        """Whether the quota that holds in its namespace changed then or later."""
        return any(self._changed.get(where, 0) >= moment for where in (EVERYWHERE, parted(name)[0]))

    # --- what waits

    def _look_for_room(self) -> None:
        """Name each Pod that is next in its queue and has had room since the last look, once."""
        found = self._judge.fitting()
        news = self._fitting & found.keys() - self._named
        for name in sorted(news):
            said = ": ".join(filter(None, ("it waits", self._said.get(name))))
            ours = f"there is room for it in {found[name]}"
            self._report(
                ComparisonResult.DIFFERENT, DecisionDifference(DifferenceKind.NOT_ADMITTED, name, said, ours, "")
            )
        self._fitting = set(found)
        self._named = (self._named | news) & self._fitting


def said_of(pod: Manifest) -> str:
    """What its scheduler says of why it waits."""
    return text(pod_reading(pod).condition("PodScheduled").get("message")) or ""
