"""The rules about limits on users and groups in queues.yaml."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.checking import throughout
from policies.dialects.yunikorn_config.limits import limits_exceeding_ancestor, limits_exceeding_queue, partition_limits
from policies.dialects.yunikorn_config.model import Config, Problem
from policies.judging.rule import Proposal, rule
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
    yield from findings(proposal, _by_themselves)


def _by_themselves(config: Config) -> Iterator[Problem]:
    for partition in config.partitions:
        yield from partition_limits(partition)


@rule(
    "user-limit-exceeds-queue",
    source="YuniKorn: validation of queues.yaml, limits against queues and limits of ancestors",
    kinds=(CONFIG_MAP,),
)
def user_limit_exceeds_queue(proposal: Proposal) -> Iterator[Finding]:
    """A limit allows users or groups more than their queue, or than a limit of an ancestor.

    Why it is refused: only the smaller number has an effect, and YuniKorn refuses the configuration. A limit must stay
    within the max and the maxapplications of its queue. It is also compared with the limits of ancestors for the same
    name, or for `*` if the name has none. If such a limit has maxapplications, this one must have it, too.
    Example: `root.eng` allows `sue` 10G of memory, `root.eng.ml` allows her 11G.
    Fix: lower the limit in `root.eng.ml` to 10G, or raise the one in `root.eng`.
    """
    yield from findings(proposal, _against_queues)


def _against_queues(config: Config) -> Iterator[Problem]:
    for partition in config.partitions:
        if partition.root is None:
            continue
        yield from throughout(partition.root, limits_exceeding_queue)
        yield from limits_exceeding_ancestor(partition.root)
