from __future__ import annotations

from collections.abc import Iterator

from policies.configuration.kueue.gates import KueueVersion
from policies.dialects.kueue import CLUSTER_QUEUE, ClusterQueue, ConcurrentAdmission
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding

_MOST_FLAVORS = {KueueVersion.V0_19: 16}
_MOST = 32
"""The most flavors since Kueue v0.20."""
_POLICY = "spec.concurrentAdmissionPolicy"
_CONSTRAINTS = f"{_POLICY}.migration.constraints"


@rule(
    "concurrent-admission-conflict",
    source="Kueue: webhook of ClusterQueue (feature gate ConcurrentAdmission)",
    kinds=(CLUSTER_QUEUE,),
    alone=True,
    no_cel="a gated feature, and the gate is in the configuration",
)
def concurrent_admission_conflict(proposal: Proposal) -> Iterator[Finding]:
    """The concurrent admission policy of a ClusterQueue contradicts the rest of its spec, or is changed.

    Why it is refused: a workload is tried on every flavor of one group at the same time. For each flavor Kueue creates
    a copy of the Workload, its variant. That needs exactly one group of at most 32 flavors (16 before Kueue v0.20), and
    no strict order of workloads. Existing variants follow the policy that they were created with. So the policy never
    changes, whether the feature gate is on or off.
    Example: a policy together with two resource groups; `lastAcceptableFlavorName: spto` where the flavor is called
    `spot`.
    Fix: use one resource group and BestEffortFIFO, and name a flavor of the queue as the last acceptable one.
    For another policy create a new ClusterQueue.
    """
    gate = proposal.configuration.kueue.enabled("ConcurrentAdmission")
    for before, queue in proposal.changed(ClusterQueue):
        if before is not None and before.concurrent != queue.concurrent:
            message = "a concurrent admission policy cannot be set, changed or removed once the ClusterQueue exists"
            yield Finding(queue.ref, _POLICY, message, fix="create a new ClusterQueue with the new policy")
        if queue.concurrent is not None and gate:
            yield from _shape(queue, _MOST_FLAVORS.get(proposal.configuration.kueue.version, _MOST))
            yield from _constraints(queue, queue.concurrent)


def _shape(queue: ClusterQueue, most: int) -> Iterator[Finding]:
    if len(queue.groups) != 1:
        yield Finding(
            queue.ref,
            "spec.resourceGroups",
            f"{len(queue.groups)} resource groups; a concurrent admission policy needs exactly 1",
            fix="put all resources into one group, or remove the concurrentAdmissionPolicy",
        )
    elif (flavors := len(queue.groups[0].flavors)) > most:
        yield Finding(
            queue.ref,
            "spec.resourceGroups[0].flavors",
            f"{flavors} flavors; a concurrent admission policy allows at most {most}",
            fix=f"keep {most} flavors, or remove the concurrentAdmissionPolicy",
            excess=flavors,
        )
    if queue.queueing_strategy == "StrictFIFO":
        yield Finding(
            queue.ref,
            "spec.queueingStrategy",
            "StrictFIFO keeps workloads in order, which a concurrent admission policy cannot do",
            fix="write BestEffortFIFO, or remove the concurrentAdmissionPolicy",
        )


def _constraints(queue: ClusterQueue, policy: ConcurrentAdmission) -> Iterator[Finding]:
    if policy.constrained and policy.mode not in ("", "TryPreferredFlavors"):
        yield Finding(
            queue.ref,
            _CONSTRAINTS,
            f"constraints need the mode TryPreferredFlavors, but the mode is {policy.mode}",
            fix="remove the constraints, or write TryPreferredFlavors",
        )
    flavors = [flavor.name for group in queue.groups for flavor in group.flavors]
    if policy.last_flavor is not None and policy.last_flavor not in flavors:
        yield Finding(
            queue.ref,
            f"{_CONSTRAINTS}.lastAcceptableFlavorName",
            f"flavor {policy.last_flavor} is not one of this queue's flavors: {', '.join(flavors) or 'none'}",
            fix="name a flavor of this ClusterQueue",
        )
