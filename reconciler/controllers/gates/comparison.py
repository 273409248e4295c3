"""With `--mode observe`: compares what another scheduler binds with what our gates would have let pass.

Only quota is compared; the order of Pods is the scheduler's own affair. Each Pod that is bound, and each group that is
let into a queue, is compared with the queues as they were just before. Watches of several kinds run beside each other.
So nothing is concluded where quota changed shortly before or after, or where quota became free shortly after.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from cluster.resource import Manifest
from policies.dialects.pod_reading import pod_reading
from policies.dialects.reading import text
from policies.model.objects import parted
from reconciler.objects.observed import Observed
from reconciler.objects.watched import WatchedKind
from reconciler.observer.comparison import PATIENCE, ComparisonResult, DecisionDifference, DifferenceKind, Report
from scheduling.objects.times import SECOND
from scheduling.queue_tree.pod_at_gate import PodAtGate
from scheduling.world.decisions import Decision

PERIOD = 30 * SECOND
"""Nanoseconds between two checks for Pods that wait although there is room. A Pod is reported after two checks."""
_OF_NODES = ("nodes are ", " Unschedulable", "once resource is released", "waiting for cluster resources")
"""Words in the reasons of schedulers that find no Node for a Pod, or for a member of its gang."""
EVERYWHERE = ""
"""The quota of all namespaces."""


class GateVerdict(NamedTuple):
    """Why a Pod would wait here; empty if its queue has room.

    `still_short`: the quota that was short is still exceeded.
    """

    why: str
    still_short: Callable[[], bool]


class LetIn(NamedTuple):
    """An object that another scheduler let into a queue.

    `what`: the kind of object.
    `name`: `namespace/name`.
    `queue`: the queue.
    `why`: why the object would wait here.
    """

    what: str
    name: str
    queue: str
    verdict: GateVerdict


class ComparedKeeper(Protocol):
    """Decides by a project's quota, from the objects that it was given."""

    def put_pod(self, key: str, pod: Any) -> None:
        """A Pod of the project that has changed; None: it is gone."""

    def refresh(self) -> None:
        """Take in what was observed, without a decision."""


K = TypeVar("K", bound=ComparedKeeper)


class Judge(ABC, Generic[K]):
    """A project's queues, as the comparison asks them. `pods` is the view of its Pods.

    Each Pod is read as if it waited at our gate until it is bound.
    """

    pods: WatchedKind[PodAtGate]

    def __init__(self, keeper: K) -> None:
        self.keeper = keeper

    def put_pod(self, observed: Observed[object]) -> str:
        """Take in a Pod that has changed, or is gone. Returns its scheduler's reason for waiting; empty for none."""
        pod = self.pods.value(observed)
        self.keeper.put_pod(observed.key[1], pod)
        return pod.waits if pod is not None and pod.gated else ""

    def refresh(self) -> None:
        """Take in what was observed."""
        self.keeper.refresh()

    @abstractmethod
    def take(self, before: Observed[object] | None, after: Observed[object]) -> str | None:
        """Take in a change of any other object. Returns the namespace whose quota may change; None for none."""

    def let_in(self, before: Observed[object] | None, after: Observed[object]) -> LetIn | None:
        """The object that the scheduler has let into a queue by this change, which is not taken in yet."""
        del before, after
        return None

    @abstractmethod
    def verdict(self, name: str) -> GateVerdict | None:
        """Whether the Pod would wait here, and why; None for a Pod that does not wait."""

    @abstractmethod
    def queue_of(self, name: str) -> str:
        """The queue that the Pod counts in; empty for none."""

    @abstractmethod
    def fitting(self) -> Mapping[str, str]:
        """The Pods that are next in their queue and fit into it, each with its queue."""


class _Suspected(NamedTuple):
    """A decision of the other scheduler, made at `since`, for a Pod that would have waited here.

    `subject`: the kind and name. `theirs`: the decision.
    """

    since: int
    name: str
    subject: str
    theirs: str
    verdict: GateVerdict


class PodComparison:
    """An observer that compares Pods. `known`: all objects were listed; before that nothing can be concluded."""

    def __init__(self, judge: Judge[Any], report: Report, known: Callable[[], bool]) -> None:
        self._judge = judge
        self._report = report
        self._known = known
        self._changed: dict[str, int] = {}
        self._suspected: list[_Suspected] = []
        self._fitting: set[str] = set()
        self._named: set[str] = set()
        self._full: set[str] = set()
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
            subject, theirs = f"{found.what} {found.name}", f"let into {found.queue}"
            self._weigh(_Suspected(now, found.name, subject, theirs, found.verdict))

    def changed(self, now: int) -> None:
        """Nothing to do: the comparison keeps its own queues."""

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        """Nothing to do: these decisions are about Kueue's queues."""

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
        if self._changed_since(each.since, each.name) or not each.verdict.still_short():
            self._report(ComparisonResult.UNSURE, None)
            return
        why = each.verdict.why
        self._report(
            ComparisonResult.DIFFERENT,
            DecisionDifference(DifferenceKind.OVER_ADMITTED, each.subject, each.theirs, "it waits", why),
        )

    def _changed_since(self, moment: int, name: str) -> bool:
        """Whether the quota of the Pod's namespace changed then or later."""
        return any(self._changed.get(where, 0) >= moment for where in (EVERYWHERE, parted(name)[0]))

    # --- what waits

    def _look_for_room(self) -> None:
        """Report each Pod that is next in its queue and has had room since the last look. Each is reported once.

        Of those that wait for Nodes, which are not compared, only the first of each queue is reported.
        """
        found = self._judge.fitting()
        news = self._fitting & found.keys() - self._named
        self._full &= {queue for name, queue in found.items() if self._waits_for_nodes(name)}
        for name in sorted(news):
            if self._waits_for_nodes(name):
                if found[name] in self._full:
                    continue
                self._full.add(found[name])
            said = ": ".join(filter(None, ("it waits", self._said.get(name))))
            ours = f"there is room for it in {found[name]}"
            self._report(
                ComparisonResult.DIFFERENT, DecisionDifference(DifferenceKind.NOT_ADMITTED, name, said, ours, "")
            )
        self._fitting = set(found)
        self._named = (self._named | news) & self._fitting

    def _waits_for_nodes(self, name: str) -> bool:
        return any(words in self._said.get(name, "") for words in _OF_NODES)


def said_of(pod: Manifest) -> str:
    """The reason for waiting that the Pod's scheduler gives."""
    return text(pod_reading(pod).condition("PodScheduled").get("message")) or ""
