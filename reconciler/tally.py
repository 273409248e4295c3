"""Counts what happens to Workloads, by what each change of a stored one tells.

Who does not write counts nothing, so that of several replicas one counts each event; what waits is known to all.
Source: Kueue v0.19, pkg/metrics/metrics.go and its callers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from reconciler import families
from reconciler.counted import count_change
from reconciler.families import Families
from reconciler.feed import Seen
from reconciler.metrics import FOLLOWER, LEADER, Gauge
from scheduling.cycle.cycle import OVERLAPPING
from scheduling.objects.inadmissible_reasons import PENDING_EVALUATION
from scheduling.objects.workload import ADMITTED, QUOTA_RESERVED, Workload
from scheduling.world.decisions import Decision, Reserve, Wait
from scheduling.world.world import World

_WHY = ("reason", "underlying_cause")


class Unadmitted(NamedTuple):
    """Why a workload is not admitted, and what is behind that."""

    reason: str
    cause: str


class _Place(NamedTuple):
    """Where a workload stands that is not admitted; `why` None: it is finished."""

    queue: str
    local: tuple[str, str]
    why: Unadmitted | None


def unadmitted(workload: Workload) -> Unadmitted:
    """By its conditions, which may not be there yet."""
    admitted, reserved = workload.conditions.get(ADMITTED), workload.conditions.get(QUOTA_RESERVED)
    reason = admitted.reason if admitted is not None else "NoReservation"
    if workload.reserved:
        return Unadmitted(reason, "")
    return Unadmitted(reason, reserved.reason if reserved is not None else PENDING_EVALUATION)


class Tally(Collector):
    """`leads`: whether this process is the one that writes. `registry` shows what is counted."""

    def __init__(self, world: World, leads: Callable[[], bool], registry: CollectorRegistry) -> None:
        self._world = world
        self._leads = leads
        self._families = Families(registry)
        self._places: dict[str, _Place] = {}
        self._standing: dict[_Place, int] = {}
        self._skips: dict[str, int] = {}
        registry.register(self)

    # --- what the loop tells

    def changing(self, before: Seen | None, after: Seen, now: int) -> None:
        kind, name = after.key
        if kind == "Workload":
            self._stand(name, after.value)
            if before is not None and after.value is not None and self._leads():
                count_change(self._families, before.value, after.value, self._above, now)
        elif after.value is None:
            self._forget(kind, name)

    def changed(self, now: int) -> None:
        """All is told by the change itself."""

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        result = "success" if any(isinstance(each, Reserve) for each in decisions) else "inadmissible"
        self._families.add(families.ATTEMPTS, LEADER, result)
        self._families.add(families.ATTEMPT, LEADER, result, value=seconds)
        overlapping = (each for each in decisions if isinstance(each, Wait) and each.message == OVERLAPPING)
        self._skips = dict(Counter(each.queue for each in overlapping))

    def passed(self, now: int, seconds: float) -> None:
        """Nothing becomes of time alone."""

    # --- what waits

    def collect(self) -> Iterable[Metric]:
        """Called by other threads; what is read here is copied at once."""
        role = LEADER if self._leads() else FOLLOWER
        waits, done = "Workloads that are not admitted, by why.", "Finished Workloads that are still there."
        waiting = Gauge("unadmitted_workloads", waits, ("cluster_queue", *_WHY), role)
        local_waiting = Gauge("local_queue_unadmitted_workloads", waits, ("name", "namespace", *_WHY), role)
        finished = Gauge("finished_workloads", done, ("cluster_queue",), role)
        local_finished = Gauge("local_queue_finished_workloads", done, ("name", "namespace"), role)
        skipped = "Workloads of the last cycle whose victims others took."
        skips = Gauge("admission_cycle_preemption_skips", skipped, ("cluster_queue",), role)
        by_queue: Counter[tuple[str, ...]] = Counter()
        for place, count in [*self._standing.items()]:
            by_queue[place.queue, *(place.why or ())] += count
            (local_waiting if place.why else local_finished).put(count, *place.local, *(place.why or ()))
        for labels, count in by_queue.items():
            (waiting if len(labels) > 1 else finished).put(count, *labels)
        for queue, count in self._skips.items():
            skips.put(count, queue)
        return (waiting, local_waiting, finished, local_finished, skips)

    def describe(self) -> Iterable[Metric]:
        """Nothing: the gauge of finished Workloads and their counter differ by `_total` alone, as Kueue's do."""
        return ()

    def _stand(self, key: str, workload: Workload | None) -> None:
        before = self._places.pop(key, None)
        if before is not None:
            self._standing[before] -= 1
            if not self._standing[before]:
                del self._standing[before]
        if workload is not None and (workload.finished or not workload.admitted):
            place = _Place(self._queue_of(workload), (workload.queue, workload.namespace), _why(workload))
            self._places[key] = place
            self._standing[place] = self._standing.get(place, 0) + 1

    def _queue_of(self, workload: Workload) -> str:
        if workload.admission is not None:
            return workload.admission.cluster_queue
        local = self._world.queues.local_queues.get(f"{workload.namespace}/{workload.queue}")
        return local.cluster_queue if local is not None else ""

    def _forget(self, kind: str, name: str) -> None:
        if kind == "ClusterQueue":
            self._families.forget_queue(name)
        elif kind == "LocalQueue":
            self._families.forget_local_queue(*name.split("/", 1))
        elif kind == "Cohort":
            self._families.forget_cohort(name)

    def _above(self, queue: str) -> list[str]:
        """The Cohorts over a ClusterQueue."""
        node = self._world.state.tree.queues.get(queue)
        return [each.name for each in node.path()[1:]] if node is not None else []


def _why(workload: Workload) -> Unadmitted | None:
    return None if workload.finished else unadmitted(workload)
