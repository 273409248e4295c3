from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import QUEUE
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding
from policies.rules.volcano._children_sums import DESERVED, exceeded


@rule(
    "children-deserved-exceed-parent",
    source="Volcano hierarchical queue: webhook queues/validate, sum of deserved",
    kinds=(QUEUE,),
)
def children_deserved_exceed_parent(proposal: Proposal) -> Iterator[Finding]:
    """The children of a queue deserve more than the queue itself.

    Why it is refused: children reclaim up to their deserved amounts, so together they would reclaim more than their
    parent may. A resource that the parent's `deserved` does not name counts as 0 there.
    Example: `eng` deserves cpu 10; its children deserve cpu 6 and cpu 5.
    Fix: lower a child's `deserved`, or raise the parent's first.
    """
    yield from exceeded(proposal, DESERVED)
