"""Which node, or domain, each gated Pod of an admitted workload goes to: by rank where all have one, else in order.

Source: Kueue v0.19, pkg/controller/tas, the topology ungater.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from policies.dialects.kueue_jobs import POD_SET, STARTED_FOR
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.pod_reading import PodReading
from policies.dialects.reading import integer, mapping, text, texts
from scheduling.objects.workload import PodSet, Workload
from scheduling.topology.assignment import AssignedDomain, TopologyAssignment
from scheduling.topology.encoding import read_topology_assignment

TOPOLOGY_GATE = f"{PREFIX}topology"
"""The scheduling gate of Pods whose place is to be assigned."""
_OFFSET = f"{PREFIX}pod-index-offset"


class BadPodIndexOffset(ValueError):
    """The annotation pod-index-offset of a Pod is not an integer."""


@dataclass(frozen=True, slots=True)
class _Ranks:
    """How the Pods of a pod set are numbered. `offset` is the index of the first; `size` is how many there are."""

    label: str
    sub_group: str
    sub_groups: int
    offset: int
    size: int

    def of(self, labels: Mapping[str, str]) -> int | None:
        """The rank of a Pod, from 0; None if its labels give none."""
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


def ungated(workload: Workload, pods: Sequence[PodReading]) -> dict[str, dict[str, str]]:
    """The node selector of each Pod that passes its gate now, by `namespace/name`.

    pods: Pods of the workload's namespace, in the order in which they fill up the domains; others are ignored.
    Raises BadPodIndexOffset.
    """
    passing: dict[str, dict[str, str]] = {}
    if not workload.admitted or workload.admission is None:
        return passing
    members = [pod for pod in pods if pod.annotations.get(STARTED_FOR) == workload.name and not pod.ended]
    for entry in workload.admission.assignments:
        pod_set = workload.pod_set(entry.name)
        if entry.topology is None or pod_set is None:
            continue
        own = [pod for pod in members if pod.labels.get(POD_SET) == entry.name]
        assignment = read_topology_assignment(entry.topology)
        ranks = _ranks(workload, pod_set, own)
        places = _by_rank(assignment, own, ranks) if ranks else None
        for pod, domain in places if places is not None else _in_order(assignment, own):
            if not (assignment.by_host and domain.values[-1] in workload.unhealthy_nodes):
                passing[pod.key] = _selector(assignment, domain)
    return passing


def _by_rank(
    assignment: TopologyAssignment, pods: Sequence[PodReading], ranks: _Ranks
) -> list[tuple[PodReading, AssignedDomain]] | None:
    """The gated Pods with their domains; None if one of the Pods has no rank, or is not where its rank is."""
    places = list(chain.from_iterable(repeat(domain, domain.pods) for domain in assignment.domains))
    taken: dict[int, PodReading] = {}
    for pod in pods:
        rank = ranks.of(pod.labels)
        if rank is None or rank in taken or rank >= len(places):
            return None
        if not pod.waits_at(TOPOLOGY_GATE) and not _is_at(pod, assignment, places[rank]):
            return None
        taken[rank] = pod
    return [(pod, places[rank]) for rank, pod in taken.items() if pod.waits_at(TOPOLOGY_GATE)]


def _in_order(assignment: TopologyAssignment, pods: Sequence[PodReading]) -> list[tuple[PodReading, AssignedDomain]]:
    """The gated Pods fill up what the others leave of each domain."""
    waiting = [pod for pod in pods if pod.waits_at(TOPOLOGY_GATE)]
    placed = [pod for pod in pods if not pod.waits_at(TOPOLOGY_GATE)]
    free = (
        repeat(domain, max(0, domain.pods - sum(_is_at(pod, assignment, domain) for pod in placed)))
        for domain in assignment.domains
    )
    return list(zip(waiting, chain.from_iterable(free), strict=False))


def _selector(assignment: TopologyAssignment, domain: AssignedDomain) -> dict[str, str]:
    return dict(zip(assignment.levels, domain.values, strict=True))


def _is_at(pod: PodReading, assignment: TopologyAssignment, domain: AssignedDomain) -> bool:
    selector = texts(pod.spec.get("nodeSelector"))
    return all(selector.get(key) == value for key, value in _selector(assignment, domain).items())


def _ranks(workload: Workload, pod_set: PodSet, pods: Sequence[PodReading]) -> _Ranks | None:
    """None for a pod set whose Pods are not numbered, or that has none."""
    request: Mapping[str, Any] = pod_set.topology or {}
    label = text(request.get("podIndexLabel"))
    if not label or not pods:
        return None
    written = pods[0].annotations.get(_OFFSET, "0")
    try:
        offset = int(written)
    except ValueError as error:
        raise BadPodIndexOffset(f"failed to parse offset annotation: {written!r} is not an integer") from error
    return _Ranks(
        label=label,
        sub_group=text(request.get("subGroupIndexLabel")) or "",
        sub_groups=integer(request.get("subGroupCount")) or 0,
        offset=offset + _after_leader(workload, pod_set),
        size=pod_set.count,
    )


def _after_leader(workload: Workload, pod_set: PodSet) -> int:
    """The size of the smaller set of its group, whose Pods are numbered before these."""
    name = mapping(pod_set.topology).get("podSetGroupName")
    others = [each for each in workload.pod_sets if each is not pod_set and name and _group(each) == name]
    return min((each.count for each in others if each.count < pod_set.count), default=0)


def _group(pod_set: PodSet) -> str:
    return text(mapping(pod_set.topology).get("podSetGroupName")) or ""


def _below(value: str | None, bound: int) -> int | None:
    """The unsigned integer in a label, if it is less than the bound."""
    if value is None or not (value.isascii() and value.isdecimal() and len(value) < 20):
        return None
    return int(value) if int(value) < bound else None
