from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.quotas import max_above_parent
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding
from policies.rules.yunikorn._queue_config import queue_findings


@rule(
    "child-max-exceeds-parent-max",
    source="YuniKorn: validation of queues.yaml, max within the max of ancestors",
    kinds=(CONFIG_MAP,),
)
def child_max_exceeds_parent_max(proposal: Proposal) -> Iterator[Finding]:
    """A queue of YuniKorn has a higher max than one of its ancestors.

    Why it is refused: the ancestor limits the work first, so the higher max can never be reached. YuniKorn refuses the
    configuration. The smallest max of all ancestors counts, not only that of the parent. A resource that an ancestor
    does not name is unlimited there. The max of several children may add up to more than that of the queue. Child
    templates are checked as well, which YuniKorn does not do.
    Example: `root.eng` with `max: {memory: 10G}` and `root.eng.ml` with `max: {memory: 12G}`.
    Fix: lower the max of `root.eng.ml` to 10G, or raise that of `root.eng` first.
    """
    yield from queue_findings(proposal, max_above_parent)
