from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.implausible import implausible
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Action, Finding
from policies.rules.yunikorn._queue_config import findings


@rule(
    "queue-amount-implausible",
    source="Quotree; YuniKorn: amounts of queues.yaml",
    kinds=(CONFIG_MAP,),
    default=Action.WARN,
)
def queue_amount_implausible(proposal: Proposal) -> Iterator[Finding]:
    """An amount in YuniKorn's queue configuration is most likely a mistake.

    Why it is reported: memory without a unit is counted in bytes, so no pod that requests memory fits into `memory:
    64`.
    `vcore: 9Gi` is nine thousand million cores, which limits nothing. `memory: 1` is not reported: it closes a queue.
    Example: `max: {memory: 64}`.
    Fix: write the unit that was meant: `64Gi`.
    """
    yield from findings(proposal, implausible)
