"""Decides which findings of a rule refuse, warn or inform, from the configuration and the state before the change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase

from policies.configuration.settings import Configuration, Override
from policies.dialects.core import NAMESPACE
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE
from policies.dialects.kueue_jobs import QueuedJob
from policies.dialects.volcano import QUEUE
from policies.judging.rule import Proposal, Rule
from policies.judging.verdict import Judged, Unjudged
from policies.model.findings import SEVERITY, Action, Finding, NotEvaluated, Profile, Severity
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


def findings(
    rule: Rule, proposal: Proposal, results: Iterable[Finding | NotEvaluated]
) -> tuple[list[Judged], list[Unjudged]]:
    """The findings of one rule, and what it could not judge. `results`: those of its check."""
    found: dict[object, Judged] = {}
    missed: dict[str, Unjudged] = {}
    for result in results:
        if isinstance(result, NotEvaluated):
            missed.setdefault(result.reason, Unjudged(rule, result.reason))
        elif (finding := _judged(rule, result, proposal)) is not None:
            first = found.setdefault(result.identity, finding)
            if finding.severity.rank < first.severity.rank:
                found[result.identity] = finding
    judged = list(found.values())
    spares = proposal.configuration.profile is Profile.STRICT and not proposal.stored
    if spares and any(j.severity is Severity.ERROR for j in judged):
        judged = _spare_old_violations(judged, rule.check(proposal.before_the_change()))
    return [_excused(j, proposal) if j.severity is Severity.ERROR else j for j in judged], list(missed.values())


def _judged(rule: Rule, finding: Finding, proposal: Proposal) -> Judged | None:
    configuration = proposal.configuration
    ruled = ruling(rule, finding, configuration, proposal.circumstances.now, proposal.after, proposal.before)
    if ruled.action is Action.OFF:
        return None
    if configuration.profile not in finding.profiles:
        return Judged(rule, Severity.INFO, _information(finding))
    if ruled.since is not None:
        finding = replace(finding, message=f"from {ruled.since} on this is refused: {finding.message}")
    return Judged(rule, SEVERITY[ruled.action], finding)


def _information(finding: Finding) -> Finding:
    """The finding as information, since it counts only in the other profile."""
    if Profile.STRICT in finding.profiles:
        return finding
    return replace(finding, message=f"{finding.message} (allowed here; the project's own webhook refuses it)")


def _excused(judged: Judged, proposal: Proposal) -> Judged:
    """The finding. If the object is exempt and the rule can be waived, a warning with the reason and the last day."""
    if judged.rule.id not in proposal.configuration.waivable:
        return judged
    obj = proposal.after.get(judged.finding.object) or proposal.before.get(judged.finding.object)
    for exemption in obj.exemptions if obj else ():
        if exemption.excuses(judged.rule.id, proposal.circumstances.now):
            message = f"exempt until {exemption.until} ({exemption.reason}): {judged.finding.message}"
            finding = replace(judged.finding, message=message)
            return Judged(judged.rule, Severity.WARNING, finding, exemption=exemption)
    return judged


def _spare_old_violations(judged: list[Judged], before: Iterable[Finding | NotEvaluated]) -> list[Judged]:
    """Turn violations that existed before in at least the same size into warnings: a tree can be fixed in steps."""
    old_excesses: dict[object, list[int]] = {}
    for finding in before:
        if isinstance(finding, Finding):
            old_excesses.setdefault(finding.lasting, []).append(finding.excess)
    return [
        _as_preexisting(j, old_excesses.get(j.finding.lasting, [])) if j.severity is Severity.ERROR else j
        for j in judged
    ]


def _as_preexisting(judged: Judged, old_excesses: list[int]) -> Judged:
    """The violation as a warning if an old one had at least the same size. Each old one counts for one new one."""
    covering = [excess for excess in old_excesses if excess >= judged.finding.excess]
    if not covering:
        return judged
    old_excesses.remove(min(covering))
    return Judged(judged.rule, Severity.WARNING, judged.finding, preexisting=True)
