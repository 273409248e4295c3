"""A Node of Kubernetes as rules read it: its labels, which name its topology domains, and its allocatable resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policies.dialects.core import NODE
from policies.dialects.node_reading import node_reading
from policies.dialects.reading import Manifest, identity
from policies.model.objects import KubeObject
from policies.model.pools import count


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode(KubeObject):
    """A Node.

    `allocatable`: by resource, in Kueue's units (see `policies.model.pools`).
    """

    labels: Mapping[str, str]
    allocatable: Mapping[str, int]


def read_node(manifest: Manifest) -> ClusterNode:
    read = node_reading(manifest)
    return ClusterNode(
        ref=identity(manifest, NODE, namespaced=False),
        api_version="v1",
        labels=read.labels,
        allocatable={resource: count(resource, amount) for resource, amount in read.allocatable.items()},
    )
