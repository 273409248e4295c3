from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import IN_USE, WORKLOAD
from policies.dialects.kueue_workload import WrittenWorkload
from policies.dialects.written_back import differ
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Finding, Profile


@rule(
    "reserved-workload-changed",
    source="Kueue: webhook of Workload",
    kinds=(WORKLOAD,),
    alone=True,
    no_cel="is about status, which Kueue writes",
)
def reserved_workload_changed(proposal: Proposal) -> Iterator[Finding]:
    """The pod sets, the admission or the finalizer of a Workload change while quota is reserved for it.

    Why it is refused: the quota was reserved for exactly these pods. Additional pods would run without quota, and a
    changed admission would move usage to another queue or flavor without a check. Without its finalizer, a deleted
    Workload would free its quota while its pods still run. Only users who may write the status of Workloads, such as
    the controller, may remove the finalizer.
    Example: `count: 10` in a pod set that was admitted with 1.
    Fix: let the Workload give up its quota first (set `active: false`, or clear status.admission), or create a new one.
    """
    for before, workload in proposal.changed(WrittenWorkload):
        if before is None:
            continue
        if before.reserved:
            yield from _pod_sets(proposal, before, workload)
            if before.kept and not workload.kept and proposal.circumstances.user.tenant:
                message = f"the finalizer {IN_USE} cannot be removed while quota is reserved"
                fix = "leave the finalizer; to stop the job, set spec.active to false"
                yield Finding(workload.ref, "metadata.finalizers", message, fix=fix, profiles=STRICT_ONLY)
        if before.admission is not None and workload.admission is not None:
            topology = proposal.configuration.kueue.enabled("TopologyAwareScheduling")
            parts = [each.fixed if topology else each.content for each in (before.admission, workload.admission)]
            if differ(*parts):
                message = "the admission cannot change; it can only be cleared as a whole"
                yield Finding(workload.ref, "status.admission", message, fix="clear status.admission, then admit again")


def _pod_sets(proposal: Proposal, before: WrittenWorkload, workload: WrittenWorkload) -> Iterator[Finding]:
    if len(before.pod_sets) != len(workload.pod_sets):
        yield Finding(
            workload.ref,
            "spec.podSets",
            f"{len(workload.pod_sets)} pod sets, but quota is reserved for {len(before.pod_sets)}",
            fix="keep the pod sets, or let the Workload give up its quota first",
        )
        return
    # Kueue accepts that any Workload gets smaller
    shrinks = workload.elastic or proposal.configuration.profile is Profile.COMPAT
    slicing = shrinks and proposal.configuration.kueue.enabled("ElasticJobsViaWorkloadSlices")
    for old, new in zip(before.pod_sets, workload.pod_sets, strict=True):
        count = old.count if slicing and new.count < old.count else new.count
        if differ({**new.content, "count": count}, old.content):
            counts = (
                f"{new.count} pods instead of {old.count}" if new.count != old.count else "its template or size differs"
            )
            yield Finding(
                workload.ref,
                new.field,
                f"pod set {new.name} changes while quota is reserved for it: {counts}",
                fix="keep the pod set, or let the Workload give up its quota first",
                subject=new.name,
            )
