"""The cases of Kueue's tests against an API server, as writes and whether the CRD must refuse them.

They are read from the folder that QUOTREE_CONFORMANCE names, or from ../shared/conformance beside the repository.
Without it there are no cases. Kinds that Quotree has no schema for are left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policies.schema.declarations import FILES
from tests.policies.schema.structure_cases import NOW, TEMPLATE, Manifest, flavor, workload

ROOT = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("QUOTREE_CONFORMANCE") or ROOT.parent / "shared" / "conformance")
SUITES = FOLDER / "kueue" / "webhooks-integration"


@dataclass(frozen=True, slots=True)
class Write:
    """One request: the object to create, or what is put over the object that the request before has left."""

    manifest: Manifest
    refused: bool
    subresource: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Defaulting:
    name: str
    manifest: Manifest
    stored: Manifest


def cases() -> list[Case]:
    """Every case that is judged; the last write is the one that the case is about."""
    found = []
    for name, given, expect in _raw():
        writes = tuple(_writes(given, expect)) if "allowed" in expect or "update" in expect else ()
        if writes and _declared(writes[0].manifest):
            found.append(Case(name, writes))
    return found


def defaulting() -> list[Defaulting]:
    return [
        Defaulting(name, given["object"], expect["object"])
        for name, given, expect in _raw()
        if "object" in expect and _declared(given["object"])
    ]


def volcano_queues() -> list[tuple[str, Manifest]]:
    """The queues that Volcano's own webhook let through."""
    path = FOLDER / "volcano" / "queues-validate.json"
    content = json.loads(path.read_text(encoding="utf-8"))["cases"] if path.is_file() else []
    allowed = [case for case in content if case["expect"]["allowed"]]
    reviews = [(case["name"], case["given"]["admissionReview"]["request"].get("object")) for case in allowed]
    return [(name, manifest) for name, manifest in reviews if manifest]


def _raw() -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    for path in sorted(SUITES.glob("*.json")):
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
            yield f"{path.stem}: {case['name']}", case["given"], case["expect"]


def _declared(manifest: Manifest) -> bool:
    return (manifest["apiVersion"].rpartition("/")[0], manifest["kind"]) in FILES


def _writes(given: Mapping[str, Any], expect: Mapping[str, Any]) -> Iterator[Write]:
    verdict = expect.get("update", expect)
    refused, message = verdict.get("by") == "schema", verdict.get("messageContains", "")
    operation = given["operation"]
    if operation == "create":
        yield Write(_created(given), refused)
        return
    if "object" not in given and operation != "setTopologyAssignment":
        return
    yield Write(given.get("object") or workload({"template": TEMPLATE}), False)
    if operation == "update":
        if given["quotaReservedAndAdmitted"]:
            yield Write({"status": _admitted(given["object"])}, False, "status")
        yield Write(given["updated"], refused)
    elif operation == "updateStatus":
        if expect["setup"]["allowed"]:
            yield Write({"status": given["setup"].get("status")}, False, "status")
        yield Write({"status": given["updated"].get("status")}, refused, "status")
    else:
        yield Write({"status": _status(given)}, refused, "status", message)


def _created(given: Mapping[str, Any]) -> Manifest:
    if "object" in given:
        return dict(given["object"])
    if "podSetsCount" in given:
        count = given["podsPerPodSet"]
        pod_sets = [{"name": f"set-{number}", "count": count} for number in range(given["podSetsCount"])]
        return workload(*({**pod_set, "template": TEMPLATE} for pod_set in pod_sets))
    return flavor(
        nodeLabels={f"label-{number}": "" for number in range(given["nodeLabels"])},
        nodeTaints=[{"key": f"taint-{number}", "effect": "NoSchedule"} for number in range(given["taints"])],
    )


def _status(given: Mapping[str, Any]) -> Manifest:
    """What the operations named set... write; the times that the data leaves out are filled in."""
    if "admissionCheckState" in given:
        return {"admissionChecks": [{"lastTransitionTime": NOW, **given["admissionCheckState"]}]}
    assignment = {"name": "main", "count": 1, "topologyAssignment": given.get("topologyAssignment")}
    admission = given.get("admission") or {"clusterQueue": "cq", "podSetAssignments": [assignment]}
    return {"admission": admission, "conditions": [_true("QuotaReserved")]}


def _admitted(manifest: Manifest) -> Manifest:
    assignments = [{"name": pod_set["name"]} for pod_set in manifest["spec"]["podSets"]]
    return {
        "admission": {"clusterQueue": "cq", "podSetAssignments": assignments},
        "conditions": [_true("QuotaReserved"), _true("Admitted")],
    }


def _true(condition: str) -> Manifest:
    return {"type": condition, "status": "True", "reason": "Test", "message": "", "lastTransitionTime": NOW}
