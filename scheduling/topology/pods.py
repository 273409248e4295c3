"""Pods as topologies see them.

Pods of a workload with a topology go to its places, and only these places are counted. All other Pods count on their
node. Source: Kueue v0.19, pkg/util/tas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Any, NamedTuple

from policies.amounts.requests import pod_requests
from policies.dialects.kueue_jobs import POD_SET, STARTED_FOR
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.kueue_workload import SLICE_CHAIN
from policies.dialects.pod_reading import PodLife, PodReading
from policies.dialects.reading import listing, mapping, texts
from policies.mutation.kueue_pod_defaults import TOPOLOGY_GATE
from scheduling.objects import amounts
from scheduling.objects.workload import Workload

_OFFSET = f"{PREFIX}pod-index-offset"
_OF_TOPOLOGIES = tuple(
    f"{PREFIX}podset-{name}"
    for name in (
        "required-topology",
        "preferred-topology",
        "slice-required-topology",
        "slice-required-topology-constraints",
        "unconstrained-topology",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyPod(PodLife):
    """A Pod of a workload: the fields that its place depends on.

    key: `namespace/name`.
    workload: `namespace/name` of its Workload, or of the first slice of an elastic job.
    pod_set: the name of its pod set.
    created: its creationTimestamp as written.
    node: its node; empty if it has none.
    selector: its node selector.
    numbers: its labels whose value is a number. One of them may be its rank.
    offset: its annotation pod-index-offset as written; empty if it has none.
    in_topology: its annotations say that its workload has a topology.
    conditions: as written, if it has passed its gate and has no node; else empty.
    """

    key: str
    workload: str
    pod_set: str
    created: str
    node: str
    selector: Mapping[str, str]
    numbers: Mapping[str, str]
    offset: str
    in_topology: bool
    conditions: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)

    @property
    def gated(self) -> bool:
        """Whether it waits for its place."""
        return self.waits_at(TOPOLOGY_GATE)


def topology_pod(pod: PodReading) -> TopologyPod:
    notes, labels = pod.annotations, pod.labels
    name, gated = notes.get(SLICE_CHAIN) or notes.get(STARTED_FOR, ""), pod.waits_at(TOPOLOGY_GATE)
    free = not (gated or pod.bound)
    return TopologyPod(
        uid=pod.uid,
        phase=pod.phase,
        gates=pod.gates,
        deleting=pod.deleting,
        bound=pod.bound,
        key=pod.key,
        workload=intern(f"{pod.namespace}/{name}") if name else "",
        pod_set=intern(labels.get(POD_SET, "")),
        created=pod.created,
        node=intern(pod.node),
        selector=texts(pod.spec.get("nodeSelector")),
        numbers={key: value for key, value in labels.items() if value.isascii() and value.isdecimal()},
        offset=notes.get(_OFFSET, ""),
        in_topology=is_of_topology(notes),
        conditions=tuple(map(mapping, listing(pod.status.get("conditions")))) if free else (),
    )


def carried_name(workload: Workload) -> str:
    """The Workload that its Pods name, as `namespace/name`. In an elastic job it is the first slice."""
    return f"{workload.namespace}/{workload.annotations.get(SLICE_CHAIN) or workload.name}"


class ForeignPod(NamedTuple):
    """A pod outside of topologies. `requests`: in base units, without the pod itself."""

    node: str
    requests: Mapping[str, int]


def is_of_topology(annotations: Mapping[str, str]) -> bool:
    """Whether a pod with these annotations belongs to a workload with a topology."""
    return any(key in annotations for key in _OF_TOPOLOGIES)


def foreign_pod(pod: PodReading) -> ForeignPod | None:
    """The usage of the pod on its node; None if it has no node, has ended, or is counted with a Workload.

    Anybody may write the annotations of a topology. Only a pod that was started for a Workload is counted with that.
    """
    if not pod.bound or pod.ended or (is_of_topology(pod.annotations) and POD_SET in pod.labels):
        return None
    return ForeignPod(pod.node, amounts.counted(pod_requests(pod.spec)))
