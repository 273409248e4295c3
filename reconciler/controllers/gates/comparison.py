"""With `--mode observe`: compares what another scheduler does with what our scheduling gates would have done.

Only quota is compared, not the order of Pods. Each Pod that is bound, and each group that is let into a queue, is
compared with the state of the queues just before. The watches of different kinds are not synchronized. So a case counts
as unsure if quota changed shortly before or after it, or became free shortly after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from cluster.resource import Manifest
from policies.dialects.pod_reading import pod_reading
from policies.dialects.reading import text
from policies.model.objects import parted
from reconciler.objects.observed import Observed
from reconciler.objects.watched import WatchedKind
from reconciler.observer.differences import PATIENCE, ComparisonResult, DecisionDifference, DifferenceKind, Report
from reconciler.observer.observer import Observer
from scheduling.objects.times import SECOND
from scheduling.queue_tree.pod_at_gate import PodAtGate

PERIOD = 30 * SECOND
"""Nanoseconds between two checks for Pods that wait although there is room. A Pod that two checks find is reported."""
_OF_NODES = ("nodes are ", " Unschedulable", "once resource is released", "waiting for cluster resources")
"""Words in a scheduler's reason for waiting that show that no Node was found for a Pod or a member of its gang."""
EVERYWHERE = ""
"""The key of a change of quota that may concern all namespaces."""


class GateVerdict(NamedTuple):
    """Whether a Pod would wait here.

    `why`: the reason for waiting; empty if the queue has room.
    `still_short`: checks again whether the quota that was short is exceeded.
    """

    why: str
    still_short: Callable[[], bool]


class LetIn(NamedTuple):
    """An object that another scheduler let into a queue.

    `what`: the kind of the object.
    `name`: `namespace/name`.
    `queue`: the name of the queue.
    `verdict`: whether the object would wait here.
    """

    what: str
    name: str
    queue: str
    verdict: GateVerdict


class ComparedKeeper(Protocol):
    """Decides by the quota of one project."""

    def put_pod(self, key: str, pod: Any) -> None:
        """A Pod of the project has changed; None if it is gone."""

    def refresh(self) -> None:
        """Process what was observed, without deciding anything."""


K = TypeVar("K", bound=ComparedKeeper)


class Judge(ABC, Generic[K]):
    """The queues of one project, as the comparison needs them.

    A Pod is judged as if it waited at our gate until it is bound.

    `pods`: the view of the project's Pods.
    """

    pods: WatchedKind[PodAtGate]

    def __init__(self, keeper: K) -> None:
        self.keeper = keeper

    def put_pod(self, observed: Observed[object]) -> str:
        """Process a Pod that has changed or is gone. Returns its scheduler's reason for waiting; empty for none."""
        pod = self.pods.value(observed)
        self.keeper.put_pod(observed.key[1], pod)
        return pod.waits if pod is not None and pod.gated else ""

    def refresh(self) -> None:
        self.keeper.refresh()

    @abstractmethod
    def take(self, before: Observed[object] | None, after: Observed[object]) -> str | None:
        """Process a change of another object. Returns the namespace whose quota may have changed; None for none."""

    def let_in(self, before: Observed[object] | None, after: Observed[object]) -> LetIn | None:
        """The object that the scheduler let into a queue by this change. Called before the change is processed."""
        del before, after
        return None

    @abstractmethod
    def verdict(self, name: str) -> GateVerdict | None:
        """Whether the Pod would wait here; None if it does not wait at a gate."""

    @abstractmethod
    def queue_of(self, name: str) -> str:
        """The queue in which the Pod is counted; empty for none."""

    @abstractmethod
    def fitting(self) -> Mapping[str, str]:
        """The Pods that are next in their queue and fit into it, with the name of the queue."""


class _Suspected(NamedTuple):
    """A decision of the other scheduler for a Pod that would have waited here.

    `name`: the Pod or the object that was let in.
    `subject`: how a report names it.
    """

    since: int
    name: str
    subject: str
    theirs: str
    verdict: GateVerdict


class PodComparison(Observer):
    """An observer that compares Pods.

    `known`: returns whether all objects have been listed. Before that nothing is compared.

    Private state:
    `_changed`: when the quota of each namespace changed last.
    `_suspected`: the differences that are not confirmed yet.
    `_fitting`: the waiting Pods for which the last check found room.
    `_reported`: those of them that were reported.
    `_full`: the queues of which a Pod was reported that waits for Nodes.
    `_reasons`: the schedulers' reasons for waiting, by Pod.
    """

    def __init__(self, judge: Judge[Any], report: Report, known: Callable[[], bool]) -> None:
        self._judge = judge
        self._report = report
        self._known = known
        self._changed: dict[str, int] = {}
        self._suspected: list[_Suspected] = []
        self._fitting: set[str] = set()
        self._reported: set[str] = set()
        self._full: set[str] = set()
        self._reasons: dict[str, str] = {}
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
            subject, theirs = f"{found.what} {found.name}", f"let into {found.queue}"
            self._classify(_Suspected(now, found.name, subject, theirs, found.verdict))

    def passed(self, now: int, _: float, /) -> None:
        self._judge.refresh()
        due = [each for each in self._suspected if each.since + PATIENCE < now]
        self._suspected = [each for each in self._suspected if each.since + PATIENCE >= now]
        for each in due:
            self._report_suspected(each)
        if now >= self._looked + PERIOD and self._known():
            self._looked = now
            self._changed = {where: at for where, at in self._changed.items() if at >= now - PERIOD}
            self._look_for_room()

    # --- bound Pods

    def _pod(self, name: str, observed: Observed[object], now: int) -> None:
        self._judge.refresh()
        verdict, pod = self._judge.verdict(name), self._judge.pods.value(observed)
        said = self._judge.put_pod(observed)
        self._reasons.pop(name, None)
        if said:
            self._reasons[name] = said
        self._judge.refresh()
        if verdict is None or pod is None or pod.gated or not self._known():
            return
        queue = self._judge.queue_of(name)
        self._classify(_Suspected(now, name, name, f"bound in {queue}" if queue else "bound", verdict))

    def _classify(self, each: _Suspected) -> None:
        if not each.verdict.why:
            self._report(ComparisonResult.SAME, None)
        elif self._changed_since(each.since - PATIENCE, each.name):
            self._report(ComparisonResult.UNSURE, None)
        else:
            self._suspected.append(each)

    def _report_suspected(self, each: _Suspected) -> None:
        if self._changed_since(each.since, each.name) or not each.verdict.still_short():
            self._report(ComparisonResult.UNSURE, None)
            return
        why = each.verdict.why
        self._report(
            ComparisonResult.DIFFERENT,
            DecisionDifference(DifferenceKind.OVER_ADMITTED, each.subject, each.theirs, "it waits", why),
        )

    def _changed_since(self, moment: int, name: str) -> bool:
        """Whether the quota of the Pod's namespace has changed at this time or later."""
        return any(self._changed.get(where, 0) >= moment for where in (EVERYWHERE, parted(name)[0]))

    # --- waiting Pods

    def _look_for_room(self) -> None:
        """Report each Pod that is next in its queue and has had room since the last check. Each is reported once.

        Nodes are not compared, so of the Pods that wait for Nodes only the first of each queue is reported.
        """
        found = self._judge.fitting()
        news = self._fitting & found.keys() - self._reported
        self._full &= {queue for name, queue in found.items() if self._waits_for_nodes(name)}
        for name in sorted(news):
            if self._waits_for_nodes(name):
                if found[name] in self._full:
                    continue
                self._full.add(found[name])
            said = ": ".join(filter(None, ("it waits", self._reasons.get(name))))
            ours = f"there is room for it in {found[name]}"
            self._report(
                ComparisonResult.DIFFERENT, DecisionDifference(DifferenceKind.NOT_ADMITTED, name, said, ours, "")
            )
        self._fitting = set(found)
        self._reported = (self._reported | news) & self._fitting

    def _waits_for_nodes(self, name: str) -> bool:
        return any(words in self._reasons.get(name, "") for words in _OF_NODES)


def said_of(pod: Manifest) -> str:
    """Why the Pod waits, as its scheduler says."""
    return text(pod_reading(pod).condition("PodScheduled").get("message")) or ""
