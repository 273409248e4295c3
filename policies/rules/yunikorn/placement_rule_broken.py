from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.yunikorn_config.configmap import CONFIG_MAP
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
    """A placement rule of YuniKorn is wrong in itself, or leads nowhere.

    Why it is refused: some faults YuniKorn refuses (a bad name or filter, a fixed path that does not exist, ends on a
    parent or goes on below a leaf). Others pass its check and make the loader refuse all rules: a rule of unknown
    name, a tag or fixed rule without a value, a whole path with a parent rule. Then the old rules stay, and after a
    restart there are none, so that every new application is rejected.
    Example: `name: fixed` with `value: root.batch` where `root.batch` has children and no flag: it never matches.
    Fix: name a leaf, such as `root.batch.nightly`.
    """
    yield from findings(proposal, _rules)


def _rules(config: Config) -> Iterator[Problem]:
    for partition in config.partitions:
        yield from placement_rules(partition)
