"""Explains why a job has no Workload and what to do next, and why a Pod waits at a scheduling gate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cli.input.login import ClusterLogin
from cli.input.named import NamedWork
from cli.output import first_of
from cluster.errors import Forbidden, NotFound
from cluster.jobs_without_workload import absent_class
from cluster.resource import PODS, Manifest
from cluster.served import FOLLOWED
from policies.dialects import core
from policies.dialects.kueue import LOCAL_QUEUE
from policies.dialects.kueue_jobs import PRIORITY_CLASS, QUEUE_NAME
from policies.dialects.kueue_kinds import WORKLOAD_PRIORITY_CLASS
from policies.dialects.kueue_owners import controller_of
from policies.dialects.quota_gates import WAITS, is_gated
from policies.dialects.reading import mapping, metadata, texts
from policies.model.objects import GroupKind
from policies.model.suggestion import close
from reconciler.jobs.described import JobKind
from reconciler.jobs.kinds import SHIPPED

if TYPE_CHECKING:  # it takes long to load
    from cluster.client import ClusterClient

_MOST = 5
"""The maximum number of LocalQueues in a message."""


def explanation(login: ClusterLogin, wanted: NamedWork) -> dict[str, Any] | None:
    """Why this job is in no queue, as JSON for `quotree why`; None if there is no job of a known kind with this name.

    Of several jobs with this name, one that has not finished is explained.
    For a Pod that waits for quota at a scheduling gate, the reason is the text that the reconciler has written into its
    annotation. Objects that the caller may not read are left out. Raises OutOfReach.
    """
    with login.connected() as cluster:
        if wanted.kind in ("", core.POD.kind) and (waits := _at_gate(cluster, wanted)):
            head = {"kind": core.POD.kind, "namespace": wanted.namespace, "name": wanted.name}
            return {"kind": "Explanation", "state": "atGate", "job": head, "reason": waits}
        finished = None
        for kind, job in _jobs(cluster, wanted):
            head = {"kind": kind.shape.kind.kind, "namespace": wanted.namespace, "name": wanted.name}
            if kind.ending(job) is None:
                reason = _reason(cluster, wanted, kind, job)
                return {"kind": "Explanation", "state": "inNoQueue", "job": head, "reason": reason}
            finished = finished or {"kind": "Explanation", "state": "finished", "job": head}
        return finished


def _at_gate(cluster: ClusterClient, wanted: NamedWork) -> str:
    """Why the Pod waits at its gate; empty if it does not wait or does not exist."""
    try:
        pod = cluster.get(PODS.item(wanted.name, wanted.namespace))
    except (NotFound, Forbidden):
        return ""
    if not is_gated(pod):
        return ""
    return texts(metadata(pod).get("annotations")).get(WAITS) or "the reconciler has not looked at it yet"


def _jobs(cluster: ClusterClient, wanted: NamedWork) -> Iterator[tuple[JobKind, Manifest]]:
    """The jobs with this name; those of Kubernetes' own kinds come first."""
    kinds = [each for each in SHIPPED.values() if wanted.kind in ("", each.shape.kind.kind)]
    for kind in sorted(kinds, key=lambda each: each.shape.kind.group != "batch"):
        try:
            yield kind, cluster.get(kind.resource.item(wanted.name, wanted.namespace))
        except (NotFound, Forbidden):
            continue


def _reason(cluster: ClusterClient, wanted: NamedWork, kind: JobKind, job: Manifest) -> str:
    labels = texts(mapping(metadata(job).get("labels")))
    queue = labels.get(QUEUE_NAME)
    owner = controller_of(metadata(job))
    if owner is not None and owner.kind in SHIPPED:
        ask = f"quotree why {owner.kind.kind.lower()}/{owner.name} -n {wanted.namespace}"
        return f"it belongs to {owner.kind.kind} {owner.name}, which is queued in its place; ask `{ask}`"
    there = _names(cluster, LOCAL_QUEUE, wanted.namespace)
    if queue:
        absent = _absent_queue(wanted, queue, there) or _absent_class(cluster, labels.get(PRIORITY_CLASS))
        return absent or _no_workload(wanted, queue)
    return f"it has no label {QUEUE_NAME}; {_label(wanted, kind, there, suspended=kind.suspended(job))}"


def _names(cluster: ClusterClient, kind: GroupKind, namespace: str | None = None) -> list[str] | None:
    """The names of the objects of a kind; None if the caller may not list them."""
    try:
        found = cluster.list(cluster.newest(FOLLOWED[kind]), namespace=namespace)
        return sorted(str(metadata(each)["name"]) for each in found)
    except Forbidden:
        return None


def _absent_queue(wanted: NamedWork, queue: str, there: list[str] | None) -> str:
    """The message about a queue that does not exist; empty if it exists or if that is unknown."""
    if there is None or queue in there:
        return ""
    near = close(queue, there)
    next_step = f"did you mean {near}?" if near else _queues_text(wanted.namespace, there)
    return f"it names LocalQueue {wanted.namespace}/{queue}, which does not exist; {next_step}"


def _absent_class(cluster: ClusterClient, name: str | None) -> str:
    """The message about a WorkloadPriorityClass that does not exist; empty if it exists or the job names none."""
    there = _names(cluster, WORKLOAD_PRIORITY_CLASS) if name else []
    return absent_class(name, there) if name and name not in (there or ()) else ""


def _no_workload(wanted: NamedWork, queue: str) -> str:
    cure = "check that the reconciler runs, and that it manages this kind of job and this namespace"
    return f"it names LocalQueue {wanted.namespace}/{queue}, but it has no Workload; {cure}"


def _label(wanted: NamedWork, kind: JobKind, there: list[str] | None, *, suspended: bool) -> str:
    """What to do with a job that names no queue. A job that runs already cannot be queued."""
    if there == []:
        return f"{_queues_text(wanted.namespace, there)}, so ask an administrator for one"
    queue = there[0] if there is not None and len(there) == 1 else "QUEUE"
    more = f", where {_queues_text(wanted.namespace, there)}" if there is not None and queue == "QUEUE" else ""
    if not suspended:
        return f"it runs without quota; delete it, and create it again with the label {QUEUE_NAME}: {queue}{more}"
    what = f"{kind.resource.plural}.{kind.resource.group}" if kind.resource.group != "batch" else kind.resource.plural
    return f"add it: `kubectl -n {wanted.namespace} label {what} {wanted.name} {QUEUE_NAME}={queue}`{more}"


def _queues_text(namespace: str, there: list[str]) -> str:
    return f"namespace {namespace} has " + (f"LocalQueues {first_of(there, _MOST)}" if there else "no LocalQueue")
