"""What every manifest has."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]


def manifest(
    api_version: str, kind: str, name: str, spec: Any = None, *, status: Any = None, **metadata: Any
) -> Manifest:
    """`metadata` is what stands beside the name; whatever is None is left out."""
    parts = {"spec": spec, "status": status}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, **{key: value for key, value in metadata.items() if value is not None}},
        **{key: value for key, value in parts.items() if value is not None},
    }
