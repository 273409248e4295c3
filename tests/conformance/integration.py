"""The cases of Kueue's tests against an API server, as the writes that they make and what is expected of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.conformance.suite import Data

NOW = "2025-01-01T00:00:00Z"
API_VERSION = "kueue.x-k8s.io/v1beta2"
_TEMPLATE = {"spec": {"containers": [{"name": "c"}], "restartPolicy": "Never"}}


@dataclass(frozen=True, slots=True)
class Step:
    """One write. `by` is who refuses it: schema or webhook. `base`: what `manifest` was before it was edited."""

    manifest: Data
    allowed: bool
    by: str = ""
    says: str = ""
    subresource: str = ""
    base: Data | None = None


def steps(case: Data) -> list[Step]:
    """The writes of the case in their order; those that only prepare it are expected to pass."""
    return list(_steps(case["given"], case["expect"]))


def written(stored: Data | None, step: Step) -> Data:
    """What the API server would hold after the step: a write changes the status or all else, never both."""
    if stored is None:
        return {key: value for key, value in step.manifest.items() if key != "status"}
    if step.subresource:
        return {**stored, "status": step.manifest.get("status")}
    before, after = ((part or {}).get("metadata", {}) for part in (step.base, step.manifest))
    metadata = dict(stored["metadata"])
    for key in ("labels", "annotations"):
        if before.get(key) != after.get(key):
            metadata[key] = after.get(key)
    return {**step.manifest, "metadata": metadata, "status": stored.get("status")}


def _steps(given: Data, expect: Data) -> Iterator[Step]:
    operation = given["operation"]
    verdict: Data = {
        "allowed": expect.get("allowed"),
        "by": expect.get("by", ""),
        "says": expect.get("messageContains", ""),
    }
    if operation == "create":
        yield Step(_created(given), **verdict)
        return
    created = given.get("object") or _example(given)
    yield Step(created, True)
    if operation == "update":
        if given["quotaReservedAndAdmitted"]:
            yield Step({"status": _admitted(created)}, True, subresource="status")
        yield Step(given["updated"], **verdict, base=created)
    elif operation == "updateStatus" and "conditionCount" in given:
        conditions = [_true(f"Type{number}") for number in range(given["conditionCount"])]
        yield Step({"status": {"conditions": conditions}}, **verdict, subresource="status")
    elif operation == "updateStatus":
        for key, name in (("setup", "setup"), ("updated", "update")):
            one = {"allowed": expect[name]["allowed"], "by": expect[name].get("by", "")}
            yield Step({"status": given[key].get("status")}, **one, subresource="status")
    else:
        yield Step({"status": _status(given, created)}, **verdict, subresource="status")


def _created(given: Data) -> Data:
    if "object" in given:
        return dict(given["object"])
    if "podSetsCount" in given:
        sets = [{"name": f"ps{i}", "count": given["podsPerPodSet"]} for i in range(given["podSetsCount"])]
        return _object("Workload", {"podSets": [{**each, "template": _TEMPLATE} for each in sets]}, "core-ns")
    spec = {
        "nodeLabels": {f"l{i}": "" for i in range(given["nodeLabels"])},
        "nodeTaints": [{"key": f"t{i}", "effect": "NoSchedule"} for i in range(given["taints"])],
    }
    return _object("ResourceFlavor", spec)


def _example(given: Data) -> Data:
    """The object that the case describes only by what is written into its status."""
    if "conditionCount" in given:
        return _object("MultiKueueCluster", {"clusterSource": {"kubeConfig": {"location": "worker"}}})
    return _object("Workload", {"podSets": [{"name": "ps1", "count": 1, "template": _TEMPLATE}]}, "core-ns")


def _object(kind: str, spec: Data, namespace: str = "") -> Data:
    metadata = {"name": "example", **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def _status(given: Data, created: Data) -> Data:
    if "admissionCheckState" in given:
        return {"admissionChecks": [{"lastTransitionTime": NOW, **given["admissionCheckState"]}]}
    admission = given.get("admission")
    if admission is None:
        name = created["spec"]["podSets"][0]["name"]
        assignment = {"name": name, "topologyAssignment": given["topologyAssignment"]}
        admission = {"clusterQueue": "cq", "podSetAssignments": [assignment]}
    return {"admission": admission, "conditions": [_true("QuotaReserved")]}


def _admitted(manifest: Data) -> Data:
    assignments = [{"name": pod_set["name"]} for pod_set in manifest["spec"]["podSets"]]
    return {
        "admission": {"clusterQueue": "cq", "podSetAssignments": assignments},
        "conditions": [_true("QuotaReserved"), _true("Admitted")],
    }


def _true(condition: str) -> dict[str, Any]:
    return {"type": condition, "status": "True", "reason": "Test", "message": "", "lastTransitionTime": NOW}
