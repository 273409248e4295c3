from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest

from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE, RESOURCE_FLAVOR
from policies.dialects.kueue_kinds import ADMISSION_CHECK
from policies.judging.rule import Proposal, rule
from policies.model.change import Occasion
from policies.model.findings import STRICT_ONLY, Cause, Finding, NotEvaluated, kind_field
from policies.model.forest import Forest
from policies.model.objects import GroupKind, KubeObject, Ref
from policies.model.printing import listed

_NAMED = 10  # the most referring objects that a message lists; the others are counted
_LOSS = {
    CLUSTER_QUEUE: "nothing would be admitted from there",
    RESOURCE_FLAVOR: "would admit nothing without it",
    ADMISSION_CHECK: "would admit nothing without it",
}
_LOSS_OF_COHORTS = "the quota in it could not be used"


@rule(
    "delete-while-used",
    source="Kueue issues 1253 and 13676",
    kinds=(CLUSTER_QUEUE, RESOURCE_FLAVOR, ADMISSION_CHECK),
    only=Occasion.DELETION,
)
def delete_while_used(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ClusterQueue, ResourceFlavor or AdmissionCheck is deleted while others refer to it.

    Why it is refused: a ClusterQueue without its flavor or check admits nothing at all, and work in a LocalQueue
    without its ClusterQueue waits forever. Kueue accepts the deletion, and its finalizer keeps the object while a
    ClusterQueue uses it. A flavor that only Cohorts use is gone at once.
    Example: deleting ResourceFlavor `spot` while ClusterQueue `ml` has quota in it.
    Fix: change or delete the objects that refer to it first, or in the same change set.
    """
    for obj in proposal.deleted(KubeObject):
        kind = obj.ref.group_kind
        if kind not in _LOSS or proposal.after.get(obj.ref) is not None:
            continue
        count, first = _users(proposal.after, obj.ref)
        if not count:
            needed: GroupKind = LOCAL_QUEUE if kind == CLUSTER_QUEUE else CLUSTER_QUEUE
            if proposal.unknown(needed):
                yield NotEvaluated(
                    f"the references to {obj.ref.kind} objects are not known: not all {needed.kind} objects are known"
                )
            continue
        only_cohorts = first[0].group_kind == COHORT  # ClusterQueues come first
        loss = _LOSS_OF_COHORTS if only_cohorts else _LOSS[kind]
        yield Finding(
            obj.ref,
            "metadata.name",
            f"cannot be deleted: {listed(first, count)} {'refers' if count == 1 else 'refer'} to it, and {loss}",
            fix="change or delete the objects that refer to it first, or in the same change set",
            excess=count,
            causes=tuple(Cause(user, "spec", f"refers to {obj.ref}") for user in first),
            profiles=STRICT_ONLY,
            follows=(kind_field(obj.ref),),
        )


def _users(forest: Forest, ref: Ref) -> tuple[int, list[Ref]]:
    """The number of objects that refer to it, and the first ones by name."""
    if ref.group_kind == CLUSTER_QUEUE:
        return forest.attached_count(ref), nsmallest(_NAMED, (local.ref for local in forest.attached(ref)))
    return forest.count_users(ref), nsmallest(_NAMED, forest.users(ref))
