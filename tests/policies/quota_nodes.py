"""Cohorts and ClusterQueues with quota of one resource, for arithmetic worked out by hand."""

from __future__ import annotations

from typing import Any

from tests.builders import cluster_queue, cohort, flavor, group, holding, quota


def amount(number: int | str | None) -> str | None:
    return None if number is None else str(number)


def node(
    name: str,
    parent: str | None = None,
    nominal: int | str = 0,
    borrowing: int | str | None = None,
    lending: int | str | None = None,
    reserved: int = 0,
    resource: str = "cpu",
) -> dict[str, Any]:
    """A Cohort where the name is in capitals, else a ClusterQueue."""
    manifest = cohort(name, parent) if name.isupper() else cluster_queue(name, parent)
    limits = quota(str(nominal), amount(borrowing), amount(lending))
    manifest = holding(manifest, group(resource, flavor("spot", **{resource: limits})))
    if reserved:
        held = {"name": "spot", "resources": [{"name": resource, "total": str(reserved)}]}
        manifest["status"] = {"flavorsReservation": [held]}
    return manifest
