from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.frameworks.ray import HEAD
from policies.dialects.kueue_jobs import QUEUE_NAME, RAY, QueuedJob
from policies.dialects.kueue_ray import Ray
from policies.dialects.kueue_workload import ELASTIC
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Finding

_MOST = 18  # the most pod sets of a Workload
_EXAMPLE = "name it after what its pods do, such as workers"

Fault = tuple[str, str, str]
"""A fault as (field, message, fix)."""


@rule(
    "ray-cluster-invalid",
    source="Kueue: webhooks of RayJob, RayCluster and RayService",
    kinds=RAY,
    alone=True,
    no_cel="concerns work, which goes on while the webhook is down",
)
def ray_cluster_invalid(proposal: Proposal) -> Iterator[Finding]:
    """A queued Ray cluster cannot be counted, or would keep its quota after its job has ended.

    Why it is refused: Kueue admits a cluster as a whole, with at most 18 pod sets, one of them the head. An autoscaled
    cluster becomes larger than it was admitted, unless the job is elastic. A cluster that outlives its job uses quota
    for nothing. A job cannot both describe a cluster and select another one. Names of pod sets are in lower case, and
    must differ.
    Example: a RayJob with a queue-name and without `shutdownAfterJobFinishes: true`; a worker group named `head`.
    Fix: follow the message, or remove the queue-name if no quota should apply.
    """
    elastic = proposal.configuration.kueue.enabled("ElasticJobsViaWorkloadSlices")
    for _, job in proposal.changed(QueuedJob):
        if job.ray is not None and job.labels.get(QUEUE_NAME):
            grows = elastic and job.annotations.get(ELASTIC) == "true"
            for field, message, fix in _faults(job.ray, grows):
                yield Finding(job.ref, field, message, fix=fix)
            for field, message, fix in _equal_names(job, job.ray):
                yield Finding(job.ref, field, message, fix=fix, profiles=STRICT_ONLY)


def _faults(ray: Ray, grows: bool) -> Iterator[Fault]:
    if ray.selects and ray.described:
        fix = "remove clusterSelector; or remove rayClusterSpec, to run outside all quota"
        yield "spec.clusterSelector", "a job that describes its own cluster cannot select another one", fix
    elif not ray.described and not ray.selects:
        message = "it neither describes a cluster nor selects one, so there is nothing to admit"
        yield "spec.rayClusterSpec", message, "describe the cluster"
    elif ray.described:
        yield from _of_cluster(ray, grows)


def _of_cluster(ray: Ray, grows: bool) -> Iterator[Fault]:
    if not ray.shuts_down:
        message = "the cluster would outlive its job and keep its quota"
        yield "spec.shutdownAfterJobFinishes", message, "write shutdownAfterJobFinishes: true"
    if ray.autoscaled and not grows:
        message = "an autoscaled cluster outgrows what was admitted"
        fix = f"write enableInTreeAutoscaling: false, or annotate {ELASTIC}: true where Kueue has elastic jobs"
        yield fields.join(ray.at, "enableInTreeAutoscaling"), message, fix
    groups = fields.join(ray.at, "workerGroupSpecs")
    sets = 1 + len(ray.groups)
    if sets > _MOST:
        message = (
            f"the head and {len(ray.groups)} worker groups are {sets} pod sets, but a Workload has at most {_MOST}"
        )
        yield groups, message, f"put the workers into {_MOST - 1} groups or fewer"
    for index, name in enumerate(ray.groups):
        if name == HEAD:
            message = f"{HEAD} is the name of the cluster's head; no worker group can have it"
            yield fields.join(groups, index, "groupName"), message, _EXAMPLE


def _equal_names(job: QueuedJob, ray: Ray) -> Iterator[Fault]:
    """Worker groups whose name in lower case is that of another pod set. Kueue cannot create such a Workload."""
    groups = fields.join(ray.at, "workerGroupSpecs")
    taken = {pods.name for pods in job.pod_sets if not pods.at.startswith(groups)} | {HEAD}
    for index, name in enumerate(ray.groups):
        if name.lower() in taken and name != HEAD:
            message = f"another pod set has the name {name.lower()}, too; in a Workload, names are in lower case"
            yield fields.join(groups, index, "groupName"), message, "give the group another name"
        elif name:
            taken.add(name.lower())
