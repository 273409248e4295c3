"""Assigns domains to the gated Pods of an admitted workload: by rank if all Pods have one, else in their order.

Source: Kueue v0.19, pkg/controller/tas, the topology ungater.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from policies.dialects.go_values import read_integer
from policies.dialects.reading import integer, mapping, text
from scheduling.objects.workload import PodSet, Workload
from scheduling.topology.assignment import AssignedDomain, TopologyAssignment
from scheduling.topology.encoding import read_topology_assignment
from scheduling.topology.pods import TopologyPod, carried_name
from scheduling.topology.request import group_name


class BadPodIndexOffset(ValueError):
    """The annotation pod-index-offset of a Pod is not an integer.

    pod: `namespace/name` of the Pod.
    """

    def __init__(self, pod: str, written: str) -> None:
        super().__init__(f"failed to parse offset annotation: {written!r} is not an integer")
        self.pod = pod


@dataclass(frozen=True, slots=True)
class _Ranks:
    """How the Pods of a pod set are numbered.

    label: the label with the index of a Pod.
    sub_group, sub_groups: the label with the index of its replicated job, and the number of these jobs.
    offset: the index of the first Pod.
    """

    label: str
    sub_group: str
    sub_groups: int
    offset: int
    size: int

    def of(self, labels: Mapping[str, str]) -> int | None:
        """The rank of a Pod with these labels, from 0; None if it has none."""
        index = _below(labels.get(self.label), self.size + self.offset)
        if index is None:
            return None
        rank = index - self.offset
        if self.sub_group:
            each = self.size // self.sub_groups if self.sub_groups > 0 else 0
            group = _below(labels.get(self.sub_group), self.sub_groups)
            if group is None or index >= each:
                return None
            rank += group * each
        return rank if 0 <= rank < self.size else None


def ungated(workload: Workload, pods: Sequence[TopologyPod]) -> dict[str, dict[str, str]]:
    """The node selector of each Pod that passes its gate now, by `namespace/name`.

    Pods of an evicted workload do not pass. Raises BadPodIndexOffset.

    pods: in the order in which they fill the domains. Pods of other workloads are ignored.
    """
    passing: dict[str, dict[str, str]] = {}
    for pod_set, assignment, own in _placed(workload, pods):
        ranks = _ranks(workload, pod_set, own)
        places = _by_rank(assignment, own, ranks) if ranks else None
        for pod, domain in places if places is not None else _in_order(assignment, own):
            if not (assignment.by_host and domain.values[-1] in workload.unhealthy_nodes):
                passing[pod.key] = dict(zip(assignment.levels, domain.values, strict=True))
    return passing


def misplaced(workload: Workload, pods: Sequence[TopologyPod]) -> list[TopologyPod]:
    """The Pods without a gate that are outside of the assigned domains, or exceed the number of a domain.

    pods: as in `ungated`. Of too many Pods in a domain, the last ones are misplaced. Pods that are being deleted count,
        but are never misplaced.
    """
    found = []
    for _, assignment, own in _placed(workload, pods):
        left: dict[tuple[str | None, ...], int] = {domain.values: domain.pods for domain in assignment.domains}
        passed = [pod for pod in own if not pod.gated]
        for pod in sorted(passed, key=lambda each: not each.deleting):
            place = _place(pod, assignment)
            if left.get(place, 0) > 0:
                left[place] -= 1
            elif not pod.deleting:
                found.append(pod)
    return found


def _placed(
    workload: Workload, pods: Sequence[TopologyPod]
) -> Iterator[tuple[PodSet, TopologyAssignment, list[TopologyPod]]]:
    """Yield the pod sets with places, each with its Pods that have not ended."""
    if not workload.admitted or workload.evicted or workload.finished or workload.admission is None:
        return
    name = carried_name(workload)
    members = [pod for pod in pods if pod.workload == name and not pod.ended]
    for entry in workload.admission.assignments:
        pod_set = workload.pod_set(entry.name)
        if entry.topology is not None and pod_set is not None:
            own = [pod for pod in members if pod.pod_set == entry.name]
            yield pod_set, read_topology_assignment(entry.topology), own


def _by_rank(
    assignment: TopologyAssignment, pods: Sequence[TopologyPod], ranks: _Ranks
) -> list[tuple[TopologyPod, AssignedDomain]] | None:
    """The gated Pods with the domains of their ranks. None if a Pod has no rank, or runs in another domain."""
    places = list(chain.from_iterable(repeat(domain, domain.pods) for domain in assignment.domains))
    taken: dict[int, TopologyPod] = {}
    for pod in pods:
        rank = ranks.of(pod.numbers)
        if rank is None or rank in taken or rank >= len(places):
            return None
        if not pod.gated and _place(pod, assignment) != places[rank].values:
            return None
        taken[rank] = pod
    return [(pod, places[rank]) for rank, pod in taken.items() if pod.gated]


def _in_order(assignment: TopologyAssignment, pods: Sequence[TopologyPod]) -> list[tuple[TopologyPod, AssignedDomain]]:
    """The gated Pods with domains, in which they fill the room that running Pods leave."""
    waiting = [pod for pod in pods if pod.gated]
    taken = Counter(_place(pod, assignment) for pod in pods if not pod.gated)
    free = (repeat(domain, max(0, domain.pods - taken[domain.values])) for domain in assignment.domains)
    return list(zip(waiting, chain.from_iterable(free), strict=False))


def _place(pod: TopologyPod, assignment: TopologyAssignment) -> tuple[str | None, ...]:
    """The values of the domain that the pod's node selector names; None for each level that it does not name."""
    return tuple(map(pod.selector.get, assignment.levels))


def _ranks(workload: Workload, pod_set: PodSet, pods: Sequence[TopologyPod]) -> _Ranks | None:
    """How the Pods are numbered; None if they are not, or if there are none."""
    request: Mapping[str, Any] = pod_set.topology or {}
    label = text(request.get("podIndexLabel"))
    if not label or not pods:
        return None
    written = pods[0].offset or "0"
    offset = read_integer(written, 64)
    if offset is None:
        raise BadPodIndexOffset(pods[0].key, written)
    return _Ranks(
        label=label,
        sub_group=text(request.get("subGroupIndexLabel")) or "",
        sub_groups=integer(request.get("subGroupCount")) or 0,
        offset=offset + _after_leader(workload, pod_set),
        size=pod_set.count,
    )


def _after_leader(workload: Workload, pod_set: PodSet) -> int:
    """The size of the smaller pod set of its group, whose Pods are numbered before these."""
    name = _group(pod_set)
    others = [each for each in workload.pod_sets if each is not pod_set and name and _group(each) == name]
    return min((each.count for each in others if each.count < pod_set.count), default=0)


def _group(pod_set: PodSet) -> str:
    return group_name(mapping(pod_set.topology))


def _below(value: str | None, bound: int) -> int | None:
    """The unsigned integer in a label, if it is less than the bound."""
    if value is None or len(value) >= 20:
        return None
    return int(value) if int(value) < bound else None
