"""The states of the jobs with one name, with reasons and transitions, as JSON. Call this in the loop's thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies.model.objects import parted
from reconciler.controllers.jobs.controller import JobsController
from reconciler.controllers.jobs.record import JobChange, JobRecord
from reconciler.controllers.jobs.store import JobStore
from reconciler.core.core import Core
from scheduling.objects.times import rfc3339

API_VERSION = "quotree.dev/v1alpha1"


def job_states(core: Core, name: str) -> dict[str, Any]:
    """The states of the jobs `namespace/name`: one item for each kind and uid that is known with this name.

    Raises KeyError if no such job is known.
    """
    found = [
        _state(each.store, record)
        for each in core.controllers
        if isinstance(each, JobsController)
        for record in each.store.named(name)
    ]
    if not found:
        raise KeyError(name)
    return {"apiVersion": API_VERSION, "kind": "JobStates", "items": found}


def _state(store: JobStore, record: JobRecord) -> dict[str, Any]:
    job, visible = record.id, record.visible
    owner = visible.owner if visible is not None else None
    return {
        "kind": job.kind.partition(".")[0],
        "namespace": job.namespace,
        "name": parted(job.name)[1],
        "uid": job.uid,
        "state": record.state.value,
        "why": record.why,
        **({"until": rfc3339(record.due)} if record.due is not None else {}),
        **({"waitsSince": rfc3339(record.since)} if record.since is not None else {}),
        **({"owner": f"{owner.kind.partition('.')[0]} {owner.name}"} if owner is not None else {}),
        "workloads": [*_workloads(store, record)],
        "changes": [_change(each) for each in record.changes],
    }


def _workloads(store: JobStore, record: JobRecord) -> Iterator[dict[str, Any]]:
    """The Workloads of the job: the one that represents it (`stands`), and all that have it as an owner."""
    represents = {record.visible.workload: None} if record.visible is not None else {}
    for name in {**represents, **record.workloads}:
        found = store.workload(name)
        state = {"state": found.state.value, "why": found.why} if found.state is not None else {}
        yield {"name": parted(name)[1], "stands": name in represents, **state, "pods": len(found.pods)}


def _change(change: JobChange) -> dict[str, str]:
    moment = {"at": rfc3339(change.at)} if change.at else {}
    return {**moment, "from": change.before.value, "event": change.event.value, "to": change.after.value}
