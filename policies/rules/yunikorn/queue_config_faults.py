"""The rules about a queues.yaml that YuniKorn refuses, cannot load, or ignores in parts."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.configmap import (
    QueueConfigMap,
    settings_that_fall_back,
    settings_that_need_a_restart,
    unreadable_settings,
)
from policies.dialects.yunikorn_config.model import Config, Problem
from policies.dialects.yunikorn_config.placement_checks import placement_rules
from policies.dialects.yunikorn_config.settings import ignored
from policies.dialects.yunikorn_config.structure import structure
from policies.dialects.yunikorn_config.validation import load_failures
from policies.judging.rule import Proposal, rule
from policies.model.findings import Action, Finding
from policies.rules.yunikorn._queue_config import about_setting, findings


@rule(
    "queue-config-invalid",
    source="YuniKorn: validation of queues.yaml, partitions, names, ACLs, quantities",
    kinds=(CONFIG_MAP,),
)
def queue_config_invalid(proposal: Proposal) -> Iterator[Finding]:
    """YuniKorn's queue configuration has invalid YAML, or an invalid name, ACL or amount.

    Why it is refused: YuniKorn refuses the whole configuration for one such fault, and reports only the first one. If
    its scheduler does not answer, the configuration is stored, but the old tree stays in use, with only a log entry.
    The text is strict YAML: an unknown key, a duplicate key or a value of the wrong type is a fault, and only the first
    document counts. Partitions need different names and `queues`. Root has no resources. Names have 1 to 64 of the
    characters a-z A-Z 0-9 - _ : # / @, and siblings differ in more than case. An ACL has at most two lists. An amount
    is a whole number with an optional suffix.
    Example: `max: {memory: 1.5Gi}`.
    Fix: `max: {memory: 1536Mi}`. Every finding names the line.
    """
    yield from findings(proposal, structure)


@rule(
    "queue-config-unloadable",
    source="YuniKorn: what its loader refuses after the validation has passed",
    kinds=(CONFIG_MAP,),
)
def queue_config_unloadable(proposal: Proposal) -> Iterator[Finding]:
    """YuniKorn's queue configuration passes validation and then fails to load.

    Why it is refused: the ConfigMap is stored, but the scheduler only logs the fault and keeps the old tree, so the two
    differ without a message. After a restart the scheduler does not start with this tree. The causes are a root in
    capitals, a queue with the name `@recovery@`, an extra space in an ACL, an invalid amount in a child template, or a
    `service.*` setting that is not a duration or a boolean.
    Example: `submitacl: "sue  dev"`, with two spaces.
    Fix: `submitacl: "sue dev"`.
    """
    yield from findings(proposal, load_failures)
    for _, config_map in proposal.changed(QueueConfigMap):
        for problem in unreadable_settings(config_map):
            yield about_setting(config_map, problem)


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


@rule(
    "queue-setting-ignored",
    source="YuniKorn: properties and ACLs; not checked there",
    kinds=(CONFIG_MAP,),
    default=Action.WARN,
)
def queue_setting_ignored(proposal: Proposal) -> Iterator[Finding]:
    """A setting of YuniKorn's configuration has no effect.

    Why it is reported: YuniKorn does not refuse these values. It uses its default and at most writes a debug log. The
    rule covers queue properties that YuniKorn does not know or cannot read, resources that no pod requests, invalid
    names in ACLs and in filter lists with several entries, and an unknown user group resolver. It also covers a filter
    of the type `DENY`, since only `deny` denies, a quota preemption delay if quota preemption is off in the partition,
    and booleans and patterns of the admission controller.
    A change of the policy group takes effect only after a restart of the scheduler.
    Example: `preemption.delay: 30`, without a unit.
    Fix: `preemption.delay: 30s`.
    """
    yield from findings(proposal, ignored)
    for before, config_map in proposal.changed(QueueConfigMap):
        for problem in settings_that_fall_back(config_map):
            yield about_setting(config_map, problem)
        for problem in settings_that_need_a_restart(before, config_map):
            yield about_setting(config_map, problem)
