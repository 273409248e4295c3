"""Nodes in racks, and the Topology and flavor that they are for."""

from __future__ import annotations

from typing import Any

from scheduling.topology.assignment import HOSTNAME
from tests.builders import Manifest, kueue
from tests.builders.manifests import manifest

RACK = "example.com/rack"
TOPOLOGY = kueue("Topology", "racks", {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOSTNAME}]})
PLACED = kueue("ResourceFlavor", "plain", {"nodeLabels": {"pool": "a"}, "topologyName": "racks"})


def node(name: str, cpu: int, rack: str = "r1", ready: bool = True, **spec: Any) -> Manifest:
    made = manifest("v1", "Node", name, spec, labels={"pool": "a", RACK: rack, HOSTNAME: name})
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {**made, "status": {"allocatable": {"cpu": str(cpu), "pods": "110"}, "conditions": [condition]}}
