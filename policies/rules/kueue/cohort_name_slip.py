from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, KueueNode
from policies.judging.rule import Proposal, rule
from policies.model.change import Occasion
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated, write_only
from policies.model.objects import Ref
from policies.model.suggestion import did_you_mean


@rule(
    "cohort-name-slip",
    source="Kueue: naming a cohort is enough to make it",
    kinds=(CLUSTER_QUEUE, COHORT),
    default=Action.WARN,
    only=Occasion.PLACEMENT,
)
def cohort_name_slip(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A node names a Cohort that has no object, and whose name is similar to that of another Cohort.

    Why it is reported: Kueue accepts any name as that of an implicit Cohort, without quota, limits or a parent. A typo
    takes the node out of its tree without a message, so it neither borrows nor lends.
    Example: `cohortName: reserch` if there is a Cohort `research`.
    Fix: correct the name. If a new Cohort is meant, create its object first, or in the same change set.
    """
    unknown = proposal.incomplete(COHORT, CLUSTER_QUEUE)
    for before, node in proposal.changed(KueueNode):
        parent = node.parent
        if parent is None or (before is not None and before.parent == parent):
            continue
        if proposal.after.node(parent) is not None:
            continue
        if unknown:
            yield unknown
            return
        shared = proposal.after.count_children(parent) > 1
        near = [
            name
            for name in proposal.near(parent, by_children=True)
            if not shared or _is_without_members(proposal, COHORT.named(name))
        ]
        if near:
            alone = (
                f"nothing else uses Cohort {parent.name}, so {node.ref.name} would be alone in it; there is a Cohort"
            )
            together = f"Cohort {parent.name} has no object, and so neither quota nor limits; nothing names Cohort"
            yield Finding(
                node.ref,
                node.parent_field,
                f"{together if shared else alone} {near[0]}",
                fix=f"{did_you_mean(near)} Otherwise create Cohort {parent.name}",
                subject=parent.name,
                causes=(Cause(COHORT.named(near[0]), "metadata.name", "is nearly the same name"),),
                patch=write_only(node.parent_field, parent.name, near),
                profiles=STRICT_ONLY,
                concerns=((parent, ""), (COHORT.named(near[0]), "")),
            )


def _is_without_members(proposal: Proposal, cohort: Ref) -> bool:
    """Whether the Cohort has an object that no node names. Then all of its members may have the same misspelt name."""
    return proposal.after.node(cohort) is not None and not proposal.after.has_children(cohort)
