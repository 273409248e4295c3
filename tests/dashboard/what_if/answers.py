"""Answers of who computes changes, as `cli.what_if.state` gives them."""

from __future__ import annotations

from typing import Any

_LISTS = ("nodes", "overQuota", "lost", "restarted", "admitted", "couldBePreempted")


def answer(findings: list[dict[str, Any]] | None = None, more: int = 0, **diff: Any) -> dict[str, Any]:
    """Of a change of which nothing comes but what is given; each list has `more` entries than it shows."""
    lists = {name: diff.get(name, []) for name in _LISTS}
    counts = {name: len(found) + more for name, found in lists.items()}
    rest = {"settled": True, "onlyReach": 0, "assumptions": [], "unreadable": [], "counts": counts}
    return {
        "asOf": "2026-11-23T10:00:00Z",
        "report": {"findings": findings or [], "notEvaluated": [], "unreadable": []},
        "diff": {**rest, **lists, **diff},
        "work": [],
        "inNoQueue": [],
        "notJudged": [],
        "leftOut": [],
    }


def job(name: str) -> dict[str, str]:
    return {"kind": "Job", "namespace": "ml", "name": name, "workload": name}


def ref(kind: str, name: str) -> dict[str, str]:
    return {"group": "", "kind": kind, "namespace": "", "name": name}


def finding(severity: str, message: str) -> dict[str, Any]:
    return {"severity": severity, "message": message, "fix": "", "rule": "a-rule", "object": ref("ClusterQueue", "a")}
