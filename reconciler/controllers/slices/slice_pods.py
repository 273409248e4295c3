"""Removes the scheduling gate from Pods of elastic jobs, from as many as the slice was admitted with.

The controller of a job creates Pods as soon as the job grows. Pods without the gate keep running. Gated Pods follow
when a larger slice is admitted, or when other Pods have ended. Source: Kueue v0.19, pkg/workloadslicing; KEP-77.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from cluster.actions import Delete, Patch
from cluster.resource import PODS
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE
from reconciler.controllers.internal_errors import InternalErrors
from reconciler.controllers.jobs.started_pods import STARTED_PODS, StartedPod
from reconciler.core.controller import Busy, Controller, Lookup, WaitFor, WakeAt, Wanted
from reconciler.jobs.elastic import chain_of
from reconciler.jobs.pod_writes import EXCESS
from reconciler.objects.observed import Key, Observed
from reconciler.objects.patches import JOB_MANAGER
from reconciler.objects.wanted import ObjectReference, WantedWrite, refer
from scheduling.objects.grouped import Grouped
from scheduling.objects.requests import counts_after_reclaim
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload

_KIND, _CHAIN, _WORKLOAD = STARTED_PODS.kind, "SliceChain", "Workload"
_PATIENCE = 10 * SECOND


class SlicePodsController(Controller):
    """Removes gates. Keys are chains: the `namespace/name` of the first slice of a job, which Pods and slices name."""

    watched = (STARTED_PODS,)

    def __init__(self, stored: Lookup) -> None:
        self._stored = stored
        self._pods: Grouped[str, str, Observed[StartedPod]] = Grouped()
        self._chains = SliceChains()
        self._stale: dict[str, None] = {}
        self._over: dict[str, int] = {}
        self._errors = InternalErrors()

    def observe(self, observed: Observed[object]) -> None:
        name, found = observed.key[1], STARTED_PODS.of(observed)
        if name in self._pods.group_of:
            self._look_at(self._pods.group_of[name])
            self._pods.pop(name)
        if found is not None and found.value.workload:
            pod = found.value
            self._pods.put(name, pod.workload, found)
            self._look_at(pod.workload, waits=bool(pod.gates))

    def _look_at(self, first: str, *, waits: bool = False) -> None:
        """Look at the chain of a Pod. Pods of jobs that are not elastic are ignored."""
        if waits or first in self._chains:
            self._stale[first] = None

    def workload_changed(self, workload: str) -> None:
        found = self._stored(workload)
        first = self._chains.put(workload, found.value if found is not None else None)
        if workload in self._pods:
            self._stale[workload] = None
        if first:
            self._stale[first] = None

    def wake(self, item: Key) -> None:
        self._stale[item[1]] = None

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        stale, self._stale = self._stale, {}
        for first in stale:
            blocked = next((name for name in self._chains.of(first) if busy(_WORKLOAD, name)), None)
            if blocked is not None:
                yield WaitFor((_CHAIN, first), (_WORKLOAD, blocked))
                continue
            pod = next(iter(self._pods.of(first).values()), None)
            about = _about(pod) if pod is not None else None
            yield from self._errors.isolated((_CHAIN, first), partial(self._of_chain, first, busy, now), about, now)

    def _of_chain(self, first: str, busy: Busy, now: int) -> Iterator[Wanted]:
        pods = self._pods.of(first)
        if any(each.value.gates for each in pods.values()):
            yield from self._remove_gates(first, pods, busy)
        yield from self._delete_excess(first, pods, busy, now)

    def _remove_gates(self, first: str, pods: Mapping[str, Observed[StartedPod]], busy: Busy) -> Iterator[Wanted]:
        """Remove the gate of as many Pods as were admitted. While its write is in flight, a gate counts as removed."""
        room = self._most(first, _admitted)
        waiting = []
        for name, observed in _by_age(pods):
            if observed.value.gates and not busy(_KIND, name):
                waiting.append(observed)
            else:
                room[observed.value.pod_set] = room.get(observed.value.pod_set, 0) - 1
            if observed.value.gates and busy(_KIND, name):
                yield WaitFor((_CHAIN, first), (_KIND, name))
        for observed in waiting:
            pod_set = observed.value.pod_set
            if room.get(pod_set, 0) > 0:
                room[pod_set] -= 1
                yield WantedWrite(observed.key, _ungated(observed))
                yield WaitFor((_CHAIN, first), observed.key)

    def _delete_excess(
        self, first: str, pods: Mapping[str, Observed[StartedPod]], busy: Busy, now: int
    ) -> Iterator[Wanted]:
        """Delete Pods without quota whose gate another client removed. First wait for the Job controller to do so."""
        excess = []
        for each in self._excess(first, pods):
            if busy(*each.key):
                yield WaitFor((_CHAIN, first), each.key)
            else:
                excess.append(each)
        if not excess:
            self._over.pop(first, None)
            return
        until = self._over.setdefault(first, now) + _PATIENCE
        if now < until:
            yield WakeAt((_CHAIN, first), until)
            return
        for each in excess:
            action = Delete(PODS, each.namespace, each.name, each.version)
            message = "The Pod exceeds the size that its elastic job was admitted with"
            yield WantedWrite(each.key, action, _about(each), EXCESS, message, True)
            yield WaitFor((_CHAIN, first), each.key)

    def _excess(self, first: str, pods: Mapping[str, Observed[StartedPod]]) -> Iterator[Observed[StartedPod]]:
        """The youngest Pods beyond the quota of their pod set; none while no slice has quota."""
        held = self._most(first, _reserved)
        for _, observed in _by_age(pods) if held else ():
            pod = observed.value
            if pod.pod_set in held and not pod.gates and not pod.deleting:
                held[pod.pod_set] -= 1
                if held[pod.pod_set] < 0:
                    yield observed

    def _most(self, first: str, counts: Callable[[Workload], dict[str, int]]) -> dict[str, int]:
        """The number of Pods that the slices allow, by pod set: that of the largest slice."""
        most: dict[str, int] = {}
        for name in self._chains.of(first):
            found = self._stored(name)
            for pod_set, count in counts(found.value).items() if found is not None else ():
                most[pod_set] = max(count, most.get(pod_set, 0))
        return most


def _by_age(pods: Mapping[str, Observed[StartedPod]]) -> list[tuple[str, Observed[StartedPod]]]:
    """The Pods in the order in which they get quota: older ones first."""
    return sorted(pods.items(), key=lambda each: (each[1].value.created, each[0]))


def _admitted(slice_: Workload) -> dict[str, int]:
    """The number of Pods that may run, by pod set: fewer if the slice has shrunk, or if Pods have succeeded."""
    return counted_pods(slice_) if slice_.admitted and not slice_.evicted and not slice_.deleting else {}


def counted_pods(workload: Workload) -> dict[str, int]:
    """The number of Pods that have quota, by pod set."""
    if not workload.counts or workload.admission is None:
        return {}
    left = counts_after_reclaim(workload)
    given = {each.name: each.count for each in workload.admission.assignments if each.count is not None}
    named = {each.name for each in workload.admission.assignments}
    return {name: min(count, given.get(name, count)) for name, count in left.items() if name in named}


def _reserved(slice_: Workload) -> dict[str, int]:
    """The number of Pods that an elastic job has quota for. It includes succeeded Pods, whose report may be late."""
    stays = slice_.elastic and slice_.counts and not slice_.evicted and not slice_.deleting
    return slice_.sizes if stays else {}


def _about(pod: Observed[StartedPod]) -> ObjectReference | None:
    return refer("v1", "Pod", pod.key[1], pod.value.uid, version=pod.version)


def _ungated(observed: Observed[StartedPod]) -> Patch:
    gates = [{"name": gate} for gate in observed.value.gates if gate != ELASTIC_GATE]
    return Patch(
        PODS, observed.namespace, observed.name, {"spec": {"schedulingGates": gates}}, observed.version, JOB_MANAGER
    )


class SliceChains:
    """Chains: all slices of each elastic job. A chain has the name of its first slice, `namespace/name`, as Pods do."""

    def __init__(self) -> None:
        self._slices: Grouped[str, str, None] = Grouped()

    def put(self, name: str, read: Workload | None) -> str:
        """Process a Workload; None if it is gone. Returns the name of its chain; empty if it is not a slice."""
        self._slices.pop(name)
        if read is None or not read.elastic:
            return ""
        first = f"{read.namespace}/{chain_of(read)}"
        self._slices.put(name, first, None)
        return first

    def __contains__(self, first: object) -> bool:
        return first in self._slices

    def of(self, first: str) -> dict[str, None]:
        """The slices of a chain in order. The first is always included, even if it is not stored any more."""
        return {first: None, **self._slices.of(first)}
