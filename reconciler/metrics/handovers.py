"""Delays: from the creation of a job to its Workload, and from an admission to the removal of Pods' gates.

They are computed from stored objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from policies.dialects.core import POD
from policies.dialects.kueue_workload import SLICE_CHAIN
from policies.dialects.reading import metadata, text
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE, GATE, TOPOLOGY_GATE
from reconciler.controllers.jobs.started_pods import STARTED_PODS
from reconciler.controllers.pods import WATCHED_PODS
from reconciler.core.state import ClusterState
from reconciler.metrics.kueue import seconds_between
from reconciler.metrics.occasions import GateRemoved, WorkloadCreated
from reconciler.objects.observed import Observed
from reconciler.objects.packed import Packed
from reconciler.objects.topology_views import PLACED_PODS
from scheduling.objects import times
from scheduling.objects.workload import ADMITTED, IS_GROUP_WORKLOAD, Owner, Workload

_FIRST = 1
"""The generation of an object whose spec has never been changed."""


class _Made(NamedTuple):
    """When an owner was created (nanoseconds), and its generation."""

    at: int
    generation: int


class Handovers:
    """Computes the delays, in the loop's thread. For a chain of slices, the slice that was admitted last counts."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._last_slice: dict[str, str] = {}

    def follow(self, key: str, workload: Workload | None) -> None:
        if workload is None:
            self._last_slice = {chain: last for chain, last in self._last_slice.items() if last != key}
        elif workload.annotations.get(SLICE_CHAIN) and workload.admitted and not workload.finished:
            self._last_slice[f"{workload.namespace}/{workload.annotations[SLICE_CHAIN]}"] = key

    def created(self, workload: Workload) -> Iterator[WorkloadCreated]:
        """The delay of a Workload that has just been created."""
        for owner in workload.owners[:1]:
            made = self._made(workload.namespace, owner)
            if made is not None and made.generation <= _FIRST:
                yield WorkloadCreated(owner.kind, seconds_between(made.at, workload.created))

    def let_go(self, before: Observed[object] | None, after: Observed[object], now: int) -> Iterator[GateRemoved]:
        """The delay of a Pod whose gate has just been removed."""
        was, member = WATCHED_PODS.value(before), WATCHED_PODS.value(after)
        if was is not None and member is not None and was.gated and not member.gated:
            yield from self._removed(GATE, member.workload, now, in_group=bool(member.group))
        started, pod = STARTED_PODS.value(before), STARTED_PODS.value(after)
        if started is not None and pod is not None and started.gates and not pod.gates:
            yield from self._removed(ELASTIC_GATE, self._last_slice.get(pod.workload, pod.workload), now)
        waited, placed = PLACED_PODS.value(before), PLACED_PODS.value(after)
        if waited is not None and placed is not None and waited.gated and not placed.gated:
            key = self._last_slice.get(placed.workload, placed.workload)
            found = self._state.world.workloads.get(key)
            in_group = found is not None and found.annotations.get(IS_GROUP_WORKLOAD) == "true"
            yield from self._removed(TOPOLOGY_GATE, key, now, in_group=in_group)

    def _removed(self, gate: str, key: str, now: int, *, in_group: bool = False) -> Iterator[GateRemoved]:
        workload = self._state.world.workloads.get(key)
        admitted = workload.holding(ADMITTED) if workload is not None else None
        if workload is not None and workload.admission is not None and admitted is not None:
            yield GateRemoved(gate, workload.admission.cluster_queue, in_group, seconds_between(admitted.since, now))

    def _made(self, namespace: str, owner: Owner) -> _Made | None:
        for kind in (f"{owner.kind}.{owner.group_kind.group}", owner.kind):
            found = self._state.records.at((kind, f"{namespace}/{owner.name}"))
            if found is not None:
                return _read(found, owner)
        return None


def _read(found: Observed[object], owner: Owner) -> _Made | None:
    """Read an owner, which is a Pod or a packed job; None if another object has its name now."""
    member = WATCHED_PODS.value(found)
    if member is not None:
        found_it = (member.uid, owner.kind) == (owner.uid, POD.kind)
        return _Made(times.parse(member.created), _FIRST) if found_it else None
    meta = metadata(found.value.manifest()) if isinstance(found.value, Packed) else {}
    generation = meta.get("generation")
    if text(meta.get("uid")) != owner.uid:
        return None
    return _Made(times.parse(meta.get("creationTimestamp")), generation if isinstance(generation, int) else _FIRST)
