from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import QUEUE
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding
from policies.rules.volcano._children_sums import GUARANTEE, exceeded


@rule(
    "children-guarantee-exceeds-parent",
    source="Volcano hierarchical queue: webhook queues/validate, sum of guarantee",
    kinds=(QUEUE,),
)
def children_guarantee_exceeds_parent(proposal: Proposal) -> Iterator[Finding]:
    """The children of a queue are guaranteed more than the queue itself.

    Why it is refused: a guarantee that the parent does not have cannot be kept. A resource that the parent's guarantee
    does not name counts as 0 there, so no child may have a guarantee of it.
    Example: `eng` guarantees cpu 6; its children guarantee cpu 4 and cpu 3.
    Fix: lower a child's guarantee, or raise the parent's first.
    """
    yield from exceeded(proposal, GUARANTEE)
