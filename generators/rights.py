"""Generates the JSON file with the rules of the shipped roles, which `quotree doctor` compares with RBAC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from generators.files import as_json, documents

FILES = (
    ("webhook", "manifests/base/rbac.yaml"),
    ("reconciler", "manifests/components/reconciler/rbac.yaml"),
    ("reconciler", "manifests/components/multikueue/rbac.yaml"),
    ("part", "manifests/components/reconciler-part/rbac.yaml"),
    ("audit", "manifests/components/audit/rbac.yaml"),
    ("dashboard", "manifests/components/dashboard/rbac.yaml"),
)


def generate() -> dict[str, str]:
    roles = [role for process, file in FILES for role in _roles(process, file)]
    return {"cli/doctor/rights.json": as_json(roles)}


def _roles(process: str, file: str) -> Iterator[dict[str, Any]]:
    for manifest in documents(file):
        if manifest["kind"] in ("Role", "ClusterRole"):
            meta = manifest["metadata"]
            named = {"kind": manifest["kind"], "name": meta["name"], "namespace": meta.get("namespace", "")}
            yield {"process": process, **named, "file": file, "rules": manifest["rules"]}
