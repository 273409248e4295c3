"""Reads Pods for topology-aware scheduling.

A Pod of a workload with a topology uses one of its workload's places. The places are counted, not the Pod. All other
Pods are counted on their nodes. Source: Kueue v0.19, pkg/util/tas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Any, NamedTuple

from policies.amounts.requests import pod_requests
from policies.dialects.kueue_jobs import INDEX_OFFSET, POD_SET, STARTED_FOR, TOPOLOGY_REQUESTS
from policies.dialects.kueue_workload import SLICE_CHAIN
from policies.dialects.pod_reading import PodLife, PodReading
from policies.dialects.reading import listing, mapping, texts
from policies.mutation.kueue_pod_defaults import TOPOLOGY_GATE
from scheduling.objects import amounts
from scheduling.objects.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyPod(PodLife):
    """The fields of a workload's Pod on which its place depends.

    key: `namespace/name`.
    workload: `namespace/name` of its Workload, or of the first slice of an elastic job.
    pod_set: the name of its pod set.
    created: its creationTimestamp as written.
    node: its node; empty if it has none.
    selector: its node selector.
    numbers: its labels whose value is a number. One of them may be the index that its rank is computed from.
    offset: its annotation pod-index-offset as written; empty if it has none.
    in_topology: its annotations request a topology.
    conditions: as written, if it has passed its gate and is not bound yet; else empty.
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
    name = notes.get(SLICE_CHAIN) or notes.get(STARTED_FOR, "")
    unbound = not (pod.bound or pod.waits_at(TOPOLOGY_GATE))
    return TopologyPod(
        **pod.life,
        key=pod.key,
        workload=intern(f"{pod.namespace}/{name}") if name else "",
        pod_set=intern(labels.get(POD_SET, "")),
        created=pod.created,
        node=intern(pod.node),
        selector=texts(pod.spec.get("nodeSelector")),
        numbers={key: value for key, value in labels.items() if value.isascii() and value.isdecimal()},
        offset=notes.get(INDEX_OFFSET, ""),
        in_topology=requests_topology(notes),
        conditions=tuple(map(mapping, listing(pod.status.get("conditions")))) if unbound else (),
    )


def carried_name(workload: Workload) -> str:
    """The Workload that Pods of this workload name, as `namespace/name`: in an elastic job, the first slice."""
    return f"{workload.namespace}/{workload.annotations.get(SLICE_CHAIN) or workload.name}"


class ForeignPod(NamedTuple):
    """A Pod that no topology counts. `requests`: in base units, without the resource `pods`."""

    node: str
    requests: Mapping[str, int]


def requests_topology(annotations: Mapping[str, str]) -> bool:
    return any(key in annotations for key in TOPOLOGY_REQUESTS)


def foreign_pod(pod: PodReading) -> ForeignPod | None:
    """The usage of the Pod on its node; None if it has no node, has ended, or has a place of a workload.

    Anybody may write the annotations of a topology. So they count only on a Pod that was started for a Workload.
    """
    if not pod.bound or pod.ended or (requests_topology(pod.annotations) and POD_SET in pod.labels):
        return None
    return ForeignPod(pod.node, amounts.counted(pod_requests(pod.spec)))
