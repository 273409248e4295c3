from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.quotas import applications_above_queue
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding
from policies.rules.yunikorn._queue_config import queue_findings


@rule(
    "child-applications-exceed-queue",
    source="YuniKorn: validation of queues.yaml, maxapplications",
    kinds=(CONFIG_MAP,),
)
def child_applications_exceed_queue(proposal: Proposal) -> Iterator[Finding]:
    """A YuniKorn queue has a higher `maxapplications` than its parent, or none.

    Why it is refused: YuniKorn refuses the configuration. Each child of a queue with `maxapplications` needs one that
    is not larger. A child without one has no limit.
    Example: `root.eng` with `maxapplications: 4`, its child `ml` has none.
    Fix: give `ml` a `maxapplications` from 1 to 4.
    """
    yield from queue_findings(proposal, applications_above_queue)
