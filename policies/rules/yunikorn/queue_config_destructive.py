from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP
from policies.dialects.yunikorn_config.configmap import CONFIGS, DEFAULTS, ConfiguredQueues, QueueConfigMap, tree
from policies.dialects.yunikorn_config.model import DEFAULT_PARTITION
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Finding
from policies.rules.yunikorn._queue_config import trees

_BUILT_IN = "YuniKorn would run its built-in tree, where all namespaces may submit and no queue has a quota"


@rule("queue-config-destructive", source="YuniKorn: reload of the queue configuration", kinds=(CONFIG_MAP,))
def queue_config_destructive(proposal: Proposal) -> Iterator[Finding]:
    """A change of YuniKorn's configuration discards the live queue tree.

    Why it is refused: YuniKorn accepts the change. If the text has no partitions, or lacks the partition `default`,
    YuniKorn removes the running partition, and every application in it fails. If the key is missing or cannot be
    unzipped, or the ConfigMap is emptied or deleted, YuniKorn uses its built-in tree, which has no quotas. The key may
    only be missing if the other one of `yunikorn-defaults` and `yunikorn-configs` has the tree.
    Example: `queues.yaml: "# to be done"`.
    Fix: keep the key and its partition `default`. To stop work, close queues with their ACLs.
    """
    for written in trees(proposal):
        yield from _text(written)
        yield from _lost(proposal, written)


def _text(written: ConfiguredQueues) -> Iterator[Finding]:
    """Findings about a text that is empty, unreadable or without the partition."""
    setting = written.setting
    if setting is None:
        return
    if setting.text is None:
        message = f"{written.key} cannot be read ({setting.fault}); {_BUILT_IN}"
        yield _finding(written, setting.field, message, "write the text again, or compress it with gzip")
    elif not setting.text.strip():
        yield _finding(written, setting.field, f"{written.key} is empty; {_BUILT_IN}", "write the whole tree")
    elif not written.config.problems and written.config.partition is None:
        several = ", ".join(partition.called for partition in written.config.partitions)
        has = f"only {several}" if several else "no partitions at all"
        message = (
            f"{written.key} has {has}, not the partition {DEFAULT_PARTITION}; YuniKorn would tear down the running "
            "partition, and every application in it would fail"
        )
        yield _finding(written, setting.field, message, f"add the partition {DEFAULT_PARTITION} with its queues")


def _lost(proposal: Proposal, written: ConfiguredQueues) -> Iterator[Finding]:
    """A finding if the tree existed before the change and is missing after it, as far as the ConfigMaps are known."""
    if written.setting is not None:
        return
    old = tree(proposal.before, written.ref.namespace)
    changed = (change.ref for change in proposal.changes if isinstance(change.before, QueueConfigMap))
    if old.setting is None or old.ref not in changed:
        return
    other = DEFAULTS if old.ref.name == CONFIGS else CONFIGS
    fix = f"keep {old.key}, or put it into {other} first"
    if proposal.after.get(old.ref) is None:
        what = f"the ConfigMap {old.ref.name} is deleted, which held the queues"
    elif written.key != old.key:
        what = f"{written.key} is missing, and the queues are in {old.key}"
        fix = f"write the queues to {written.key}, too, or keep service.policyGroup"
    else:
        what = f"{written.key} is missing, which held the queues"
    if CONFIG_MAP not in proposal.after.known and proposal.after.get(old.ref._replace(name=other)) is None:
        fix += f"; what {other} holds is not known here: if it holds the queues, exempt this change from the rule"
    yield Finding(old.ref, old.setting.field, f"{what}; {_BUILT_IN}", fix=fix, profiles=STRICT_ONLY)


def _finding(written: ConfiguredQueues, field: str, message: str, fix: str) -> Finding:
    return Finding(written.ref, field, message, fix=fix, profiles=STRICT_ONLY)
