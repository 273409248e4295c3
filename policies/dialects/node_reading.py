"""Reads a Node of Kubernetes. All packages use this reading, and keep the fields that they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policies.dialects.reading import Manifest, ManifestReader, condition, listing, mapping, metadata, text, texts
from policies.dialects.taints import Taint, read_taint
from policies.model.quantity import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReading:
    """A Node.

    allocatable: the amounts that pods may request there, by resource.
    ready: whether its condition Ready is True.
    ready_condition: whether it has a condition Ready.
    ready_since: the lastTransitionTime of the condition as written; empty without a condition.
    unschedulable: whether it is cordoned.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    allocatable: Mapping[str, Quantity]
    ready: bool
    ready_condition: bool
    ready_since: str
    unschedulable: bool


def node_reading(manifest: Manifest) -> NodeReading:
    meta, spec, status = metadata(manifest), mapping(manifest.get("spec")), mapping(manifest.get("status"))
    ready = condition(status, "Ready")
    return NodeReading(
        name=text(meta.get("name")) or "",
        labels=texts(meta.get("labels")),
        taints=tuple(map(read_taint, listing(spec.get("taints")))),
        allocatable=ManifestReader({}).amounts(status.get("allocatable"), ""),
        ready=ready.get("status") == "True",
        ready_condition=bool(ready),
        ready_since=text(ready.get("lastTransitionTime")) or "",
        unschedulable=spec.get("unschedulable") is True,
    )
