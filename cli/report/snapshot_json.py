"""Renders a snapshot as JSON (docs/schemas/snapshot.schema.json), with one line for each object."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from cli.input.snapshot_file import API_VERSION, KIND, SnapshotFile
from cli.version import VERSION
from policies.dialects import core, kueue
from policies.dialects.reading import Manifest, group_kind, listing, mapping, texts
from policies.dialects.selectors import NAME_OF_NAMESPACE


def snapshot_json(snapshot: SnapshotFile) -> str:
    """The snapshot as JSON. Namespaces keep only the labels that ClusterQueues select by, and those of the projects."""
    keys = _selector_keys(each for each in snapshot.objects if group_kind(each) == kueue.CLUSTER_QUEUE)
    trimmed = (_trimmed(each, keys) if group_kind(each) == core.NAMESPACE else each for each in snapshot.objects)
    lines = [json.dumps(each, separators=(",", ":"), default=_plain) for each in trimmed]
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


def _selector_keys(queues: Iterable[Manifest]) -> frozenset[str]:
    """The keys of Namespace labels that the namespaceSelectors of ClusterQueues use."""
    keys = {NAME_OF_NAMESPACE}
    for queue in queues:
        selector = mapping(mapping(queue.get("spec")).get("namespaceSelector"))
        keys |= texts(selector.get("matchLabels")).keys()
        keys |= {str(mapping(each).get("key")) for each in listing(selector.get("matchExpressions"))}
    return frozenset(keys)


def _trimmed(namespace: Manifest, keys: frozenset[str]) -> Mapping[str, Any]:
    """The redacted Namespace with only these labels and those of the three projects."""
    meta = namespace["metadata"]
    labels = texts(meta.get("labels"))
    own = core.ours(labels)
    kept = {key: value for key, value in labels.items() if key in keys or key in own}
    rest = {key: value for key, value in meta.items() if key != "labels"}
    return {**namespace, "metadata": {**rest, **({"labels": kept} if kept else {})}}


def _plain(value: object) -> object:
    """Convert an exact number of a manifest for `json.dumps`."""
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} is not a value of a manifest")
