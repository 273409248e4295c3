"""The rules about the AdmissionChecks of MultiKueue that a ClusterQueue uses."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, AdmissionCheckUse, ClusterQueue
from policies.dialects.kueue_checks import MULTIKUEUE, PROVISIONING, AdmissionCheck
from policies.dialects.kueue_kinds import ADMISSION_CHECK
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Cause, Finding, NotEvaluated
from policies.model.objects import Ref


def concerned(proposal: Proposal) -> Iterator[ClusterQueue]:
    """The changed ClusterQueues, and those that name an AdmissionCheck that is new or has another controller.

    Each is returned once. An unchanged check counts as well, since `before_the_change` judges with such checks.
    """
    refs: dict[Ref, None] = {queue.ref: None for _, queue in proposal.changed(ClusterQueue)}
    for before, check in proposal.changed(AdmissionCheck):
        if before is None or before.controller != check.controller or check == before:
            refs |= dict.fromkeys(sorted(proposal.after.users(check.ref)))
    for ref in refs:
        queue = proposal.after.node(ref)
        if isinstance(queue, ClusterQueue):
            yield queue


def run_by(proposal: Proposal, queue: ClusterQueue, controller: str) -> list[AdmissionCheckUse]:
    """The checks of the queue that this controller runs. Unknown checks are left out."""
    return [use for use in queue.checks if _controller(proposal, use) == controller]


def incomplete(proposal: Proposal, queue: ClusterQueue) -> NotEvaluated | None:
    """NotEvaluated if the controller of one of the checks is not known, else None."""
    known = all(_controller(proposal, use) is not None for use in queue.checks)
    return None if known else proposal.incomplete(ADMISSION_CHECK)


def _controller(proposal: Proposal, use: AdmissionCheckUse) -> str | None:
    check = proposal.after.get(ADMISSION_CHECK.named(use.name))
    return check.controller if isinstance(check, AdmissionCheck) else None


def _run(use: AdmissionCheckUse, controller: str) -> Cause:
    return Cause(ADMISSION_CHECK.named(use.name), "spec.controllerName", f"is run by {controller}")


@rule(
    "multikueue-check-per-flavor",
    source="Kueue: ClusterQueue condition Active, reason MultiKueueAdmissionCheckAppliedPerFlavor",
    kinds=(CLUSTER_QUEUE, ADMISSION_CHECK),
)
def multikueue_check_per_flavor(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """An AdmissionCheck of MultiKueue is limited to some flavors of a ClusterQueue.

    Why it is refused: a workload goes to another cluster as a whole, not by flavor. Kueue makes the queue inactive and
    admits nothing from it, even where onFlavors lists every flavor. Its webhook cannot see which controller runs the
    check.
    Example: `onFlavors: [spot]` for a check with controllerName `kueue.x-k8s.io/multikueue`.
    Fix: remove onFlavors, or move these flavors to a ClusterQueue of their own.
    """
    for queue in concerned(proposal):
        if missing := incomplete(proposal, queue):
            yield missing
        for use in run_by(proposal, queue, MULTIKUEUE):
            if use.on_flavors:
                flavors = f"flavor{'s' if len(use.on_flavors) > 1 else ''} {', '.join(use.on_flavors)}"
                yield Finding(
                    queue.ref,
                    use.field,
                    f"check {use.name} of MultiKueue cannot be limited to {flavors}: ClusterQueue {queue.name} admits "
                    "nothing",
                    fix="remove onFlavors, or move these flavors to a ClusterQueue of their own",
                    subject=use.name,
                    causes=(_run(use, MULTIKUEUE),),
                    profiles=STRICT_ONLY,
                )


@rule(
    "multikueue-checks-several",
    source="Kueue: ClusterQueue condition Active, reason MultipleMultiKueueAdmissionChecks",
    kinds=(CLUSTER_QUEUE, ADMISSION_CHECK),
)
def multikueue_checks_several(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ClusterQueue uses more than one AdmissionCheck of MultiKueue.

    Why it is refused: each of these checks sends the workload to a worker cluster of its own choice, so Kueue makes the
    whole queue inactive and admits nothing from it. Its webhook sees one object at a time and accepts each of them.
    Example: checks `europe` and `america`, both with controllerName `kueue.x-k8s.io/multikueue`.
    Fix: keep one check, and name the clusters of both in its MultiKueueConfig; or create a ClusterQueue for each.
    """
    for queue in concerned(proposal):
        if missing := incomplete(proposal, queue):
            yield missing
        uses = run_by(proposal, queue, MULTIKUEUE)
        if len(uses) > 1:
            names = ", ".join(use.name for use in uses)
            yield Finding(
                queue.ref,
                uses[1].name_field,
                f"ClusterQueue {queue.name} has {len(uses)} checks of MultiKueue, but may have only 1: {names}; it "
                "admits nothing",
                fix=f"keep only {uses[0].name} and name the clusters of the others in its MultiKueueConfig, or "
                "create a ClusterQueue for each check",
                excess=len(uses) - 1,
                causes=tuple(_run(use, MULTIKUEUE) for use in uses),
                profiles=STRICT_ONLY,
            )


@rule(
    "multikueue-with-provisioning",
    source="Kueue: ClusterQueue condition Active, reason MultiKueueWithProvisioningRequest",
    kinds=(CLUSTER_QUEUE, ADMISSION_CHECK),
)
def multikueue_with_provisioning(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ClusterQueue sends its workloads to other clusters and provisions new nodes in this one.

    Why it is refused: the nodes would be created where the pods never run. Kueue makes the queue inactive and admits
    nothing from it. Its webhook sees one object at a time and accepts each of them.
    Example: one check has controllerName `kueue.x-k8s.io/multikueue`, another `kueue.x-k8s.io/provisioning-request`.
    Fix: remove one of the two. The ClusterQueue of a worker cluster requests nodes there.
    """
    for queue in concerned(proposal):
        if missing := incomplete(proposal, queue):
            yield missing
        away, here = run_by(proposal, queue, MULTIKUEUE), run_by(proposal, queue, PROVISIONING)
        if away and here:
            yield Finding(
                queue.ref,
                here[0].name_field,
                f"check {here[0].name} provisions nodes in this cluster while check {away[0].name} sends the pods to "
                f"another: ClusterQueue {queue.name} admits nothing",
                fix=f"remove {here[0].name} here and request nodes in the ClusterQueue of the worker cluster, or "
                f"remove {away[0].name}",
                excess=len(here),
                causes=(_run(away[0], MULTIKUEUE), _run(here[0], PROVISIONING)),
                profiles=STRICT_ONLY,
            )
