from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.quotas import guaranteed_above_max
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding
from policies.rules.yunikorn._queue_config import queue_findings


@rule(
    "queue-guaranteed-exceeds-max",
    source="YuniKorn: validation of queues.yaml, guaranteed within max",
    kinds=(CONFIG_MAP,),
)
def queue_guaranteed_exceeds_max(proposal: Proposal) -> Iterator[Finding]:
    """A queue of YuniKorn is guaranteed more of a resource than its own max.

    Why it is refused: the part above the max can never be used, and YuniKorn refuses the configuration. YuniKorn does
    not check child templates, whose amounts every dynamic queue below gets. A resource that only one of the two names
    is allowed.
    Example: `guaranteed: {vcore: 5}` and `max: {vcore: 4}`.
    Fix: lower the guarantee to 4, or raise the max to 5.
    """
    yield from queue_findings(proposal, guaranteed_above_max)
