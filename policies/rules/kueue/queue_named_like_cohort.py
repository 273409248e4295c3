from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, KueueNode
from policies.judging.rule import Proposal, rule
from policies.model.change import Occasion
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated


@rule(
    "queue-named-like-cohort",
    source="A policy of Quotree; Kueue keeps the two kinds apart by kind alone",
    kinds=(CLUSTER_QUEUE, COHORT),
    default=Action.WARN,
    only=Occasion.PLACEMENT,
)
def queue_named_like_cohort(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A ClusterQueue and a Cohort have the same name.

    Why it is reported: Kueue writes names without kinds into preemption messages and metrics, so it is unclear which of
    the two is meant. A reader may also take `cohortName: ml` for a reference to ClusterQueue `ml`.
    Example: Cohort `ml`, and a ClusterQueue `ml` in it.
    Fix: give the new object another name.
    """
    for before, node in proposal.changed(KueueNode):
        other = (COHORT if node.ref.group_kind == CLUSTER_QUEUE else CLUSTER_QUEUE).named(node.ref.name)
        if before is not None or node.ref.is_generated:
            continue
        if proposal.after.node(other) is None:
            if missing := proposal.incomplete(other.group_kind):
                yield missing
        else:
            yield Finding(
                node.ref,
                "metadata.name",
                f"{other} has the same name; Kueue's messages and metrics do not distinguish the two",
                fix=f"give the new {node.ref.kind} another name",
                causes=(Cause(other, "metadata.name", f"is called {other.name} too"),),
                profiles=STRICT_ONLY,
            )
