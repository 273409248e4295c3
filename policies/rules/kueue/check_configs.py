"""The rules about the configs that AdmissionChecks name, and the worker clusters that MultiKueue's configs name."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue_checks import (
    MULTIKUEUE,
    PROVISIONING,
    AdmissionCheck,
    MultiKueueClusterObject,
    MultiKueueConfigObject,
)
from policies.dialects.kueue_kinds import (
    ADMISSION_CHECK,
    MULTIKUEUE_CLUSTER,
    MULTIKUEUE_CONFIG,
    PROVISIONING_REQUEST_CONFIG,
)
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated
from policies.model.objects import GroupKind, Ref
from policies.model.suggestion import write_or_create

_FIELD = "spec.parameters"


@rule(
    "multikueue-config-missing",
    source="Kueue: AdmissionCheck condition Active, reason BadConfig",
    kinds=(ADMISSION_CHECK,),
    default=Action.WARN,
)
def multikueue_config_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """An AdmissionCheck of MultiKueue names no existing MultiKueueConfig.

    Why it is reported: the check is inactive then, and ClusterQueues that use it admit nothing. It is a warning, since
    objects may be applied in any order.
    Example: `parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: wokers}`; the config is `workers`.
    Fix: create the MultiKueueConfig, or correct the name.
    """
    yield from _without_config(proposal, MULTIKUEUE, MULTIKUEUE_CONFIG)


@rule(
    "provisioning-config-missing",
    source="Kueue: AdmissionCheck condition Active, reason BadParametersRef",
    kinds=(ADMISSION_CHECK,),
    default=Action.WARN,
)
def provisioning_config_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """An AdmissionCheck for ProvisioningRequests names no existing ProvisioningRequestConfig.

    Why it is reported: the check is inactive then, and ClusterQueues that use it admit nothing. It is a warning, since
    objects may be applied in any order.
    Example: `parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: dws-confg}`; the config is
    `dws-config`.
    Fix: create the ProvisioningRequestConfig, or correct the name.
    """
    yield from _without_config(proposal, PROVISIONING, PROVISIONING_REQUEST_CONFIG)


def _without_config(proposal: Proposal, controller: str, kind: GroupKind) -> Iterator[Finding | NotEvaluated]:
    """A finding for each changed check of the controller that does not name an existing object of the kind."""
    for _, check in proposal.changed(AdmissionCheck):
        if check.controller != controller:
            continue
        if check.parameters is None or check.parameters.group_kind != kind:
            fix = f"write apiGroup {kind.group}, kind {kind.kind} and its name under spec.parameters"
            yield _inactive(check, _FIELD, f"names no {kind.kind}", fix)
        elif proposal.after.get(check.parameters) is None:
            if missing := proposal.incomplete(kind):
                yield missing
                return
            name = check.parameters.name
            fix = write_or_create(kind.kind, name, proposal.near(check.parameters))
            yield _inactive(check, f"{_FIELD}.name", f"names {kind.kind} {name}, which does not exist", fix)


def _inactive(check: AdmissionCheck, field: str, what: str, fix: str) -> Finding:
    message = f"AdmissionCheck {check.ref.name} {what}; queues that use it admit nothing"
    return Finding(check.ref, field, message, fix=fix, profiles=STRICT_ONLY)


@rule(
    "worker-cluster-missing",
    source="Kueue: AdmissionCheck condition Active, reasons NoUsableClusters and SomeActiveClusters",
    kinds=(MULTIKUEUE_CONFIG,),
    default=Action.WARN,
)
def worker_cluster_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A MultiKueueConfig names a MultiKueueCluster that does not exist.

    Why it is reported: no work goes to this cluster. If all clusters are missing, the check is inactive. It is a
    warning, since objects may be applied in any order.
    Example: `clusters: [europe, amreica]` where the MultiKueueCluster is called `america`.
    Fix: create the MultiKueueCluster, or correct the name.
    """
    for _, config in proposal.changed(MultiKueueConfigObject):
        for index, name in enumerate(config.clusters):
            ref = MULTIKUEUE_CLUSTER.named(name)
            if not name or proposal.after.get(ref) is not None:
                continue
            if missing := proposal.incomplete(MULTIKUEUE_CLUSTER):
                yield missing
                return
            yield Finding(
                config.ref,
                fields.join("spec.clusters", index),
                f"MultiKueueCluster {name} does not exist; no work of {config.ref.name} goes there until it does",
                fix=write_or_create(MULTIKUEUE_CLUSTER.kind, name, proposal.near(ref)),
                subject=name,
                profiles=STRICT_ONLY,
            )


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
            cluster = proposal.after.get(MULTIKUEUE_CLUSTER.named(name))
            if cluster is None and name and (missing := proposal.incomplete(MULTIKUEUE_CLUSTER)):
                yield missing
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
