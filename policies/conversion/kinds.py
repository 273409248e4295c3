"""The differences between the two versions, by kind. Fields that only one version has are not handled here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from policies.conversion import topology
from policies.dialects.kueue_kinds import PRIORITY_SOURCES
from policies.dialects.reading import Manifest, listing, mapping, text
from policies.schema.declarations import Schema

UNITS: Final = (
    ("admissionChecks", "admissionChecksStrategy"),
    ("priorityClassName", "priorityClassSource"),
    ("clusterProfileRef", "kubeConfig"),
)
"""Fields of a spec for which the other version has a single field. They are kept and restored together."""

_RETRY_MINUTES = 15
"""The default of an AdmissionCheck's retryDelayMinutes, which only v1beta1 has."""

_Part = dict[str, Any]


def translated(body: Manifest, kind: str, to: str) -> dict[str, Any]:
    """The object in the form of version `to`. Fields that `to` does not have are still in it."""
    result = dict(body)
    for key in ("spec", "status"):
        if isinstance(part := result.get(key), Mapping):
            change = _CHANGES.get((kind, key, to))
            result[key] = change(dict(part)) if change else dict(part)
    return result


def without_undeclared(body: dict[str, Any], source: Schema, target: Schema) -> dict[str, Any]:
    """The object without the fields of spec and status that only `source` has. Fields that neither has stay, since a
    newer CRD may have them."""
    parts = ((key, source["properties"].get(key), target["properties"].get(key)) for key in body)
    known = {key: (old, new) for key, old, new in parts if key != "metadata" and (old or new)}
    result = {}
    for key, value in body.items():
        old, new = known.get(key, (None, None))
        if new:
            result[key] = _declared(value, old, new)
        elif not old:
            result[key] = value
    return result


def _declared(value: Any, source: Schema | None, target: Schema) -> Any:
    source = source or {}
    if "x-kubernetes-preserve-unknown-fields" in target:
        return value
    if isinstance(value, Mapping):
        if isinstance(each := target.get("additionalProperties"), dict):
            return {key: _declared(inner, source.get("additionalProperties"), each) for key, inner in value.items()}
        old, new = ({"properties": schema.get("properties", {})} for schema in (source, target))
        return without_undeclared(dict(value), old, new)
    if isinstance(value, list) and "items" in target:
        return [_declared(inner, source.get("items"), target["items"]) for inner in value]
    return value


def _renamed(part: _Part, old: str, new: str) -> _Part:
    if old in part:
        part[new] = part.pop(old)
    return part


# -- ClusterQueue ------------------------------------------------------------------------------------------------------


def _cluster_queue_up(spec: _Part) -> _Part:
    _renamed(spec, "cohort", "cohortName")
    fungibility = spec.get("flavorFungibility")
    if isinstance(fungibility, Mapping):
        spec["flavorFungibility"] = {
            key: "MayStopSearch" if value in ("Borrow", "Preempt") else value for key, value in fungibility.items()
        }
    names = [name for name in listing(spec.pop("admissionChecks", None)) if text(name)]
    if names:  # they replace the strategy, as in Kueue
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in dict.fromkeys(names)]}
    elif not listing(mapping(spec.get("admissionChecksStrategy")).get("admissionChecks")):
        spec.pop("admissionChecksStrategy", None)  # v1beta2 has no strategy without checks
    return spec


def _cluster_queue_down(spec: _Part) -> _Part:
    """Convert checks for all flavors to the plain list.

    Equal content must have only one form, even without the annotation. If a field manager switches to the other
    version, server-side apply drops the annotation, and then removes the fields in the form that the manager owned
    before.
    """
    _renamed(spec, "cohortName", "cohort")
    strategy = mapping(spec.get("admissionChecksStrategy"))
    checks = listing(strategy.get("admissionChecks"))
    names = [check["name"] for check in checks if isinstance(check, Mapping) and check.keys() == {"name"}]
    if checks and len(strategy) == 1 and len(names) == len(checks) and all(map(text, names)):
        del spec["admissionChecksStrategy"]
        spec["admissionChecks"] = names
    return spec


# -- Workload ----------------------------------------------------------------------------------------------------------


def _workload_up(spec: _Part) -> _Part:
    name, source = text(spec.pop("priorityClassName", None)), text(spec.pop("priorityClassSource", None))
    if name and source in PRIORITY_SOURCES:
        group, kind = PRIORITY_SOURCES[source]
        spec["priorityClassRef"] = {"group": group, "kind": kind, "name": name}
    return spec


def _workload_down(spec: _Part) -> _Part:
    ref = mapping(spec.pop("priorityClassRef", None))
    kind = (ref.get("group"), ref.get("kind"))
    source = next((source for source, known in PRIORITY_SOURCES.items() if known == kind), "")
    name = text(ref.get("name")) if source else None
    # empty is the default of v1beta1; the API server adds it only in that version
    spec["priorityClassSource"] = source if name else ""
    if name:
        spec["priorityClassName"] = name
    return spec


def _workload_status_up(status: _Part) -> _Part:
    _renamed(status, "accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds")
    return _with_assignments(status, "domains", "slices", topology.compressed)


def _workload_status_down(status: _Part) -> _Part:
    _renamed(status, "accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds")
    return _with_assignments(status, "slices", "domains", topology.expanded)


def _with_assignments(status: _Part, old: str, new: str, change: Callable[[object], list[_Part] | None]) -> _Part:
    """The status with each topologyAssignment converted. One that cannot be converted is left out."""
    admission = status.get("admission")
    if not isinstance(admission, Mapping) or not isinstance(admission.get("podSetAssignments"), list):
        return status

    def rewritten(assignment: Any) -> Any:
        if not isinstance(assignment, Mapping) or not isinstance(assignment.get("topologyAssignment"), Mapping):
            return assignment
        placed = dict(assignment["topologyAssignment"])
        if old in placed and (made := change(placed.pop(old))) is not None:
            placed[new] = made
        return {**assignment, "topologyAssignment": placed}

    assignments = [rewritten(assignment) for assignment in admission["podSetAssignments"]]
    return {**status, "admission": {**admission, "podSetAssignments": assignments}}


# -- MultiKueueCluster -------------------------------------------------------------------------------------------------


def _multikueue_cluster_up(spec: _Part) -> _Part:
    source = {key: spec.pop(key) for key in ("clusterProfileRef", "kubeConfig") if key in spec}
    return {**spec, "clusterSource": source} if source else spec


def _multikueue_cluster_down(spec: _Part) -> _Part:
    source = mapping(spec.pop("clusterSource", None))
    return {**spec, **{key: source[key] for key in ("clusterProfileRef", "kubeConfig") if key in source}}


_CHANGES: Final[Mapping[tuple[str, str, str], Callable[[_Part], _Part]]] = {
    ("ClusterQueue", "spec", "v1beta2"): _cluster_queue_up,
    ("ClusterQueue", "spec", "v1beta1"): _cluster_queue_down,
    ("LocalQueue", "status", "v1beta2"): lambda status: _renamed(status, "flavorUsage", "flavorsUsage"),
    ("LocalQueue", "status", "v1beta1"): lambda status: _renamed(status, "flavorsUsage", "flavorUsage"),
    ("Workload", "spec", "v1beta2"): _workload_up,
    ("Workload", "spec", "v1beta1"): _workload_down,
    ("Workload", "status", "v1beta2"): _workload_status_up,
    ("Workload", "status", "v1beta1"): _workload_status_down,
    ("AdmissionCheck", "spec", "v1beta1"): lambda spec: {"retryDelayMinutes": _RETRY_MINUTES, **spec},
    ("MultiKueueCluster", "spec", "v1beta2"): _multikueue_cluster_up,
    ("MultiKueueCluster", "spec", "v1beta1"): _multikueue_cluster_down,
}
"""The conversion by kind, part of the object and target version. It may change the part in place."""
