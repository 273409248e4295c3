from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.limits import partition_limits
from policies.dialects.yunikorn_config.model import Config, Problem
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding
from policies.rules.yunikorn._queue_config import findings


@rule("user-limit-invalid", source="YuniKorn: validation of queues.yaml, limits by themselves", kinds=(CONFIG_MAP,))
def user_limit_invalid(proposal: Proposal) -> Iterator[Finding]:
    """A limit on users or groups in a queue of YuniKorn is invalid.

    Why it is refused: YuniKorn refuses the configuration. A limit names users or groups and sets at least one limit.
    Each name appears once in the limits of a queue. `*` means all others and comes last. For groups, at least one name
    comes before it. maxresources has at least one amount above 0.
    Example: `users: ["*"]`, and in the next limit `users: [sue]`.
    Fix: put the limit of `sue` first.
    """
    yield from findings(proposal, _limits)


def _limits(config: Config) -> Iterator[Problem]:
    for partition in config.partitions:
        yield from partition_limits(partition)
