"""All given objects judged as one change to the context."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from cli.input.context import Context
from cli.input.given import Given, Placed
from cli.input.stored import as_stored, stored_context
from policies.configuration.settings import Configuration
from policies.dialects import core, kueue, volcano
from policies.model.objects import KubeObject
from policies.model.proposal import Change, Circumstances, Proposal, propose
from policies.model.verdict import Verdict, evaluate
from policies.schema.structure import transition_defects

PRUNED = frozenset({kueue.COHORT, kueue.CLUSTER_QUEUE, kueue.LOCAL_QUEUE, volcano.QUEUE, core.NAMESPACE})
"""The kinds that --prune may delete: those that make a quota tree."""


@dataclass(frozen=True, slots=True)
class Judgement:
    proposal: Proposal
    verdict: Verdict


def judge(
    given: Given, context: Context, configuration: Configuration, *, prune: bool = False, delete: bool = False
) -> Judgement:
    """What the rules say about the given objects, as they would be stored, in place of those that the context holds.

    `prune` deletes what the context holds beyond them, `delete` deletes them.
    """
    if not delete:
        context = stored_context(context, configuration)
        given = as_stored(given, context, configuration)
    changes = [_change(context, placed, delete) for placed in given.objects.values()]
    if prune:
        changes += [Change(thing, None) for thing in _missing(given, context)]
    circumstances = Circumstances(now=datetime.now(UTC), dry_run=True)
    proposal = propose(context.world, changes, configuration, circumstances)
    return Judgement(proposal, evaluate(proposal))


def _change(context: Context, placed: Placed, delete: bool) -> Change:
    thing = placed.thing
    before, manifest = context.world.get(thing.ref), context.manifests.get(thing.ref)
    if delete:
        return Change(before or thing, None)
    kept = transition_defects(manifest, placed.document.manifest) if manifest is not None else ()
    return Change(before, thing, kept)


def _missing(given: Given, context: Context) -> Iterator[KubeObject]:
    """What the context holds and the files lack, of the kinds in the files: queues alone say nothing of namespaces."""
    kinds = PRUNED & {ref.group_kind for ref in given.objects}
    for thing in sorted(context.world.objects(), key=lambda thing: thing.ref):
        if thing.ref.group_kind in kinds and thing.ref not in given.objects and not _made_by_the_system(thing):
            yield thing


def _made_by_the_system(thing: KubeObject) -> bool:
    """Volcano's and Kubernetes' own queues and namespaces, which nobody keeps in files."""
    kind, name = thing.ref.group_kind, thing.ref.name
    if kind == volcano.QUEUE:
        return name in volcano.BUILT_IN
    return kind == core.NAMESPACE and (name == "default" or name.startswith("kube-"))
