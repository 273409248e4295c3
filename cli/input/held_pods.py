"""Finds what keeps the Pods of an admitted job from running: a refusal, a missing node, a missing image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from cli.input.login import ClusterLogin
from cluster.errors import Forbidden, NotFound
from cluster.resource import EVENTS, PODS, Manifest, Resource
from policies.dialects.core import POD
from policies.dialects.kueue_jobs import STARTED_FOR
from policies.dialects.reading import condition, listing, mapping, metadata, owner_references, text, texts
from reconciler.jobs.kinds import SHIPPED

if TYPE_CHECKING:  # it takes long to load
    from cluster.client import ClusterClient

_KINDS = {kind.kind: each for kind, each in SHIPPED.items()}
_STARTING = ("ContainerCreating", "PodInitializing")
"""The reasons of containers that wait although nothing is wrong."""
_MOST_LEVELS = 3
"""The most owners between a job and its Pods. A TrainJob has a JobSet, which has Jobs."""


class Named(NamedTuple):
    """An object in the namespace of the job."""

    kind: str
    name: str


class ReportedCause(NamedTuple):
    """Why an object does not run. `since`: the time of the Event that says so; empty for a status."""

    reason: str
    message: str
    since: str = ""


def held_pods(login: ClusterLogin, job: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each cause with the objects that have it, as JSON for `quotree why`. What the caller may not read is left out.

    `job`: the job and its Workload, as in the JSON of `quotree why`. Raises OutOfReach.
    """
    found: dict[tuple[str, str, str], list[str]] = {}
    with login.connected() as cluster:
        for named, cause in _causes(cluster, job):
            found.setdefault((named.kind, cause.reason, cause.message), []).append(named.name)
    return [
        {"kind": kind, "names": names, "reason": reason, "message": message}
        for (kind, reason, message), names in found.items()
    ]


def _causes(cluster: ClusterClient, job: Mapping[str, str]) -> Iterator[tuple[Named, ReportedCause]]:
    head = Named(job["kind"], job["name"])
    if head.kind in _KINDS and _KINDS[head.kind].suspended(_get(cluster, head, job["namespace"])):
        yield (
            head,
            ReportedCause("Suspended", "it is still suspended; check with `quotree doctor` that the reconciler runs"),
        )
    pods = [each for each in _list(cluster, PODS, job) if _is_of(each, head, job["workload"])]
    warnings = _warnings(_list(cluster, EVENTS, job, "type=Warning"))
    newest = max((text(metadata(pod).get("creationTimestamp")) or "" for pod in pods), default="")
    for named, warning in warnings.items():  # an older one is over: a Pod has been created since
        if named.kind != POD.kind and warning.since >= newest and _is_below(cluster, named, head, job["namespace"]):
            yield named, warning
    for pod in pods:
        named, status = Named(POD.kind, str(metadata(pod).get("name"))), mapping(pod.get("status"))
        cause = _in_status(status) or (warnings.get(named) if status.get("phase") == "Pending" else None)
        if cause is not None:
            yield named, cause


def _list(
    cluster: ClusterClient, resource: Resource, job: Mapping[str, str], selector: str | None = None
) -> list[Manifest]:
    try:
        return list(cluster.list(resource, namespace=job["namespace"], field_selector=selector))
    except (Forbidden, NotFound):
        return []


def _is_of(pod: Manifest, head: Named, workload: str) -> bool:
    meta = metadata(pod)
    if meta.get("deletionTimestamp"):
        return False
    of_workload = texts(meta.get("annotations")).get(STARTED_FOR) == workload
    return of_workload or Named(POD.kind, str(meta.get("name"))) == head or head in _owners(pod)


def _owners(manifest: Manifest) -> list[Named]:
    return [Named(str(each.get("kind")), str(each.get("name"))) for each in owner_references(manifest)]


def _is_below(cluster: ClusterClient, named: Named, head: Named, namespace: str) -> bool:
    """Whether the object is the job, or is owned by it, directly or not."""
    here = [named]
    for _ in range(_MOST_LEVELS):
        if head in here:
            return True
        here = [*chain.from_iterable(_owners(_get(cluster, each, namespace)) for each in here)]
    return False


def _get(cluster: ClusterClient, named: Named, namespace: str) -> Manifest:
    try:
        return cluster.get(_KINDS[named.kind].resource.item(named.name, namespace))
    except (KeyError, NotFound, Forbidden):
        return {}


def _warnings(events: list[Manifest]) -> dict[Named, ReportedCause]:
    """The last warning about each object."""
    found: dict[Named, ReportedCause] = {}
    for event in events:
        about = mapping(event.get("involvedObject"))
        named = Named(str(about.get("kind")), str(about.get("name")))
        since = text(event.get("lastTimestamp")) or text(event.get("eventTime")) or ""
        said = ReportedCause(text(event.get("reason")) or "", text(event.get("message")) or "", since)
        if said.since >= found.get(named, said).since:
            found[named] = said
    return found


def _in_status(status: Mapping[str, Any]) -> ReportedCause | None:
    """Why a Pod does not run, as far as its status says so: it has no node, or its containers cannot start."""
    scheduled = condition(status, "PodScheduled")
    if scheduled.get("status") == "False":
        return ReportedCause(str(scheduled.get("reason")), text(scheduled.get("message")) or "")
    for each in chain(*(listing(status.get(key)) for key in ("initContainerStatuses", "containerStatuses"))):
        waits = mapping(mapping(mapping(each).get("state")).get("waiting"))
        if waits and waits.get("reason") not in _STARTING:
            return ReportedCause(str(waits.get("reason")), text(waits.get("message")) or "")
    return None
