from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.frameworks.ray import HEAD, SUBMITTER
from policies.dialects.kueue_jobs import QUEUE_NAME, RAY, QueuedJob
from policies.dialects.kueue_ray import Ray
from policies.dialects.kueue_workload import ELASTIC
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import BOTH, STRICT_ONLY, Finding, Profile

_MOST = 18  # the most pod sets of a Workload
_EXAMPLE = "name it after what its pods do, such as workers"

Fault = tuple[str, str, str, frozenset[Profile]]
"""A fault as (field, message, fix, profiles in which it counts)."""


@rule(
    "ray-cluster-invalid",
    source="Kueue: webhooks of RayJob, RayCluster and RayService",
    kinds=RAY,
    alone=True,
    no_cel="concerns work, which goes on while the webhook is down",
)
def ray_cluster_invalid(proposal: Proposal) -> Iterator[Finding]:
    """A queued Ray cluster cannot be counted, or would keep its quota after its job has ended.

    Why it is refused: Kueue admits a cluster as a whole, with at most 18 pod sets of different names. The head is one
    of them, and so is the pod that submits a RayJob. Upper and lower case do not make names different. Kueue's webhook
    does not count that pod, and compares names only with `head`: it accepts the job, which then gets no Workload and
    never starts. An autoscaled cluster becomes larger than it was admitted, unless the job is elastic. A cluster that
    outlives its job uses quota for nothing. A job cannot both describe a cluster and select another one. With
    `manageJobsWithoutQueueName` this also holds for jobs without a queue.
    Example: a RayJob with a queue-name and without `shutdownAfterJobFinishes: true`; a worker group named `head`.
    Fix: follow the message, or remove the queue-name if no quota should apply.
    """
    settings = proposal.configuration.kueue
    elastic = settings.enabled("ElasticJobsViaWorkloadSlices")
    for _, job in proposal.changed(QueuedJob):
        waits = settings.without_queue and not job.owner
        if job.ray is not None and (job.labels.get(QUEUE_NAME) or waits):
            grows = elastic and job.annotations.get(ELASTIC) == "true"
            for field, message, fix, profiles in _faults(job.ray, grows):
                yield Finding(job.ref, field, message, fix=fix, profiles=profiles)


def _faults(ray: Ray, grows: bool) -> Iterator[Fault]:
    if ray.selects and ray.described:
        fix = "remove clusterSelector; or remove rayClusterSpec, to run outside all quota"
        yield "spec.clusterSelector", "a job that describes its own cluster cannot select another one", fix, BOTH
    elif not ray.described and not ray.selects:
        message = "it neither describes a cluster nor selects one, so there is nothing to admit"
        yield "spec.rayClusterSpec", message, "describe the cluster", BOTH
    elif ray.described:
        yield from _of_cluster(ray, grows)


def _of_cluster(ray: Ray, grows: bool) -> Iterator[Fault]:
    if not ray.shuts_down:
        message = "the cluster would outlive its job and keep its quota"
        yield "spec.shutdownAfterJobFinishes", message, "write shutdownAfterJobFinishes: true", BOTH
    if ray.autoscaled and not grows:
        message = "an autoscaled cluster outgrows what was admitted"
        fix = f"write enableInTreeAutoscaling: false, or annotate {ELASTIC}: true where Kueue has elastic jobs"
        yield fields.join(ray.at, "enableInTreeAutoscaling"), message, fix, BOTH
    groups = fields.join(ray.at, "workerGroupSpecs")
    others = (HEAD, SUBMITTER) if ray.submitted else (HEAD,)
    sets, most = len(others) + len(ray.groups), _MOST - len(others)
    if sets > _MOST:
        message = (
            f"the {', the '.join(others)} and {len(ray.groups)} worker groups are {sets} pod sets, but a Workload has "
            f"at most {_MOST}"
        )
        profiles = BOTH if 1 + len(ray.groups) > _MOST else STRICT_ONLY
        yield groups, message, f"put the workers into {most} groups or fewer", profiles
    taken = set(others)
    for index, name in enumerate(ray.groups):
        at = fields.join(groups, index, "groupName")
        if name == HEAD:
            yield at, f"{HEAD} is the name of the cluster's head; no worker group can have it", _EXAMPLE, BOTH
        elif name and name.lower() in taken:
            message = f"{name} is already the name of another pod set, so no Workload can be created"
            yield at, message, "give the group another name", STRICT_ONLY
        taken.add(name.lower())
