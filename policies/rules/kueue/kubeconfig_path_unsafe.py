from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kubeconfig import PREFIX, path_fault
from policies.dialects.kueue_checks import PATH, MultiKueueClusterObject
from policies.dialects.kueue_kinds import MULTIKUEUE_CLUSTER
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Finding


@rule(
    "kubeconfig-path-unsafe",
    source="Kueue: gate MultiKueueKubeConfigPathValidation; MultiKueueCluster condition Active, reason BadKubeConfig",
    kinds=(MULTIKUEUE_CLUSTER,),
    alone=True,
    no_cel="goes through the path part by part, and the manager does that again itself",
)
def kubeconfig_path_unsafe(proposal: Proposal) -> Iterator[Finding]:
    """A MultiKueueCluster takes its kubeconfig from a file outside /etc/multikueue/kubeconfigs.

    Why it is refused: users who may write a MultiKueueCluster could make the manager read any of its own files, such as
    its service account token. Kueue never connects to such a cluster.
    Example: `kubeConfig: {locationType: Path, location: /var/run/secrets/kubernetes.io/serviceaccount/token}`.
    Fix: mount the kubeconfig below /etc/multikueue/kubeconfigs and name it there, or keep it in a Secret.
    """
    for _, cluster in proposal.changed(MultiKueueClusterObject):
        fault = path_fault(cluster.location) if cluster.kind == PATH else None
        if fault is not None:
            yield Finding(
                cluster.ref,
                cluster.field,
                f"{fault}; {cluster.ref.name} is never connected",
                fix=f"mount the kubeconfig below {PREFIX} and name it there, or keep it in a Secret",
                profiles=STRICT_ONLY,
            )
