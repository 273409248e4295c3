from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue_checks import MultiKueueClusterObject, MultiKueueConfigObject
from policies.dialects.kueue_kinds import MULTIKUEUE_CLUSTER, MULTIKUEUE_CONFIG, multikueue_cluster_ref
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Cause, Finding, NotEvaluated
from policies.model.objects import Ref


@rule(
    "worker-cluster-twice",
    source="Kueue: MultiKueueConfig names each cluster once, and takes two names for two clusters",
    kinds=(MULTIKUEUE_CONFIG, MULTIKUEUE_CLUSTER),
)
def worker_cluster_twice(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """Two MultiKueueClusters of one MultiKueueConfig are the same cluster.

    Why it is refused: a workload has the same name on each cluster, so its two copies would be one object. When one of
    the clusters is chosen, the copy on the other one is deleted, which is also the chosen copy.
    Example: `europe` and `eu`, both with `kubeConfig: {location: europe, locationType: Secret}`, in one config.
    Fix: remove one of the two from the config, or correct the location of its kubeconfig.
    """
    for config in _concerned(proposal):
        first: dict[tuple[str, str], MultiKueueClusterObject] = {}
        for index, name in enumerate(config.clusters):
            cluster = proposal.after.get(multikueue_cluster_ref(name))
            if cluster is None and name and proposal.unknown(MULTIKUEUE_CLUSTER):
                yield NotEvaluated("not all objects of MultiKueueCluster are known")
            if not isinstance(cluster, MultiKueueClusterObject) or not cluster.location:
                continue
            other = first.setdefault(cluster.place, cluster)
            if other.ref == cluster.ref:
                continue
            where = f"{cluster.kind} {cluster.location}"
            yield Finding(
                config.ref,
                fields.join("spec.clusters", index),
                f"MultiKueueClusters {other.ref.name} and {name} of {config.ref.name} are one cluster: both are "
                f"reached by {where}; a workload's copies there would be one object",
                fix=f"remove {name} from {config.ref.name}, or give it a kubeconfig of its own",
                subject=name,
                causes=(
                    Cause(other.ref, other.field, f"is {other.kind} {other.location}"),
                    Cause(cluster.ref, cluster.field, f"is {where}"),
                ),
                profiles=STRICT_ONLY,
            )


def _concerned(proposal: Proposal) -> Iterator[MultiKueueConfigObject]:
    """The changed configs, and those that name a changed cluster; each once."""
    refs: dict[Ref, None] = {config.ref: None for _, config in proposal.changed(MultiKueueConfigObject)}
    for _, cluster in proposal.changed(MultiKueueClusterObject):
        refs |= dict.fromkeys(sorted(proposal.after.users(cluster.ref)))
    for ref in refs:
        config = proposal.after.get(ref)
        if isinstance(config, MultiKueueConfigObject):
            yield config
