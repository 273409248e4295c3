"""Judges a change: takes the objects before and after it, and returns the proposal and the verdict.

The webhook and every command judge here, so all of them judge a change in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from policies.configuration.settings import Configuration
from policies.dialects.kueue import KueueNode
from policies.dialects.reading import Manifest, Parsed
from policies.dialects.strict import strict
from policies.judging.changes import change
from policies.judging.rule import Proposal, propose, propose_stored
from policies.judging.ruling import findings, silenced
from policies.judging.verdict import Judged, Unjudged, Verdict
from policies.model.change import Change, Circumstances
from policies.model.findings import Action, ObjectField
from policies.model.forest import Forest
from policies.model.objects import KubeObject, Ref
from policies.mutation.stored import completed, stored
from policies.rules import concerned


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, and the proposal that it is about."""

    proposal: Proposal
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class StateBefore:
    """The state before a change.

    `manifests`: those that are known. Immutable fields are checked only for objects with a manifest.
    """

    world: Forest
    manifests: Mapping[Ref, Manifest] = field(default_factory=dict)


def judge(
    world: Forest,
    changes: Iterable[Change],
    configuration: Configuration | None = None,
    circumstances: Circumstances | None = None,
) -> Judgement:
    """Judge the changes as one transaction. Their objects must be as the API server would store them."""
    proposal = propose(world, changes, configuration, circumstances)
    return Judgement(proposal, evaluate(proposal))


def judge_files(
    state: StateBefore,
    applied: Iterable[Parsed],
    deleted: Iterable[KubeObject],
    configuration: Configuration,
    circumstances: Circumstances,
    unchanged: Iterable[Parsed] = (),
) -> Judgement:
    """Judge a change in files. The objects are first completed as by the mutating webhook.

    No API server has read the files, so fields that it would drop or refuse are findings, too.

    `unchanged`: objects of the files that do not change. The effect of the change on work among them is judged.
    """
    changes = [_change(state, it) for it in stored(applied, state.world, configuration)]
    changes += [Change(it, None) for it in deleted]
    proposal = propose(state.world, changes, configuration, circumstances)
    own = _run_rules(proposal)
    return Judgement(proposal, _verdict(own, _effects_on_work(proposal, unchanged, own) if changes else _RuleResults()))


def judge_stored(
    world: Forest, configuration: Configuration | None = None, circumstances: Circumstances | None = None
) -> Judgement:
    """Judge all stored objects. Every violation is reported. The costs grow with the number of objects."""
    proposal = propose_stored(world, configuration, circumstances)
    return Judgement(proposal, evaluate(proposal))


def stored_state(state: StateBefore, configuration: Configuration) -> StateBefore:
    """The state that a cluster would store if the objects were applied: the mutating webhook's defaults are added."""
    present = [Parsed(found, manifest) for ref, manifest in state.manifests.items() if (found := state.world.get(ref))]
    complete = [completed(it, state.world, configuration) for it in present]
    changed = [now for was, now in zip(present, complete, strict=True) if now is not was]
    manifests = {it.object.ref: it.manifest for it in changed if it.manifest is not None}
    return StateBefore(state.world.put_all(it.object for it in changed), {**state.manifests, **manifests})


def evaluate(proposal: Proposal) -> Verdict:
    return _verdict(_run_rules(proposal))


class _RuleResults(NamedTuple):
    """Unsorted findings, and the rules or objects that could not be judged."""

    found: Sequence[Judged] = ()
    unjudged: Sequence[Unjudged] = ()


def _verdict(*every: _RuleResults) -> Verdict:
    found = sorted((judged for each in every for judged in each.found), key=lambda judged: judged.rank)
    return Verdict(tuple(folded(found)), tuple(missed for each in every for missed in each.unjudged))


def _run_rules(proposal: Proposal) -> _RuleResults:
    found: list[Judged] = []
    unjudged: list[Unjudged] = []
    for rule in concerned(proposal.kinds(), proposal.occasions()):
        if rule.default is Action.OFF and silenced(rule, proposal.configuration):
            continue
        if rule.of_change and proposal.stored:
            continue
        try:
            if results := [*rule.check(proposal)]:
                judged, missed = findings(rule, proposal, results)
                found += judged
                unjudged += missed
        except Exception as error:  # the other rules still judge; the caller decides whether that is enough
            unjudged.append(Unjudged.failed(rule, error))
    return _RuleResults(found, unjudged)


def _effects_on_work(proposal: Proposal, unchanged: Iterable[Parsed], own: _RuleResults) -> _RuleResults:
    """The findings about unchanged work that the change causes, which the same work did not have before.

    `own`: the findings about the change itself, which are not repeated.
    """
    work = [it for it in unchanged if it.object.is_work]
    old = [found for it in work if (found := proposal.before.get(it.object.ref))]
    new = [completed(it, proposal.after, proposal.configuration).object for it in work]
    before, after = (
        _run_rules(propose(world, (Change(None, it) for it in objects), proposal.configuration, proposal.circumstances))
        for world, objects in ((proposal.before, old), (proposal.after, new))
    )
    known = {each.lasting for results in (before, own) for each in results.found}
    missed = {*before.unjudged, *own.unjudged}
    return _RuleResults(
        [each for each in after.found if each.lasting not in known],
        [each for each in after.unjudged if each not in missed],
    )


def _change(state: StateBefore, applied: Parsed) -> Change:
    """The change if one object is applied. An object with `generateName` is created each time."""
    before = _object_before(state, applied.object.ref)
    if before is not None and applied.object.ref.is_generated:
        return replace(change(None, strict(applied)), replaced=before.object)
    return change(before, strict(_with_effective_quotas(before, applied)))


def _with_effective_quotas(before: Parsed | None, applied: Parsed) -> Parsed:
    """The object with the quotas that an orchestrator wrote into its status. Applying a file does not change these."""
    stored_node, new_node = before.object if before is not None else None, applied.object
    if not isinstance(stored_node, KueueNode) or stored_node.effective is None or not isinstance(new_node, KueueNode):
        return applied
    return applied._replace(object=replace(new_node, effective=stored_node.effective))


def _object_before(state: StateBefore, ref: Ref) -> Parsed | None:
    found = state.world.get(ref)
    return strict(Parsed(found, state.manifests.get(ref))) if found is not None else None


def folded(found: Sequence[Judged]) -> list[Judged]:
    """The findings in their order, without those that another one causes; these are in its `consequences`. So one
    misspelt name is one finding with all its consequences.

    A finding is never folded under a less severe one, since that could allow the change.
    """
    if not any(judged.finding.follows for judged in found):
        return list(found)
    at: dict[ObjectField, list[int]] = {}
    for number, judged in enumerate(found):
        for place in judged.finding.concerns:
            at.setdefault(place, []).append(number)
    for number, judged in enumerate(found):
        place = (judged.finding.object, judged.finding.field)
        if place not in judged.finding.follows:  # else it is a consequence of another finding at this place
            at.setdefault(place, []).append(number)
    above = {number: first for number in range(len(found)) if (first := _cause(number, found, at)) is not None}
    kept: dict[int, list[Judged]] = {number: [] for number in range(len(found))}
    for number in above:
        top = _first_cause(number, above)
        if top != number:
            kept.pop(number)
            kept[top].append(found[number])
    return [replace(found[number], consequences=tuple(below)) for number, below in kept.items()]


def _cause(number: int, found: Sequence[Judged], at: dict[ObjectField, list[int]]) -> int | None:
    severity = found[number].severity.rank
    for place in found[number].finding.follows:
        for other in at.get(place, ()):
            if other != number and found[other].severity.rank <= severity:
                return other
    return None


def _first_cause(number: int, above: dict[int, int]) -> int:
    """The first cause in the chain of causes; the finding itself if the chain is a cycle."""
    seen = {number}
    top = number
    while top in above:
        top = above[top]
        if top in seen:
            return number
        seen.add(top)
    return top
