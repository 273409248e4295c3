"""Renders a snapshot as JSON (docs/schemas/snapshot.schema.json), with one line for each object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from cli.input.snapshot_file import API_VERSION, KIND, SnapshotFile
from cli.report.redaction import selector_keys, without_labels
from cli.version import VERSION
from policies.dialects import core, kueue
from policies.dialects.reading import Manifest, group_kind


def snapshot_json(snapshot: SnapshotFile) -> str:
    """The snapshot as JSON. Namespaces keep only the labels that ClusterQueues select by, and those of the projects."""
    queues = [each for each in snapshot.objects if group_kind(each) == kueue.CLUSTER_QUEUE]
    keys = selector_keys(queues)
    lines = [_line(_trimmed(each, keys)) for each in snapshot.objects]
    head = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "takenAt": snapshot.taken.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "cluster": snapshot.cluster,
        "quotree": VERSION,
        "namesHashed": snapshot.names_hashed,
        "complete": sorted(f"{kind}.{group}".rstrip(".") for group, kind in snapshot.complete),
    }
    start = json.dumps(head)[:-1]
    inside = ",\n".join(lines)
    return f'{start}, "objects": [\n{inside}\n]}}' if lines else f'{start}, "objects": []}}'


def _trimmed(manifest: Manifest, keys: frozenset[str]) -> Mapping[str, Any]:
    return without_labels(manifest, keys) if group_kind(manifest) == core.NAMESPACE else manifest


def _line(manifest: Mapping[str, Any]) -> str:
    return json.dumps(manifest, separators=(",", ":"), default=_plain)


def _plain(value: object) -> object:
    """Convert an exact number of a manifest for `json.dumps`."""
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} is not a value of a manifest")
