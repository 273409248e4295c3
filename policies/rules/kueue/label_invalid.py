from __future__ import annotations

from collections.abc import Iterable, Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, RESOURCE_FLAVOR, WORKLOAD, ClusterQueue
from policies.dialects.kueue_flavor import ResourceFlavor
from policies.dialects.kueue_workload import WrittenWorkload
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding, apart
from policies.model.objects import Defect


@rule(
    "label-invalid",
    source="Kueue: webhooks of ClusterQueue, ResourceFlavor and Workload",
    kinds=(CLUSTER_QUEUE, RESOURCE_FLAVOR, WORKLOAD),
    alone=True,
    no_cel="each key and value has a grammar of its own; the selector of a ClusterQueue alone has four forms",
)
def label_invalid(proposal: Proposal) -> Iterator[Finding]:
    """Kubernetes does not accept a label, selector, taint or toleration.

    Why it is refused: no namespace or node can have such a label, so a selector with it matches nothing. If such a
    label is copied to pods, Kubernetes refuses each of the pods at its start.
    Example: `namespaceSelector` with `{key: team, operator: In}` and no values; `nodeLabels: {"@gpu": yes}`.
    Fix: write keys as an optional DNS domain and `/`, then up to 63 letters, digits and `-_.`. Write values in the same
    way, without a domain. The operators In and NotIn need values, Exists and DoesNotExist must have none.
    """
    for _, queue in proposal.changed(ClusterQueue):
        yield from _findings(queue, queue.selector_faults)
    for _, flavor in proposal.changed(ResourceFlavor):
        yield from _findings(flavor, flavor.label_faults)
    templates = proposal.configuration.kueue.enabled("WorkloadValidationForPodSetMetadata")
    for _, workload in proposal.changed(WrittenWorkload):
        for pod_set in workload.pod_sets if templates else ():
            yield from _findings(workload, pod_set.metadata_faults)
        for check in workload.checks:
            yield from _findings(workload, check.faults)


def _findings(obj: ClusterQueue | ResourceFlavor | WrittenWorkload, faults: Iterable[Defect]) -> Iterator[Finding]:
    for fault in faults:
        message, fix = apart(fault.message, "write a value that Kubernetes accepts for labels, or remove it")
        yield Finding(obj.ref, fault.field, message, fix=fix, subject=fault.message)
