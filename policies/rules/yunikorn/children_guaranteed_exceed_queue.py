from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.quotas import guaranteed_above_queue
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding
from policies.rules.yunikorn._queue_config import queue_findings


@rule(
    "children-guaranteed-exceed-queue",
    source="YuniKorn: validation of queues.yaml, sums of guaranteed",
    kinds=(CONFIG_MAP,),
)
def children_guaranteed_exceed_queue(proposal: Proposal) -> Iterator[Finding]:
    """The children of a queue of YuniKorn are guaranteed more than the queue itself has.

    Why it is refused: guarantees that the queue does not have cannot all be kept. The children's sum must stay within
    the queue's guarantee, for the resources that it names, and within the smallest max on its path. A child without a
    guarantee counts with the sum of its own children. YuniKorn misses one case: if a queue in between guarantees one
    resource, YuniKorn ignores the guarantees of its children for other resources.
    Example: `root.eng` with `guaranteed: {memory: 100G}`; its children with 60G and 50G.
    Fix: lower a child's guarantee by 10G, or raise that of `root.eng` to 110G.
    """
    yield from queue_findings(proposal, guaranteed_above_queue)
