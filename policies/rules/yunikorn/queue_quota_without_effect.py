from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.settings import quota_without_effect
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding
from policies.rules.yunikorn._queue_config import findings


@rule("queue-quota-without-effect", source="YuniKorn: queue quota at run time; not checked there", kinds=(CONFIG_MAP,))
def queue_quota_without_effect(proposal: Proposal) -> Iterator[Finding]:
    """A queue of YuniKorn has a quota that limits nothing.

    Why it is refused: the limit looks effective but is not. YuniKorn drops a max with only zeros, so a queue that
    should be closed has no limit. It counts CPU as `vcore`, so a limit of `cpu` limits nothing.
    Example: `max: {memory: 0}`, or `max: {cpu: 4}`.
    Fix: close the queue with an ACL or with maxapplications. Write `max: {vcore: 4}`.
    """
    yield from findings(proposal, quota_without_effect)
