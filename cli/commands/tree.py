"""Draw the quota trees of manifests or of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from cli.exits import Exit, OutOfReach, strongest
from cli.input import elsewhere
from cli.input.against import Against
from cli.input.context import DECLARED, Context, load
from cli.input.given import NO_FILES, Given, gather, joined
from cli.input.options import EngineOptions, input_paths, inputs, output
from cli.input.options import against as against_option
from cli.input.settings import settings
from cli.input.simulation import Simulations, has_work, play
from cli.output import emit, json_text, note
from cli.report.drawing import glyphs, lines, row_text
from cli.report.quotas import Row, namespace_rows
from cli.report.simulations.usage import NamespacesInUse, Users
from cli.report.simulations.yunikorn_text import counts_notes, queues_text
from cli.report.tree_json import DIALECTS, namespace_entry, node_entry
from cli.report.trees import cycles, walk
from cli.watching.again import watchable
from policies.configuration.settings import YuniKornSettings
from policies.dialects import kueue
from policies.dialects.core import Namespace
from policies.dialects.yunikorn import PARENT_QUEUE
from policies.model.forest import Forest
from policies.model.printing import plain
from scheduling.volcano.world import World as Volcano
from scheduling.world.world import World
from scheduling.yunikorn.as_json import queue_node
from scheduling.yunikorn.simulation import Simulation as YuniKorn
from scheduling.yunikorn.usage import applications_below


@click.command()
@watchable
@inputs
@against_option
@output
def tree(
    paths: tuple[str, ...], filenames: tuple[str, ...], against: Against, kubeconfig: str | None, output: str
) -> None:
    """Draw the quota trees of PATH..., together with the objects of --against.

    Each node has a line for each resource (in Kueue: flavor/resource), with the amounts as written and the sums over
    its children. In Kueue a sum includes the whole subtree, since a Cohort's own quota adds to that of its children.
    For a cluster the lines also show what Kueue's nodes use and borrow, how many workloads wait and are admitted, and
    what the Pods of Volcano and YuniKorn use.
    Work in files is simulated until nothing moves: then the lines show what is in use in the queues of Kueue, Volcano
    and YuniKorn and in YuniKorn's Namespaces, and how many workloads, PodGroups or applications run and wait.

    \b
    Examples:
      quotree tree trees/
      quotree tree work.yaml --against files:trees/
      quotree tree --against cluster -o json
      quotree tree trees/ --watch
    """
    named = bool(paths or filenames) or against.kind == "nothing"
    given = gather(input_paths(paths, filenames)) if named else NO_FILES
    files = joined(gather([against.name]), given) if against.kind == "files" else given
    context = _context(against, kubeconfig)
    forest = context.world.put_all(placed.obj for placed in files.objects.values())
    played = _played(files, [against.name, *paths, *filenames]) if not against.of_cluster and has_work(files) else None
    if played is not None:
        played.note_problems()
        use = _use(played)
    else:
        for item in files.unreadable + context.unreadable:
            note(str(item))
        use = Users(_usage(against, kubeconfig, forest), *_usage_of_others(against, kubeconfig))
    emit(_json(forest, context, use) if output == "json" else "\n".join(_text(forest, use)))
    unreadable = Exit.UNREADABLE if files.unreadable + context.unreadable else Exit.CLEAN
    click.get_current_context().exit(strongest([unreadable, *([played.exit] if played is not None else [])]))


def _context(against: Against, kubeconfig: str | None) -> Context:
    """Empty for files, which are read with those that are given."""
    if not against.of_cluster:
        return Context(against, Forest(frozenset(DECLARED)))
    return load(against, kubeconfig, YuniKornSettings(follow=False))  # its objects are not drawn


def _played(files: Given, paths: list[str]) -> Simulations:
    """The work of the files in their queues, when nothing moves any more."""
    places = [path for path in paths if path]
    return play(files, settings(None, places, None), EngineOptions())


def _use(played: Simulations) -> Users:
    """Of each project of which there is work; YuniKorn's queues are drawn without any, too."""
    world, volcano, yunikorn = played.kueue.world, played.volcano, played.yunikorn
    return Users(
        world if world.workloads else None,
        volcano.engine.world if volcano.has_work else None,
        yunikorn if yunikorn.has_work or yunikorn.intake.configured else None,
    )


def _usage(against: Against, kubeconfig: str | None, forest: Forest) -> World | None:
    """What uses the queues of the cluster; None without queues of Kueue, and where you may not read it."""
    if against.kind not in ("cluster", "snapshot") or not any(node.ref.group == kueue.GROUP for node in forest.nodes()):
        return None
    from cli.input.snapshot import read  # here, since it takes long to load and files have no usage

    try:
        return read(against, kubeconfig)
    except OutOfReach as error:
        note(f"the usage is left out: {error.message}")
        return None


def _usage_of_others(against: Against, kubeconfig: str | None) -> tuple[Volcano | None, YuniKorn | None]:
    """What uses the queues of Volcano and YuniKorn in the cluster; None where nothing does."""
    if against.kind != "cluster":
        return None, None
    found = elsewhere.of_cluster(against, kubeconfig, settings(None, (), None))
    return (
        found.volcano.engine.world if found.volcano.has_work else None,
        found.yunikorn if found.yunikorn.has_work else None,
    )


def _text(forest: Forest, use: Users) -> Iterator[str]:
    shapes, heading = glyphs(), ""
    drawn = list(walk(forest))
    quotas = use.quotas(forest, [each.ref for each in drawn])
    for group, dialect in DIALECTS.items():
        for each in drawn:
            if each.ref.group != group:
                continue
            if heading != dialect:
                heading = dialect
                yield dialect
            yield from lines(forest, quotas[group], each, shapes)
    of_yunikorn = list(_yunikorn_text(forest, use))
    if of_yunikorn:
        yield from ("YuniKorn", *of_yunikorn)
    if not drawn and not of_yunikorn:
        yield "no quota trees here"


def _yunikorn_text(forest: Forest, use: Users) -> Iterator[str]:
    if use.yunikorn is not None:
        yield from queues_text(use.yunikorn)
    spaces = NamespacesInUse(use.yunikorn) if use.yunikorn is not None and use.yunikorn.has_work else None
    for namespace, quota in _with_quota(forest):
        name, parent = namespace.ref.name, namespace.annotations.get(PARENT_QUEUE)
        notes = [f"below {parent}"] if parent else []
        notes += counts_notes(spaces.applications(name)) if spaces else []
        yield plain(f"{namespace.ref}" + (f" ({', '.join(notes)})" if notes else ""))
        yield from (f"   {row_text(row)}" for row in (spaces.rows(name, quota) if spaces else quota))


def _with_quota(forest: Forest) -> list[tuple[Namespace, list[Row]]]:
    """The namespaces that have a YuniKorn quota, by name."""
    namespaces = [each for each in forest.objects() if isinstance(each, Namespace)]
    quotas = [(namespace, namespace_rows(namespace, legacy=True)) for namespace in namespaces]
    return sorted(((namespace, quota) for namespace, quota in quotas if quota), key=lambda pair: pair[0].ref)


def _json(forest: Forest, context: Context, use: Users) -> str:
    drawn = list(walk(forest))
    quotas = use.quotas(forest, [each.ref for each in drawn])
    answer = {
        "apiVersion": "quotree.dev/v1alpha1",
        "kind": "Tree",
        "context": {"against": context.against.kind, "name": context.against.name},
        "nodes": [*(node_entry(forest, quotas[each.ref.group], each) for each in drawn), *_yunikorn_json(forest, use)],
        "cycles": [[ref.name for ref in cycle] for cycle in cycles(forest)],
    }
    return json_text(answer)


def _yunikorn_json(forest: Forest, use: Users) -> Iterator[dict[str, Any]]:
    if use.yunikorn is not None:
        counts = applications_below(use.yunikorn.scheduler)
        yield from (queue_node(queue, counts[queue]) for queue in use.yunikorn.scheduler.tree.root.walk())
    spaces = NamespacesInUse(use.yunikorn) if use.yunikorn is not None and use.yunikorn.has_work else None
    for namespace, quota in _with_quota(forest):
        name, parent = namespace.ref.name, namespace.annotations.get(PARENT_QUEUE)
        if spaces is None:
            yield namespace_entry(namespace.ref, parent, quota)
        else:
            yield namespace_entry(namespace.ref, parent, spaces.rows(name, quota), spaces.applications(name))
