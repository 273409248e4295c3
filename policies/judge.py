"""The one judge: objects before, objects after, configuration and circumstances in; proposal and verdict out.

The webhook, `quotree validate` and `quotree test` ask here, so that all say the same of the same change.
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
from policies.judging.evaluation import findings
from policies.judging.folding import folded
from policies.judging.proposal import Proposal, propose, propose_stored
from policies.judging.ruling import silenced
from policies.judging.verdict import Judged, Unjudged, Verdict
from policies.model.change import Change, Circumstances
from policies.model.findings import Action
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
class Before:
    """The state before a change, with the manifests that are at hand.

    Without its manifest an object is not asked for fields that must stay.
    """

    world: Forest
    manifests: Mapping[Ref, Manifest] = field(default_factory=dict)


def judge(
    world: Forest,
    changes: Iterable[Change],
    configuration: Configuration | None = None,
    circumstances: Circumstances | None = None,
) -> Judgement:
    """The judgement of these changes as one transaction; its objects are as they would be stored."""
    proposal = propose(world, changes, configuration, circumstances)
    return Judgement(proposal, evaluate(proposal))


def judge_files(
    state: Before,
    applied: Iterable[Parsed],
    deleted: Iterable[KubeObject],
    configuration: Configuration,
    circumstances: Circumstances,
    kept: Iterable[Parsed] = (),
) -> Judgement:
    """Judge a change in files. The objects are completed first, as the mutating webhook would do it.

    Nor has an API server dropped or refused fields that it does not know. `kept` are objects of the files that do not
    change: work among them is judged for what the change does to it.
    """
    changes = [_change(state, it) for it in stored(applied, state.world, configuration)]
    changes += [Change(it, None) for it in deleted]
    proposal = propose(state.world, changes, configuration, circumstances)
    own = _results(proposal)
    return Judgement(proposal, _verdict(own, _worsened(proposal, kept, own) if changes else _Results()))


def judge_stored(
    world: Forest, configuration: Configuration | None = None, circumstances: Circumstances | None = None
) -> Judgement:
    """The judgement of all objects. Violations that existed before are reported too. Costs a look at every object."""
    proposal = propose_stored(world, configuration, circumstances)
    return Judgement(proposal, evaluate(proposal))


def stored_state(state: Before, configuration: Configuration) -> Before:
    """The state of files that stand for a cluster, as that would hold them."""
    held = [Parsed(found, manifest) for ref, manifest in state.manifests.items() if (found := state.world.get(ref))]
    complete = [completed(it, state.world, configuration) for it in held]
    changed = [now for was, now in zip(held, complete, strict=True) if now is not was]
    manifests = {it.object.ref: it.manifest for it in changed if it.manifest is not None}
    return Before(state.world.put_all(it.object for it in changed), {**state.manifests, **manifests})


def evaluate(proposal: Proposal) -> Verdict:
    """All findings of all rules about this proposal."""
    return _verdict(_results(proposal))


class _Results(NamedTuple):
    """What the rules say, before it is put in order."""

    found: Sequence[Judged] = ()
    unjudged: Sequence[Unjudged] = ()


def _verdict(*every: _Results) -> Verdict:
    found = sorted((judged for each in every for judged in each.found), key=lambda judged: judged.rank)
    return Verdict(tuple(folded(found)), tuple(missed for each in every for missed in each.unjudged))


def _results(proposal: Proposal) -> _Results:
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
        except Exception as error:  # only this rule fails; the caller decides whether the others are enough
            unjudged.append(Unjudged.failed(rule, error))
    return _Results(found, unjudged)


def _worsened(proposal: Proposal, kept: Iterable[Parsed], own: _Results) -> _Results:
    """What is found of this work if it is submitted after the change, and was not found before it."""
    work = [it for it in kept if it.object.is_work]
    was = [found for it in work if (found := proposal.before.get(it.object.ref))]
    now = [completed(it, proposal.after, proposal.configuration).object for it in work]
    before, after = (
        _results(propose(world, (Change(None, it) for it in objects), proposal.configuration, proposal.circumstances))
        for world, objects in ((proposal.before, was), (proposal.after, now))
    )
    known = {each.lasting for results in (before, own) for each in results.found}
    missed = {*before.unjudged, *own.unjudged}
    return _Results(
        [each for each in after.found if each.lasting not in known],
        [each for each in after.unjudged if each not in missed],
    )


def _change(state: Before, applied: Parsed) -> Change:
    """An object whose name the API server chooses is a new one each time that its file is applied."""
    before = _before(state, applied.object.ref)
    if before is not None and applied.object.ref.is_generated:
        return replace(change(None, strict(applied)), replaced=before.object)
    return change(before, strict(_as_orchestrated(before, applied)))


def _as_orchestrated(before: Parsed | None, applied: Parsed) -> Parsed:
    """The object with the quotas that an orchestrator wrote into its status: applying a file does not change these."""
    stood, given = before.object if before is not None else None, applied.object
    if not isinstance(stood, KueueNode) or stood.effective is None or not isinstance(given, KueueNode):
        return applied
    return applied._replace(object=replace(given, effective=stood.effective))


def _before(state: Before, ref: Ref) -> Parsed | None:
    found = state.world.get(ref)
    return strict(Parsed(found, state.manifests.get(ref))) if found is not None else None
