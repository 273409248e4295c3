"""A change as kubectl commands: a merge patch for each existing object, and a manifest for each new one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from cluster.resource import Resource
from dashboard.reading.backend import Manifest
from dashboard.what_if.manifests import KINDS, LAST_APPLIED, as_yaml
from policies.mutation.patching import merge_patch


def patch_command(resource: Resource, before: Manifest, after: Manifest) -> str:
    """The `kubectl patch` command for one object; empty if no field changes that a user writes."""
    patch = merge_patch(_written(before), _written(after))
    if not patch:
        return ""
    kind = f"{resource.plural}.{resource.group}".rstrip(".")
    name = shlex.quote(str(after["metadata"]["name"]))
    return f"kubectl patch {kind} {name} --type=merge -p {shlex.quote(json.dumps(patch, separators=(',', ':')))}"


def commands(before: Mapping[str, Manifest | None], made: Iterable[Manifest]) -> str:
    """The commands for a change. `before`: the stored objects by `kind/name`; other objects are created."""
    found, new = [], []
    for each in made:
        resource, old = KINDS.get(each["kind"]), before.get(f"{each['kind']}/{each['metadata']['name']}")
        if resource is not None and old is not None:
            found.append(patch_command(resource, old, each))
        else:
            new.append(each)
    if new:
        found.append(f"kubectl apply -f - <<'EOF'\n{as_yaml(new).rstrip()}\nEOF")
    return "\n".join(filter(None, found))


def _written(manifest: Manifest) -> dict[str, Any]:
    """The fields that a user writes: apiVersion, kind, name, labels, annotations, and spec."""
    meta = manifest.get("metadata") or {}
    notes = {name: value for name, value in (meta.get("annotations") or {}).items() if name != LAST_APPLIED}
    return {
        "metadata": {"labels": meta.get("labels") or {}, "annotations": notes},
        "spec": manifest.get("spec") or {},
    }
