"""Nodes as /v1 writes them."""

from __future__ import annotations

from typing import Any


def kueue(
    name: str,
    parent: str | None = None,
    quota: str | None = None,
    used: str = "0",
    *,
    cohort: bool = False,
    below: str | None = None,
    borrowed: str | None = None,
    pending: int = 0,
) -> dict[str, Any]:
    own = {"used": used} | ({"nominalQuota": quota} if quota else {}) | ({"borrowed": borrowed} if borrowed else {})
    children = {"nominalQuota": below} if below else {}
    return {
        "dialect": "Kueue",
        "kind": "Cohort" if cohort else "ClusterQueue",
        "name": name,
        "exists": True,
        "parent": parent,
        "children": [],
        "quota": [{"flavor": "spot", "resource": "cpu", "own": own, "children": children}],
        "workloads": {"pending": pending, "reserving": 0, "admitted": 0},
    }


def tree(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "quotree.dev/v1alpha1", "kind": "Tree", "nodes": list(nodes)}
