from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policies.amounts.requests import readable
from policies.dialects.job_shape import PodsAt
from policies.dialects.kueue_jobs import LEADER_WORKER_SET, QUEUE_NAME, STATEFUL_SET, QueuedJob
from policies.dialects.reading import listing, mapping
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding

_FIX = "scale to 0, change it, and scale up again"
_COMPARED = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "runtimeClassName",
    "priority",
    "priorityClassName",
    "topologySpreadConstraints",
    "resourceClaims",
)


@rule(
    "admitted-pods-reshaped",
    source="Kueue: webhooks of StatefulSet and LeaderWorkerSet",
    kinds=(STATEFUL_SET, LEADER_WORKER_SET),
)
def admitted_pods_reshaped(proposal: Proposal) -> Iterator[Finding]:
    """The pod template changes while its pods are admitted as one group.

    Why it is refused: quota and topology domains were assigned for the pods as they were. A rollout replaces pods one
    by one. Pods that request more, or that need other nodes, would then wait in a group that was admitted without them.
    Images, commands and environment variables may change, but not the group size of a LeaderWorkerSet.
    Example: `cpu: 1` becomes `cpu: 2` in the template of a StatefulSet that has a queue-name and replicas.
    Fix: scale to 0, change the template, and scale up again.
    """
    for before, job in proposal.changed(QueuedJob):
        grouped = job.ref.group_kind in (STATEFUL_SET, LEADER_WORKER_SET)
        if before is None or not grouped or not before.labels.get(QUEUE_NAME) or not before.replicas:
            continue
        if not job.replicas and not before.present:
            continue
        old, new = ({pods.at: pods for pods in each.pod_sets} for each in (before, job))
        if job.ref.group_kind == LEADER_WORKER_SET and proposal.configuration.kueue.enabled("LWSImmutableGroupSize"):
            yield from _resized(job, old, new)
        for at in sorted({*old, *new}):
            yield from _reshaped(job, at, old.get(at), new.get(at))


def _resized(job: QueuedJob, old: Mapping[str, PodsAt], new: Mapping[str, PodsAt]) -> Iterator[Finding]:
    """A finding if the number of pods of a group changes. The leader is one of them."""
    was, becomes = (sum(pods.count for pods in each.values()) for each in (old, new))
    if old and new and was != becomes:
        yield Finding(
            job.ref,
            "spec.leaderWorkerTemplate.size",
            f"groups of {becomes} pods, but groups of {was} were admitted",
            fix=f"keep {was}, or create a new LeaderWorkerSet",
        )


def _reshaped(job: QueuedJob, at: str, old: PodsAt | None, new: PodsAt | None) -> Iterator[Finding]:
    if old is None or new is None:
        if job.replicas:
            message = f"a template is {'added' if old is None else 'removed'} after groups were admitted"
            yield Finding(job.ref, at, message, fix=_FIX)
        return
    was, becomes = _shape(old), _shape(new)
    for key in sorted({*was, *becomes}):
        if was.get(key) != becomes.get(key):
            what = {
                "containers": "requests or ports of containers",
                "initContainers": "requests or ports of init containers",
            }
            message = f"{what.get(key, key)} would change in pods that were admitted as one group"
            yield Finding(job.ref, f"{at}.spec.{key}", message, fix=_FIX)


def _shape(pods: PodsAt) -> dict[str, Any]:
    """The fields of a pod's spec that decide where it can run, with quantities as numbers and defaults filled in.

    Source: Kueue v0.19, pkg/util/pod (the shape of a pod's spec).
    """
    spec = mapping(pods.template.get("spec"))
    kept: dict[str, Any] = {key: spec[key] for key in _COMPARED if spec.get(key)}
    for key in ("initContainers", "containers"):
        if entries := listing(spec.get(key)):
            kept[key] = [_container(mapping(entry)) for entry in entries]
    if overhead := _amounts(spec.get("overhead")):
        kept["overhead"] = overhead
    if requests := _requests(spec):
        kept["resources"] = requests
    return kept


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    ports = [{"protocol": "TCP", **mapping(port)} for port in listing(container.get("ports"))]
    return {"requests": _requests(container), "ports": ports}


def _requests(holder: Mapping[str, Any]) -> dict[str, int]:
    """The requests of a container or a pod. The API server fills in a missing request from the limit."""
    resources = mapping(holder.get("resources"))
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def _amounts(values: object) -> dict[str, int]:
    """Amounts by resource, in billionths of a unit."""
    return {resource: quantity.nano for resource, quantity in readable(values).items()}
