"""The view of Nodes that shows whether pods can run there."""

from __future__ import annotations

from dataclasses import replace

from cluster.resource import NODES, Manifest
from policies.dialects.node_reading import NodeReading, node_reading
from reconciler.objects.watched import WatchedKind
from scheduling.topology.assignment import HOSTNAME


def _health(manifest: Manifest) -> NodeReading:
    """The host name label and the fields that show whether pods can run on the Node."""
    read = node_reading(manifest)
    host = {HOSTNAME: read.labels[HOSTNAME]} if HOSTNAME in read.labels else {}
    return replace(read, labels=host, allocatable={}, unschedulable=False)


NODE_HEALTH: WatchedKind[NodeReading] = WatchedKind("NodeHealth", NODES, _health, object_kind="Node", on_demand=True)
