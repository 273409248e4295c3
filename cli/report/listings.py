"""Lists objects of Kueue as tables with the columns of kueuectl."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from policies.dialects.reading import Manifest, condition, mapping, metadata, owner_references, text
from policies.model.printing import plain
from scheduling.objects.times import in_units

Row = Sequence[str]
Cell = Callable[[Manifest, datetime], str]
Column = tuple[str, Cell]
Columns = tuple[Column, ...]
"""The columns of a table: the head of each, and a function from an object and the current time to the cell."""
PENDING, QUOTA_RESERVED, ADMITTED, FINISHED = "PENDING", "QUOTARESERVED", "ADMITTED", "FINISHED"
STATES = (PENDING, QUOTA_RESERVED, ADMITTED, FINISHED)


def status(manifest: Manifest, kind: str) -> bool:
    return condition(mapping(manifest.get("status")), kind).get("status") == "True"


def state(workload: Manifest) -> str:
    """The last state that the workload has reached."""
    if status(workload, "Finished"):
        return FINISHED
    if status(workload, "Admitted"):
        return ADMITTED
    return QUOTA_RESERVED if status(workload, "QuotaReserved") else PENDING


def cluster_queue_of(workload: Manifest) -> str:
    """The ClusterQueue in which the workload has quota; empty if it has none."""
    return text(mapping(mapping(workload.get("status")).get("admission")).get("clusterQueue")) or ""


def queue_name_of(manifest: Manifest, field: str) -> str:
    return text(mapping(manifest.get("spec")).get(field)) or ""


def age(manifest: Manifest, now: datetime) -> str:
    """The age of an object in the two largest units, such as 3d4h."""
    created = text(metadata(manifest).get("creationTimestamp"))
    try:
        since = datetime.fromisoformat(created.replace("Z", "+00:00")) if created else now
    except ValueError:
        return "<unknown>"
    return "".join(in_units(max(0, int((now - since.astimezone(UTC)).total_seconds())))[:2])


def _count(field: str) -> Cell:
    def counted(manifest: Manifest, _: datetime) -> str:
        found = mapping(manifest.get("status")).get(field)
        return str(found) if isinstance(found, int) else "0"

    return counted


def _named(*fields: str) -> Cell:
    """A column with the queue in the first of these fields of the spec that is set."""
    return lambda each, _: next(filter(None, (queue_name_of(each, field) for field in fields)), "")


def _owners(workload: Manifest, key: str) -> list[str]:
    return [str(owner.get(key)) for owner in owner_references(workload)]


def _job_name(workload: Manifest, _: datetime) -> str:
    names = _owners(workload, "name")
    return names[0] if len(names) == 1 else f"{len(names)} owners" if names else ""


def _labels(flavor: Manifest, _: datetime) -> str:
    labels = mapping(mapping(flavor.get("spec")).get("nodeLabels"))
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))


_NAME: Column = ("NAME", lambda each, _: str(metadata(each).get("name")))
_NAMESPACE: Column = ("NAMESPACE", lambda each, _: str(metadata(each).get("namespace") or ""))
_AGE: Column = ("AGE", age)
_WORK: Columns = (
    ("PENDING WORKLOADS", _count("pendingWorkloads")),
    ("ADMITTED WORKLOADS", _count("admittedWorkloads")),
)
CLUSTER_QUEUES: Columns = (
    _NAME,
    ("COHORT", _named("cohortName", "cohort")),
    *_WORK,
    ("ACTIVE", lambda each, _: str(status(each, "Active")).lower()),
    _AGE,
)
LOCAL_QUEUES: Columns = (_NAMESPACE, _NAME, ("CLUSTERQUEUE", _named("clusterQueue")), *_WORK, _AGE)
WORKLOADS: Columns = (
    _NAMESPACE,
    _NAME,
    ("JOB TYPE", lambda each, _: ", ".join(sorted(set(_owners(each, "kind"))))),
    ("JOB NAME", _job_name),
    ("LOCALQUEUE", _named("queueName")),
    ("CLUSTERQUEUE", lambda each, _: cluster_queue_of(each)),
    ("STATUS", lambda each, _: state(each)),
    _AGE,
)
RESOURCE_FLAVORS: Columns = (_NAME, ("NODE LABELS", _labels), _AGE)
COHORTS: Columns = (_NAME, ("PARENT", _named("parentName", "parent")), _AGE)


def table(columns: Columns, found: Iterable[Manifest], now: datetime) -> list[Row]:
    return [[name for name, _ in columns], *([plain(cell(each, now)) for _, cell in columns] for each in found)]
