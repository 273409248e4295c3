"""Our published schemas; what the tests make the program print is held against them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

SCHEMAS = Path(__file__).parents[1] / "docs" / "schemas"
OF_KIND = {
    "Diagnosis": "diagnosis",
    "Report": "report",
    "Simulation": "simulation",
    "Explanation": "explanation",
    "JobStates": "job-states",
    "FindingList": "finding-list",
    "Tree": "tree",
    "Snapshot": "snapshot",
    "Migration": "migration",
    "Diff": "diff",
    "DiffList": "diff",
    "Order": "order",
    "ClusterList": "clusters",
    "TopologyList": "topologies",
    "DomainList": "domains",
    "UsageHistory": "usage-history",
    "QuotaHolders": "holders",
    "PendingPods": "pending-pods",
    "PendingWorkloads": "pending",
    "PendingWorkloadsSummary": "pending",
    "SuiteReport": "suites",
    "SelfAccess": "self-access",
}


def checked(answer: Any) -> Any:
    """The answer itself, which obeys the schema of its kind where there is one. Raises ValidationError."""
    kind = answer.get("kind") if isinstance(answer, dict) else None
    if kind in OF_KIND:
        _validator(OF_KIND[kind]).validate(answer)
    return answer


@cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")))
