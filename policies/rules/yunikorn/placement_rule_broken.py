from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.model import Config, Problem
from policies.dialects.yunikorn_config.placement_checks import placement_rules
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding
from policies.rules.yunikorn._queue_config import findings


@rule(
    "placement-rule-broken",
    source="YuniKorn: validation of queues.yaml, placement rules; loading of the rules",
    kinds=(CONFIG_MAP,),
)
def placement_rule_broken(proposal: Proposal) -> Iterator[Finding]:
    """A placement rule of YuniKorn is invalid, or leads to no queue.

    Why it is refused: YuniKorn refuses some faults: an invalid name or filter, or a fixed path that does not exist,
    ends at a parent or continues below a leaf. Others pass its validation, but the loader then refuses all rules: an
    unknown rule name, a tag or fixed rule without a value, or a full path with a parent rule. The old rules then remain
    until a restart. After that there are none, and every new application is rejected.
    Example: `name: fixed` with `value: root.batch`, where `root.batch` has children and no flag `parent`: it never
    matches.
    Fix: name a leaf, such as `root.batch.nightly`.
    """
    yield from findings(proposal, _rules)


def _rules(config: Config) -> Iterator[Problem]:
    for partition in config.partitions:
        yield from placement_rules(partition)
