"""The given objects as a cluster would store them: with what the mutating webhook fills in.

What is judged is what would be stored, so that a file gets the verdict that its objects would get. Lines and columns
are those of the file; a field that was filled in has the place of what it would stand in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cli.input.context import Context
from cli.input.given import Given, Placed
from policies import dialects
from policies.configuration.settings import Configuration
from policies.dialects import kueue_jobs
from policies.dialects.reading import Manifest
from policies.model.forest import Forest
from policies.model.objects import KubeObject, Node, Ref
from policies.model.proposal import Operation
from policies.mutation.defaults import patch
from policies.mutation.patching import patched


def as_stored(given: Given, context: Context, configuration: Configuration) -> Given:
    """The same objects, completed; jobs that the context holds already only as an update completes them.

    Kueue's own switches of such a job, as `suspend`, are no longer what its creation made them.
    """
    things = [placed.thing for placed in given.objects.values()]
    only_trees = all(isinstance(thing, Node) for thing in things)  # these are completed each by itself
    forest = context.world if only_trees else context.world.put_all(things)
    objects = dict(given.objects)
    for ref, placed in given.objects.items():
        running = ref.group_kind in kueue_jobs.KINDS and context.world.get(ref) is not None
        operation = Operation.UPDATE if running else Operation.CREATE
        found = _completed(placed.thing, placed.document.manifest, forest, configuration, operation)
        if found is not None:
            thing, manifest = found
            objects[ref] = Placed(thing, replace(placed.document, manifest=dict(manifest)))
    return replace(given, objects=objects)


def stored_context(context: Context, configuration: Configuration) -> Context:
    """Files that stand for a cluster, as that would hold them; what was read from a cluster is stored already."""
    if context.against.kind != "files":
        return context
    completed = dict(_completed_context(context, configuration))
    world = context.world.put_all(thing for thing, _ in completed.values())
    manifests = {ref: manifest for ref, (_, manifest) in completed.items()}
    return replace(context, world=world, manifests={**context.manifests, **manifests})


def _completed_context(
    context: Context, configuration: Configuration
) -> Iterator[tuple[Ref, tuple[KubeObject, Manifest]]]:
    for ref, manifest in context.manifests.items():
        thing = context.world.get(ref)
        if thing is not None and (found := _completed(thing, manifest, context.world, configuration)) is not None:
            yield ref, found


def _completed(
    thing: KubeObject,
    manifest: Manifest,
    forest: Forest,
    configuration: Configuration,
    operation: Operation = Operation.CREATE,
) -> tuple[KubeObject, Manifest] | None:
    """The object and its manifest as they would be stored; None where nothing is filled in."""
    operations = patch(manifest, forest, configuration, operation)
    if not operations:
        return None
    complete = patched(manifest, operations)
    read = dialects.read(complete)
    return (replace(read, ref=thing.ref), complete) if read is not None else None
