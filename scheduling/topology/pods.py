"""Pods as topologies count them: those outside topologies take room on their node.

Pods inside are never counted, only what their workloads hold. Source: Kueue v0.19, pkg/util/tas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policies.amounts.requests import pod_requests
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.pod_reading import PodReading
from scheduling.objects import amounts

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


class ForeignPod(NamedTuple):
    """A pod outside topologies. `requests` are in base units, without the pod itself."""

    node: str
    requests: Mapping[str, int]


def is_of_topology(annotations: Mapping[str, str]) -> bool:
    """Whether a pod with these annotations belongs to a workload in a topology."""
    return any(key in annotations for key in _OF_TOPOLOGIES)


def foreign_pod(pod: PodReading) -> ForeignPod | None:
    """What the pod takes of its node outside topologies; None if it takes nothing."""
    if not pod.bound or pod.ended or is_of_topology(pod.annotations):
        return None
    return ForeignPod(pod.node, amounts.counted(pod_requests(pod.spec)))
