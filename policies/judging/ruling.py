"""Decides the action for a finding from the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase

from policies.configuration.settings import Configuration, Override
from policies.dialects.core import NAMESPACE
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE
from policies.dialects.kueue_jobs import QueuedJob
from policies.dialects.volcano import QUEUE
from policies.judging.rule import Rule
from policies.model.findings import Action, Finding
from policies.model.forest import Forest
from policies.model.objects import Attached, Ref

_NODES = frozenset((CLUSTER_QUEUE, COHORT, QUEUE))
"""The kinds of nodes. An object of another kind is in no subtree because of its own name, which a tenant may choose."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The action for a finding.

    `since`: the day from which it will be denied, if that is in the future.
    """

    action: Action
    since: date | None = None


def silenced(rule: Rule, configuration: Configuration) -> bool:
    """Whether the rule is off by default and no override turns it on."""
    return rule.default is Action.OFF and all(
        override.action is Action.OFF for override in configuration.overrides if override.rule in ("*", rule.id)
    )


def may_refuse(rule: Rule, configuration: Configuration) -> bool:
    """Whether any finding of the rule could refuse a change."""
    for override in reversed(configuration.overrides):
        if override.rule in ("*", rule.id):
            if override.action is Action.DENY:
                return True
            if override.namespace is None and override.subtree is None:
                return False
    return rule.default is Action.DENY or rule.denies_some


def ruling(rule: Rule, finding: Finding, configuration: Configuration, now: datetime, *forests: Forest) -> Ruling:
    """The action for a finding. The last override that fits the place of its object in any of the forests decides."""
    for override in reversed(configuration.overrides):
        if _fits(override, rule, finding.object, *forests):
            if override.since is not None and now.astimezone(UTC).date() < override.since:
                return Ruling(Action.WARN, override.since)
            return Ruling(override.action)
    return Ruling(finding.action or rule.default)


def _fits(override: Override, rule: Rule, ref: Ref, *forests: Forest) -> bool:
    if override.rule not in ("*", rule.id):
        return False
    if override.namespace is not None and not _is_in(ref, override.namespace):
        return False
    return override.subtree is None or any(override.subtree in _path(ref, forest) for forest in forests)


def _is_in(ref: Ref, pattern: str) -> bool:
    """Whether the object is in such a namespace, or is one. A cluster-scoped object is in none, also for `*`."""
    namespace = ref.name if ref.group_kind == NAMESPACE else ref.namespace
    return namespace != "" and fnmatchcase(namespace, pattern)


def _path(ref: Ref, forest: Forest) -> set[str]:
    """The names of the node that the object is or uses, and of its ancestors."""
    node = _node(ref, forest)
    return {each.name for each in (node, *forest.ancestors(node))} if node is not None else set()


def _node(ref: Ref, forest: Forest) -> Ref | None:
    """The node that the object is or uses; None for an object without a node. A job uses the one of its LocalQueue."""
    if ref.group_kind in _NODES:
        return ref
    obj = forest.get(ref)
    if isinstance(obj, QueuedJob):
        return _node(LOCAL_QUEUE.named(obj.queue, ref.namespace), forest)
    return _node(obj.queue, forest) if isinstance(obj, Attached) and obj.queue is not None else None
