"""The whole validation of YuniKorn, as its endpoint `validate-conf` does it, but with all faults at once."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.yunikorn_config import limits, placement_checks, quotas
from policies.dialects.yunikorn_config.checking import throughout
from policies.dialects.yunikorn_config.model import Config, Problem
from policies.dialects.yunikorn_config.structure import structure


def problems(config: Config) -> Iterator[Problem]:
    yield from structure(config)
    for partition in config.partitions:
        yield from placement_checks.placement_rules(partition)
        yield from limits.partition_limits(partition)
        root = partition.root
        if root is None:
            continue
        yield from quotas.guaranteed_above_max(root)
        yield from quotas.max_above_parent(root)
        yield from quotas.guaranteed_above_queue(root)
        yield from quotas.applications_above_queue(root)
        yield from throughout(root, limits.limits_exceeding_queue)
        yield from limits.limits_exceeding_ancestor(root)


def refusals(config: Config) -> list[Problem]:
    """The problems that make YuniKorn refuse the text. YuniKorn itself reports only the first one."""
    return [problem for problem in problems(config) if not problem.accepted]
