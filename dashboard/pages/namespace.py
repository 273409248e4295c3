"""The page of a team's namespace: its LocalQueues, their pending work, and its Workloads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from cluster.errors import Forbidden
from cluster.jobs_without_workload import CLASSES, JobWithoutWorkload, jobs_without_workload, owners_of
from cluster.resource import NAMESPACES, Resource
from dashboard.pages.formatting import path_part, scarce_text
from dashboard.pages.headline import failed
from dashboard.pages.local_queues import STATES, LocalQueueRow, example, held_by, local_queue, seen_tree
from dashboard.pages.parts import Part, Tile, part, pending_tile
from dashboard.pages.workload import WORKLOADS
from dashboard.reading.backend import Manifest, UserReader
from dashboard.reading.cache import CachedReader
from dashboard.reading.self_access import SelfAccess
from dashboard.trees.tree import nano_of
from policies.dialects.kueue_kinds import GROUP
from policies.impact.quotas import amount_text

LOCAL_QUEUES = Resource(GROUP, "v1beta2", "localqueues", namespaced=True)
MOST = 200
"""The maximum number of Workloads on the page, and of pending workloads of one queue."""
_QUEUES = 20
"""The maximum number of LocalQueues whose pending work is listed. Each needs a request."""


Requests: TypeAlias = Mapping[str, str]
"""Amounts by resource, as in the JSON of /v1."""


def page(reader: CachedReader, may: SelfAccess, namespace: str) -> dict[str, Any] | None:
    """The variables of the template; None if the namespace does not exist and the user may read namespaces.

    Raises Unauthorized. Any other error is shown in the part of the page that could not be read.
    """
    queues = part(lambda: reader.listed(LOCAL_QUEUES, namespace, MOST))
    named = sorted(map(local_queue, queues.value or ()), key=lambda each: (STATES.index(each.state), each.name))
    stored = part(lambda: reader.listed(WORKLOADS, namespace, MOST))
    if not named and not stored.value and _is_missing(reader, namespace):
        return None
    leads = {each.name: each.cluster_queue for each in named}
    tree = seen_tree(reader, may) if named else None
    held = partial(_held, reader.reader, namespace, stored.value or [])  # a list for each kind of job
    queue_names = [*_missing(named, stored.value or ()), *(each.name for each in named)]
    pending = [(each, _pending(reader, namespace, each)) for each in queue_names[:_QUEUES]]
    waited = {
        each["metadata"]["name"]: each.get("requests") or {} for _, found in pending for each in found.value or ()
    }
    workloads = Part([_workload(each, leads, waited) for each in stored.value or ()], stored.error)
    return {
        "namespace": namespace,
        "queues": queues,
        "local_queues": [(each, held_by([each], tree)) for each in named],
        "example": example(namespace),
        "tiles": _tiles(named, None if stored.error else workloads.value),
        "pending": pending,
        "unlisted": max(0, len(queue_names) - _QUEUES),
        "held": part(lambda: reader.kept(("held", namespace), held)).value,
        "pods": part(lambda: list(reader.ask(f"/v1/namespaces/{path_part(namespace)}/pendingpods", _LIMIT)["items"])),
        "workloads": workloads,
        "most": MOST,
    }


_CLASSES = 500
"""The maximum number of WorkloadPriorityClasses to read."""
_LIMIT = {"limit": str(MOST)}


def _is_missing(reader: CachedReader, namespace: str) -> bool:
    """Whether the namespace does not exist. False if the user may not read namespaces, so that nothing is revealed."""
    read = partial(reader.reader.stored, NAMESPACES, None, namespace)
    return part(lambda: reader.kept(("namespace", namespace), read)).absent


def _tiles(queues: Sequence[LocalQueueRow], workloads: Sequence[Mapping[str, Any]] | None) -> list[Tile]:
    """The number of Workloads by state; if not all Workloads are listed, the counts in the LocalQueues' status."""
    if not queues and not workloads:
        return []
    if workloads is None or len(workloads) >= MOST:
        pending, admitted = sum(each.pending for each in queues), sum(each.admitted for each in queues)
        return [pending_tile(pending, "#waiting-title"), Tile(admitted, "admitted")]
    counts = Counter(each["state"] for each in workloads)
    others = (Tile(counts[each], each, "#workloads-title") for each in ("admitted", "finished"))
    failures = [Tile(counts["failed"], "failed", "#workloads-title", "bad")] if counts["failed"] else []
    return [pending_tile(counts["pending"], "#waiting-title"), *failures, *others]


def _missing(named: Iterable[LocalQueueRow], workloads: Iterable[Manifest]) -> list[str]:
    """The queue names of pending Workloads for which no LocalQueue was read. Most of them are typing errors.

    If not all LocalQueues could be read, such a queue may exist. Then it only costs a needless request.
    """
    known = {each.name for each in named}
    pending = {_queue_of(each) for each in workloads if _state_of(each) == "pending"}
    return sorted(pending - known - {""})


def _held(reader: UserReader, namespace: str, workloads: list[Manifest]) -> list[JobWithoutWorkload]:
    """The jobs in the namespace that have no Workload."""
    try:
        classes = {str(each["metadata"]["name"]) for each in reader.listed(CLASSES[0], None, _CLASSES)}
    except Forbidden:
        if len(workloads) >= MOST:
            return []  # a Workload beyond the limit may belong to the job
        classes = None
    return jobs_without_workload(
        lambda kind, labels: reader.listed(kind, namespace, MOST, labels=labels), classes, owners_of(workloads)
    )


def _pending(reader: CachedReader, namespace: str, queue: str) -> Part[list[Manifest]]:
    path = f"/v1/namespaces/{path_part(namespace)}/localqueues/{path_part(queue)}/pendingworkloads"
    return part(lambda: list(reader.ask(path, _LIMIT)["items"]))


def _queue_of(workload: Manifest) -> str:
    return str((workload.get("spec") or {}).get("queueName") or "")


def _state_of(workload: Manifest) -> str:
    return workload_state(workload.get("spec") or {}, (workload.get("status") or {}).get("conditions") or ())


def _workload(manifest: Manifest, leads: Mapping[str, str], waited: Mapping[str, Requests]) -> dict[str, Any]:
    """The row of a Workload.

    `leads`: the name of a LocalQueue to its ClusterQueue. `waited`: the name of a pending Workload to its requests.
    """
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    name, queue = str(manifest["metadata"]["name"]), _queue_of(manifest)
    return {
        "name": name,
        "queue": queue,
        "priority": spec.get("priority", 0),
        "state": _state_of(manifest),
        "requests": scarce_text(held(status) or waited.get(name, {})),
        "pods": pods_of(spec),
        "cluster_queue": (status.get("admission") or {}).get("clusterQueue") or leads.get(queue, ""),
    }


def held(status: Manifest) -> dict[str, str]:
    """The quota that an admitted Workload uses, by resource; empty if it has no admission."""
    sums: dict[str, int] = {}
    for pod_set in (status.get("admission") or {}).get("podSetAssignments") or ():
        for resource, text in (pod_set.get("resourceUsage") or {}).items():
            sums[resource] = sums.get(resource, 0) + nano_of(text)
    return {resource: amount_text(resource, nano) for resource, nano in sums.items() if nano}


def pods_of(spec: Manifest) -> int:
    return sum(each.get("count", 1) for each in spec.get("podSets") or ())


def workload_state(spec: Manifest, conditions: Any) -> str:
    if failed(conditions):
        return "failed"
    held = {str(each.get("type")) for each in conditions if each.get("status") == "True"}
    for kind, state in (("Finished", "finished"), ("Admitted", "admitted"), ("QuotaReserved", "quota reserved")):
        if kind in held:
            return state
    return "deactivated" if spec.get("active") is False else "pending"
