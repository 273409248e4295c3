from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.configmap import (
    QueueConfigMap,
    settings_that_fall_back,
    settings_that_need_a_restart,
)
from policies.dialects.yunikorn_config.settings import ignored
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Action, Finding
from policies.rules.yunikorn._queue_config import about_setting, findings


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
    names in ACLs and in filter lists with several entries, and an unknown user group resolver. It also covers a quota
    preemption delay if quota preemption is off in the partition, and booleans and patterns of the admission controller.
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
