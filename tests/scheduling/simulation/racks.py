"""Manifests of queues with a topology, of Nodes in its racks, and of work for them."""

from __future__ import annotations

from typing import Any

from scheduling.topology.assignment import HOSTNAME
from tests.cli.organisations import KUEUE

LEVELS = ("example.com/block", "example.com/rack", HOSTNAME)
QUEUES = (
    {
        "apiVersion": KUEUE,
        "kind": "Topology",
        "metadata": {"name": "default"},
        "spec": {"levels": [{"nodeLabel": level} for level in LEVELS]},
    },
    {
        "apiVersion": KUEUE,
        "kind": "ResourceFlavor",
        "metadata": {"name": "spot"},
        "spec": {"nodeLabels": {"pool": "spot"}, "topologyName": "default"},
    },
)


def queue(**spec: Any) -> dict[str, Any]:
    groups = [
        {"coveredResources": ["cpu"], "flavors": [{"name": "spot", "resources": [{"name": "cpu", "nominalQuota": 99}]}]}
    ]
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": "a"},
        "spec": {"namespaceSelector": {}, "resourceGroups": groups, **spec},
    }


def node(name: str, rack: str, block: str = "b1", cpu: int = 2, ready: str = "", **spec: Any) -> dict[str, Any]:
    labels = {"pool": "spot", **dict(zip(LEVELS, (block, rack, name), strict=True))}
    status: dict[str, Any] = {"allocatable": {"cpu": str(cpu), "pods": "110"}}
    if ready:
        status["conditions"] = [{"type": "Ready", "status": ready}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


def pod_on(host: str, cpu: int, name: str = "daemon") -> dict[str, Any]:
    container = {"name": "work", "image": "busybox", "resources": {"requests": {"cpu": str(cpu)}}}
    spec = {"nodeName": host, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ns"}, "spec": spec}


def job(name: str, pods: int, **annotations: str) -> dict[str, Any]:
    container = {"name": "work", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    keys = {f"kueue.x-k8s.io/podset-{key.replace('_', '-')}": value for key, value in annotations.items()}
    template = {"metadata": {"annotations": keys}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "a"}},
        "spec": {"parallelism": pods, "completions": pods, "template": template},
    }


RACKS = (node("h1", "r1"), node("h2", "r1"), node("h3", "r2"), node("h4", "r2", cpu=1))
RACK = {"required_topology": LEVELS[1]}
BLOCK = {"required_topology": LEVELS[0]}
SLICES = {"slice_required_topology": LEVELS[1], "slice_size": "3"}
