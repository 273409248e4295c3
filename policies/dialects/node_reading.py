"""The one reading of a Node of Kubernetes. A room that needs less of it makes a view of this reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policies.dialects.reading import Manifest, ManifestReader, listing, mapping, metadata, text, texts
from policies.dialects.taints import Taint, read_taint
from policies.model.quantity import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReading:
    """A Node as it is read.

    allocatable: what pods may request there, by resource.
    ready: its condition Ready is True; False where it has none.
    unschedulable: it is cordoned.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    allocatable: Mapping[str, Quantity]
    ready: bool
    unschedulable: bool


def node_reading(manifest: Manifest) -> NodeReading:
    meta, spec, status = metadata(manifest), mapping(manifest.get("spec")), mapping(manifest.get("status"))
    return NodeReading(
        name=text(meta.get("name")) or "",
        labels=texts(meta.get("labels")),
        taints=tuple(map(read_taint, listing(spec.get("taints")))),
        allocatable=ManifestReader({}).amounts(status.get("allocatable"), ""),
        ready=any(_says_ready(mapping(condition)) for condition in listing(status.get("conditions"))),
        unschedulable=spec.get("unschedulable") is True,
    )


def _says_ready(condition: Mapping[str, object]) -> bool:
    return condition.get("type") == "Ready" and condition.get("status") == "True"
