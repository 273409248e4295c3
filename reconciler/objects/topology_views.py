"""The views that places in topologies depend on: Topologies, Nodes, and the Pods in and outside of topologies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from cluster.resource import NODES, PODS, Manifest, Resource
from policies.dialects.core import POD
from policies.dialects.kueue_jobs import POD_SET
from policies.dialects.kueue_kinds import GROUP
from policies.dialects.node_reading import NodeReading, node_reading
from policies.dialects.pod_reading import pod_reading
from policies.mutation.kueue_pod_defaults import TOPOLOGY_GATE
from reconciler.objects.stored import read_stored
from reconciler.objects.watched import VERSION, WatchedKind
from scheduling.objects.queue_settings import TopologySettings, read_topology_settings
from scheduling.topology.assignment import HOSTNAME
from scheduling.topology.node_filter import TopologyNode, topology_node
from scheduling.topology.pods import TopologyPod, foreign_pod, requests_topology, topology_pod


class PodOnNode(NamedTuple):
    """A Pod outside topologies that runs on a Node. `key`: `namespace/name`. `requests`: in base units."""

    key: str
    node: str
    requests: Mapping[str, int]


def _placed_pod(manifest: Manifest) -> TopologyPod | None:
    """The Pod, if it belongs to a workload with a topology and has not ended; otherwise None."""
    pod = pod_reading(manifest)
    if pod.ended or not (pod.waits_at(TOPOLOGY_GATE) or requests_topology(pod.annotations)):
        return None
    found = topology_pod(pod)
    return found if found.workload else None


def _health(manifest: Manifest) -> NodeReading:
    """The host name label and the fields that show whether pods can run on the Node."""
    read = node_reading(manifest)
    host = {HOSTNAME: read.labels[HOSTNAME]} if HOSTNAME in read.labels else {}
    return replace(read, labels=host, allocatable={}, unschedulable=False)


def _pod_on_node(manifest: Manifest) -> PodOnNode | None:
    pod = pod_reading(manifest)
    foreign = foreign_pod(pod)
    if foreign is None:
        return None
    return PodOnNode(pod.key, intern(foreign.node), _kept_once(tuple(sorted(foreign.requests.items()))))


@lru_cache(maxsize=4096)
def _kept_once(requests: tuple[tuple[str, int], ...]) -> Mapping[str, int]:
    """One mapping for all Pods with these requests, because thousands have the same."""
    return dict(requests)


TOPOLOGY_VIEW: WatchedKind[TopologySettings] = WatchedKind(
    "Topology",
    Resource(GROUP, VERSION, "topologies", namespaced=False),
    read_topology_settings,
    lambda world, topology, _: world.put_topology(*topology),
    lambda world, name, _: world.drop_topology(name),
    detail=read_stored,
)
NODE_VIEW: WatchedKind[TopologyNode] = WatchedKind(
    "Node",
    NODES,
    lambda manifest: topology_node(node_reading(manifest)),
    lambda world, node, _: world.put_node(node),
    lambda world, name, _: world.drop_node(name),
    on_demand=True,
)
POD_ON_NODE_VIEW: WatchedKind[PodOnNode] = WatchedKind(
    "PodOnNode",
    PODS,
    _pod_on_node,
    lambda world, pod, _: world.put_pod(*pod),
    lambda world, key, _: world.drop_pod(key),
    field_selector="spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed",
    object_kind=POD.kind,
    on_demand=True,
)
PLACED_PODS: WatchedKind[TopologyPod] = WatchedKind(
    "PlacedPod", PODS, _placed_pod, label_selector=POD_SET, relist=True, object_kind=POD.kind
)
"""Pods that get their place from the topology assignment of their Workload."""
NODE_HEALTH: WatchedKind[NodeReading] = WatchedKind("NodeHealth", NODES, _health, object_kind="Node", on_demand=True)
TOPOLOGY_KINDS: tuple[WatchedKind[object], ...] = (TOPOLOGY_VIEW, NODE_VIEW, POD_ON_NODE_VIEW)
