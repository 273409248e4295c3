from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.configmap import QueueConfigMap, unreadable_settings
from policies.dialects.yunikorn_config.loading import load_failures
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding
from policies.rules.yunikorn._queue_config import about_setting, findings


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
