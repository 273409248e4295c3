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

_NOT_SEEN = "the reconciler has not looked at it yet"
_MOST = 5
"""The maximum number of LocalQueues in a message."""


def explanation(login: ClusterLogin, wanted: NamedWork) -> dict[str, Any] | None:
    """Why this job or Pod is in no queue, as JSON for `quotree why`; None if none of a known kind has this name.

    Of several jobs with this name, one that has not finished is explained.
    For a Pod that waits for quota at a scheduling gate, the reason is the text that the reconciler has written into its
    annotation. Objects that the caller may not read are left out. Raises OutOfReach.
    """
    with login.connected() as cluster:
        pod = _pod(cluster, wanted) if wanted.kind in ("", core.POD.kind) else None
        if pod is not None and is_gated(pod):
            return _of_pod(wanted, "atGate", reason=texts(metadata(pod).get("annotations")).get(WAITS) or _NOT_SEEN)
        finished = None
        for kind, job in _jobs(cluster, wanted):
            head = {"kind": kind.shape.kind.kind, "namespace": wanted.namespace, "name": wanted.name}
            if kind.ending(job) is None:
                reason = _reason(cluster, wanted, kind, job)
                return {"kind": "Explanation", "state": "inNoQueue", "job": head, "reason": reason}
            finished = finished or {"kind": "Explanation", "state": "finished", "job": head}
        if finished is None and pod is not None:
            return _of_pod(wanted, "inNoQueue", reason=_unmanaged(wanted, pod))
        return finished


def _pod(cluster: ClusterClient, wanted: NamedWork) -> Manifest | None:
    try:
        return cluster.get(PODS.item(wanted.name, wanted.namespace))
    except (NotFound, Forbidden):
        return None


def _of_pod(wanted: NamedWork, state: str, **more: str) -> dict[str, Any]:
    head = {"kind": core.POD.kind, "namespace": wanted.namespace, "name": wanted.name}
    return {"kind": "Explanation", "state": state, "job": head, **more}


def _unmanaged(wanted: NamedWork, pod: Manifest) -> str:
    """Why the Pod has no Workload of its own."""
    if owner := _owner_text(wanted, pod):
        return owner
    queue = texts(mapping(metadata(pod).get("labels"))).get(QUEUE_NAME)
    if not queue:
        return f"it has no label {QUEUE_NAME}"
    needs = "kueue.managePods and the framework pod, from before it was created (docs/pods.md)"
    return f"it names LocalQueue {wanted.namespace}/{queue}, but it has no Workload: a Pod is queued only with {needs}"


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
    if owner := _owner_text(wanted, job):
        return owner
    there = _names(cluster, LOCAL_QUEUE, wanted.namespace)
    if queue:
        absent = _absent_queue(wanted, queue, there) or _absent_class(cluster, labels.get(PRIORITY_CLASS))
        return absent or _no_workload(wanted, queue)
    return f"it has no label {QUEUE_NAME}; {_label(wanted, kind, there, suspended=kind.suspended(job))}"


def _owner_text(wanted: NamedWork, owned: Manifest) -> str:
    """That its owner is queued in its place; empty if no job owns it."""
    owner = controller_of(metadata(owned))
    if owner is None or owner.kind not in SHIPPED:
        return ""
    ask = f"quotree why {owner.kind.kind.lower()}/{owner.name} -n {wanted.namespace}"
    return f"it belongs to {owner.kind.kind} {owner.name}, which is queued in its place; ask `{ask}`"


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
