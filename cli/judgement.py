"""All given objects judged as one change to the context."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from cli.input.context import Context
from cli.input.given import Given
from policies.configuration.settings import Configuration
from policies.dialects import core, kueue, volcano
from policies.dialects.reading import Parsed
from policies.judge import Judgement, State, judge_files, stored_state
from policies.model.change import Circumstances
from policies.model.forest import Forest
from policies.model.objects import KubeObject

PRUNED = frozenset({kueue.COHORT, kueue.CLUSTER_QUEUE, kueue.LOCAL_QUEUE, volcano.QUEUE, core.NAMESPACE})
"""The kinds that --prune may delete: those that make a quota tree."""


def judge(
    given: Given, context: Context, configuration: Configuration, *, prune: bool = False, delete: bool = False
) -> Judgement:
    """What the rules say about the given objects, as they would be stored, in place of those that the context holds.

    `prune` deletes what the context holds beyond them, `delete` deletes them.
    """
    state = State(context.world, context.manifests)
    circumstances = Circumstances(now=datetime.now(UTC))
    if delete:
        deleted = [context.world.get(ref) or placed.thing for ref, placed in given.objects.items()]
        return judge_files(state, (), deleted, configuration, circumstances)
    if context.against.kind == "files":  # what was read from a cluster is stored already
        state = stored_state(state, configuration)
    applied = [Parsed(placed.thing, placed.document.manifest) for placed in given.objects.values()]
    deleted = list(_missing(given, state.world)) if prune else []
    return judge_files(state, applied, deleted, configuration, circumstances)


def _missing(given: Given, world: Forest) -> Iterator[KubeObject]:
    """What the world holds and the files lack, of the kinds in the files: queues alone say nothing of namespaces."""
    kinds = PRUNED & {ref.group_kind for ref in given.objects}
    for thing in sorted(world.objects(), key=lambda thing: thing.ref):
        if thing.ref.group_kind in kinds and thing.ref not in given.objects and not _made_by_the_system(thing):
            yield thing


def _made_by_the_system(thing: KubeObject) -> bool:
    """Volcano's and Kubernetes' own queues and namespaces, which nobody keeps in files."""
    kind, name = thing.ref.group_kind, thing.ref.name
    if kind == volcano.QUEUE:
        return name in volcano.BUILT_IN
    return kind == core.NAMESPACE and (name == "default" or name.startswith("kube-"))
