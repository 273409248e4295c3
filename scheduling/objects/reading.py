"""Reads a Workload from its manifest (v1beta2). Unreadable values count as absent; the schema reports them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from policies.dialects.kueue_workload import PRIORITY_BOOST, name_or_main, of_kueue, priority_class
from policies.dialects.reading import Manifest, integer, listing, mapping, metadata, owner_references, text, texts
from scheduling.objects import amounts, times
from scheduling.objects.template import template
from scheduling.objects.workload import (
    Admission,
    CheckState,
    Condition,
    Eviction,
    Owner,
    PodSet,
    PodSetAdmission,
    PreemptionGate,
    RequeueState,
    Workload,
)

_INT32 = 2**31


def read_workload(manifest: Manifest, *, boosted: bool = False) -> Workload:
    """Read a Workload. `boosted`: the annotation priority-boost counts (Kueue's gate PriorityBoost, off by default)."""
    meta, spec, status = metadata(manifest), mapping(manifest.get("spec")), mapping(manifest.get("status"))
    annotations = of_kueue(meta.get("annotations"))
    return Workload(
        namespace=text(meta.get("namespace")) or "",
        name=text(meta.get("name")) or "",
        uid=text(meta.get("uid")) or "",
        generation=integer(meta.get("generation")) or 0,
        resource_version=text(meta.get("resourceVersion")) or "",
        created=times.parse(meta.get("creationTimestamp")),
        deleting=bool(meta.get("deletionTimestamp")),
        labels=of_kueue(meta.get("labels")),
        annotations=annotations,
        owners=tuple(map(_owner, owner_references(manifest))),
        boost=(priority_boost(annotations) or 0) if boosted else 0,
        **_spec(spec),
        **_status(status),
    )


def priority_boost(annotations: Mapping[str, str]) -> int | None:
    """The value of the annotation priority-boost; 0 if it is missing, None if it is not a 32-bit integer."""
    written = annotations.get(PRIORITY_BOOST)
    if not written:
        return 0
    digits = written.removeprefix("-") if written.startswith("-") else written.removeprefix("+")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 30):
        return None
    boost = int(written)
    return boost if -_INT32 <= boost < _INT32 else None


def _spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "queue": text(spec.get("queueName")) or "",
        "pod_sets": tuple(_pod_set(mapping(entry)) for entry in listing(spec.get("podSets"))),
        "base": integer(spec.get("priority")) or 0,
        "priority_class": priority_class(spec),
        "active": spec.get("active") is not False,
        "maximum_seconds": integer(spec.get("maximumExecutionTimeSeconds")),
        "gates": tuple(name_or_main(gate) for gate in listing(spec.get("preemptionGates"))),
    }


def _status(status: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the status. Most pending workloads have few."""
    return {key: value for key, value in _status_fields(status) if value}


def _status_fields(status: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if not status:
        return
    yield "conditions", conditions(status.get("conditions"))
    yield "admission", admission(status.get("admission"))
    yield "requeue", _requeue(status.get("requeueState"))
    yield "reclaimable", reclaimable(status.get("reclaimablePods"))
    yield "checks", tuple(check(mapping(entry)) for entry in listing(status.get("admissionChecks")))
    yield (
        "resource_requests",
        {
            name_or_main(entry): amounts.read(mapping(entry).get("resources"))
            for entry in listing(status.get("resourceRequests"))
        },
    )
    yield "past_seconds", integer(status.get("accumulatedPastExecutionTimeSeconds"))
    evictions = listing(mapping(status.get("schedulingStats")).get("evictions"))
    yield "evictions", tuple(_eviction(mapping(entry)) for entry in evictions)
    yield "nominated", tuple(filter(None, map(text, listing(status.get("nominatedClusterNames")))))
    yield "cluster", text(status.get("clusterName")) or ""
    yield "unhealthy_nodes", tuple(map(name_or_main, listing(status.get("unhealthyNodes"))))
    yield (
        "gate_states",
        {name_or_main(entry): _gate(mapping(entry)) for entry in listing(status.get("preemptionGates"))},
    )


def conditions(entries: object) -> dict[str, Condition]:
    return {text(entry.get("type")) or "": _condition(entry) for entry in map(mapping, listing(entries))}


def admission(value: object) -> Admission | None:
    if value is None:
        return None
    content = mapping(value)
    entries = map(mapping, listing(content.get("podSetAssignments")))
    return Admission(text(content.get("clusterQueue")) or "", tuple(map(_assignment, entries)))


def reclaimable(entries: object) -> dict[str, int]:
    """The number of pods that are done, by pod set."""
    return {name_or_main(entry): integer(mapping(entry).get("count")) or 0 for entry in listing(entries)}


def check(entry: Mapping[str, Any]) -> CheckState:
    return CheckState(
        name=text(entry.get("name")) or "",
        state=text(entry.get("state")) or "",
        message=text(entry.get("message")) or "",
        since=times.parse(entry.get("lastTransitionTime")),
        requeue_after=integer(entry.get("requeueAfterSeconds")),
        retries=integer(entry.get("retryCount")),
        updates=tuple(map(mapping, listing(entry.get("podSetUpdates")))),
    )


def _condition(entry: Mapping[str, Any]) -> Condition:
    return Condition(
        status=text(entry.get("status")) or "",
        reason=text(entry.get("reason")) or "",
        message=text(entry.get("message")) or "",
        since=times.parse(entry.get("lastTransitionTime")),
        generation=integer(entry.get("observedGeneration")) or 0,
    )


def _assignment(entry: Mapping[str, Any]) -> PodSetAdmission:
    topology = entry.get("topologyAssignment")
    return PodSetAdmission(
        name=name_or_main(entry),
        flavors=texts(entry.get("flavors")),
        usage=amounts.read(entry.get("resourceUsage")),
        count=integer(entry.get("count")),
        topology=mapping(topology) if topology is not None else None,
        delayed=text(entry.get("delayedTopologyRequest")) or "",
    )


def _pod_set(entry: Mapping[str, Any]) -> PodSet:
    count, topology = integer(entry.get("count")), entry.get("topologyRequest")
    return PodSet(
        name=name_or_main(entry),
        count=1 if count is None else max(0, count),
        template=template(mapping(entry.get("template")).get("spec")),
        min_count=integer(entry.get("minCount")),
        topology=_topology(mapping(topology)) if topology is not None else None,
    )


def _topology(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The topologyRequest. Ordinary jobs share one object, since their requests are equal."""
    index = request.get("podIndexLabel")
    return _numbered_by(index) if len(request) == 1 and isinstance(index, str) else request


@lru_cache(maxsize=64)
def _numbered_by(label: str) -> Mapping[str, Any]:
    return {"podIndexLabel": label}


def _requeue(value: object) -> RequeueState | None:
    if value is None:
        return None
    content = mapping(value)
    return RequeueState(integer(content.get("count")), times.parse(content.get("requeueAt")))


def _eviction(entry: Mapping[str, Any]) -> Eviction:
    cause, count = text(entry.get("underlyingCause")) or "", integer(entry.get("count")) or 0
    return Eviction(text(entry.get("reason")) or "", cause, count)


def _gate(entry: Mapping[str, Any]) -> PreemptionGate:
    return PreemptionGate(text(entry.get("position")) or "", times.parse(entry.get("lastTransitionTime")))


def _owner(entry: Mapping[str, Any]) -> Owner:
    return Owner(*(text(entry.get(key)) or "" for key in ("apiVersion", "kind", "name", "uid")))
