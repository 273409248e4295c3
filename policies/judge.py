"""The one judge: objects before, objects after, configuration and circumstances in; proposal and verdict out.

The webhook, `quotree validate` and `quotree test` ask here, so that all say the same of the same change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from policies.configuration.settings import Configuration
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
    """What is there before a change, with the manifests that are at hand.

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
) -> Judgement:
    """The same for objects that no mutating webhook has completed: they are judged as it would complete them.

    Nor has an API server dropped or refused fields that it does not know.
    """
    changes = [change(_before(state, it.object.ref), strict(it)) for it in stored(applied, state.world, configuration)]
    changes += [Change(it, None) for it in deleted]
    return judge(state.world, changes, configuration, circumstances)


def judge_stored(
    world: Forest, configuration: Configuration | None = None, circumstances: Circumstances | None = None
) -> Judgement:
    """The judgement of all that is there, of which nothing is spared. Costs a look at every object."""
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
    found: list[Judged] = []
    unjudged: list[Unjudged] = []
    for rule in concerned(proposal.kinds(), proposal.occasions()):
        if rule.default is Action.OFF and silenced(rule, proposal.configuration):
            continue
        if rule.of_change and proposal.stored:
            continue
        if results := [*rule.check(proposal)]:
            judged, missed = findings(rule, proposal, results)
            found += judged
            unjudged += missed
    found.sort(key=lambda judged: judged.rank)
    return Verdict(tuple(folded(found)), tuple(unjudged))


def _before(state: Before, ref: Ref) -> Parsed | None:
    found = state.world.get(ref)
    return strict(Parsed(found, state.manifests.get(ref))) if found is not None else None
