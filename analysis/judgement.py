"""Judges all input objects as one change to the context."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from analysis.context import Context
from analysis.inputs import InputObjects, missing, same
from policies.configuration.settings import Configuration
from policies.dialects.reading import Parsed
from policies.judge import Judgement, StateBefore, judge_files, stored_state
from policies.model.change import Circumstances
from policies.model.objects import Ref


def judge(
    inputs: InputObjects,
    context: Context,
    configuration: Configuration,
    *,
    prune: InputObjects | None = None,
    delete: bool = False,
    base: InputObjects | None = None,
    hidden: Collection[Ref] = (),
) -> Judgement:
    """Judge a change that puts the input objects, with the webhook's defaults, in the place of those in the context.

    prune: if given, objects of the context that are not in these files are deleted.
    delete: whether the input objects are deleted.
    base: the objects before the change. Then objects that differ are judged, and missing ones are deleted. Unchanged
        workloads are only judged for effects of the change.
    hidden: objects that a file which is not read may have. They stay as they were.
    """
    state = StateBefore(context.world, context.manifests)
    circumstances = Circumstances(now=datetime.now(UTC))
    if base is not None:
        return _judge_since(base, inputs, context, configuration, circumstances, hidden)
    if delete:
        deleted = [context.world.get(ref) or placed.obj for ref, placed in inputs.objects.items()]
        return judge_files(state, (), deleted, configuration, circumstances)
    if context.against.kind == "files":  # objects of a cluster are stored already
        state = stored_state(state, configuration)
    applied = [Parsed(placed.obj, placed.document.manifest) for placed in inputs.objects.values()]
    pruned = missing(prune, state.world) if prune is not None else ()
    deleted = [found for found in pruned if found.ref not in hidden]
    return judge_files(state, applied, deleted, configuration, circumstances)


def _judge_since(
    base: InputObjects,
    inputs: InputObjects,
    context: Context,
    configuration: Configuration,
    circumstances: Circumstances,
    hidden: Collection[Ref],
) -> Judgement:
    """Judge the change from one set of files to another. The context has the objects that are in neither."""
    before = {ref: placed.document.manifest for ref, placed in base.objects.items()}
    files = {**(context.manifests if context.against.kind == "files" else {}), **before}
    world = context.world.put_all(placed.obj for placed in base.objects.values())
    completed = stored_state(StateBefore(world, files), configuration)
    state = StateBefore(completed.world, {**context.manifests, **completed.manifests})
    applied: list[Parsed] = []
    kept: list[Parsed] = []
    for ref, placed in inputs.objects.items():
        manifest = placed.document.manifest
        unchanged = ref in before and same(before[ref], manifest)
        (kept if unchanged else applied).append(Parsed(placed.obj, manifest))
    gone = before.keys() - inputs.objects.keys() - set(hidden) if not inputs.unreadable else ()
    deleted = [found for ref in sorted(gone) if (found := state.world.get(ref)) is not None]
    return judge_files(state, applied, deleted, configuration, circumstances, kept)
