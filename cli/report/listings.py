"""Objects of Kueue as tables, with the columns that kueuectl has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from policies.dialects.reading import Manifest, listing, mapping, metadata, text
from policies.model.printing import plain

Row = Sequence[str]
_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
PENDING, QUOTA_RESERVED, ADMITTED, FINISHED = "PENDING", "QUOTARESERVED", "ADMITTED", "FINISHED"
STATES = (PENDING, QUOTA_RESERVED, ADMITTED, FINISHED)


def status(manifest: Manifest, kind: str) -> bool:
    """Whether a condition of its status is True."""
    found = (mapping(each) for each in listing(mapping(manifest.get("status")).get("conditions")))
    return any(each.get("type") == kind and each.get("status") == "True" for each in found)


def state(workload: Manifest) -> str:
    """The furthest that it has come."""
    if status(workload, "Finished"):
        return FINISHED
    if status(workload, "Admitted"):
        return ADMITTED
    return QUOTA_RESERVED if status(workload, "QuotaReserved") else PENDING


def cluster_queue_of(workload: Manifest) -> str:
    """The ClusterQueue that holds quota for it; empty where none does."""
    return text(mapping(mapping(workload.get("status")).get("admission")).get("clusterQueue")) or ""


def queue_name_of(manifest: Manifest, field: str) -> str:
    return text(mapping(manifest.get("spec")).get(field)) or ""


def age(manifest: Manifest, now: datetime) -> str:
    """Such as 3d4h: the two largest units."""
    created = text(metadata(manifest).get("creationTimestamp"))
    try:
        since = datetime.fromisoformat(created.replace("Z", "+00:00")) if created else now
    except ValueError:
        return "<unknown>"
    rest, parts = max(0, int((now - since.astimezone(UTC)).total_seconds())), []
    for unit, seconds in _UNITS:
        count, rest = divmod(rest, seconds)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2]) or "0s"


def cluster_queues(found: Iterable[Manifest], now: datetime) -> list[Row]:
    head = ("NAME", "COHORT", "PENDING WORKLOADS", "ADMITTED WORKLOADS", "ACTIVE", "AGE")
    return [head, *(_cluster_queue(each, now) for each in found)]


def _cluster_queue(each: Manifest, now: datetime) -> Row:
    cohort = queue_name_of(each, "cohortName") or queue_name_of(each, "cohort")
    active = str(status(each, "Active")).lower()
    return (
        _name(each),
        cohort,
        _count(each, "pendingWorkloads"),
        _count(each, "admittedWorkloads"),
        active,
        age(each, now),
    )


def local_queues(found: Iterable[Manifest], now: datetime) -> list[Row]:
    head = ("NAMESPACE", "NAME", "CLUSTERQUEUE", "PENDING WORKLOADS", "ADMITTED WORKLOADS", "AGE")
    return [
        head,
        *(
            (
                _namespace(each),
                _name(each),
                queue_name_of(each, "clusterQueue"),
                _count(each, "pendingWorkloads"),
                _count(each, "admittedWorkloads"),
                age(each, now),
            )
            for each in found
        ),
    ]


def workloads(found: Iterable[Manifest], now: datetime) -> list[Row]:
    head = ("NAMESPACE", "NAME", "JOB TYPE", "JOB NAME", "LOCALQUEUE", "CLUSTERQUEUE", "STATUS", "AGE")
    return [head, *(_workload(each, now) for each in found)]


def _workload(each: Manifest, now: datetime) -> Row:
    owners = [mapping(owner) for owner in listing(metadata(each).get("ownerReferences"))]
    kinds = sorted({str(owner.get("kind")) for owner in owners})
    names = [str(owner.get("name")) for owner in owners]
    job = (", ".join(kinds), names[0] if len(names) == 1 else f"{len(names)} owners" if names else "")
    queue = queue_name_of(each, "queueName")
    return (_namespace(each), _name(each), *job, queue, cluster_queue_of(each), state(each), age(each, now))


def resource_flavors(found: Iterable[Manifest], now: datetime) -> list[Row]:
    rows = [
        (_name(each), ", ".join(f"{key}={value}" for key, value in sorted(_labels(each).items())), age(each, now))
        for each in found
    ]
    return [("NAME", "NODE LABELS", "AGE"), *rows]


def cohorts(found: Iterable[Manifest], now: datetime) -> list[Row]:
    rows = [
        (_name(each), queue_name_of(each, "parentName") or queue_name_of(each, "parent"), age(each, now))
        for each in found
    ]
    return [("NAME", "PARENT", "AGE"), *rows]


def _labels(flavor: Manifest) -> Mapping[str, Any]:
    return mapping(mapping(flavor.get("spec")).get("nodeLabels"))


def _count(manifest: Manifest, field: str) -> str:
    found = mapping(manifest.get("status")).get(field)
    return str(found) if isinstance(found, int) else "0"


def _name(manifest: Manifest) -> str:
    return plain(str(metadata(manifest).get("name")))


def _namespace(manifest: Manifest) -> str:
    return plain(str(metadata(manifest).get("namespace") or ""))


Table = Callable[[Iterable[Manifest], datetime], list[Row]]
