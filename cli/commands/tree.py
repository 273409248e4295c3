"""Draw the quota trees of manifests or of a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cli.exits import Exit, strongest
from cli.input.against import Against
from cli.input.context import Context
from cli.input.given import NO_FILES, Given, gather, joined
from cli.input.options import EngineOptions, input_paths, inputs, output
from cli.input.options import against as against_option
from cli.input.settings import settings
from cli.input.simulation import Simulations, has_work, play
from cli.output import emit, json_text, note
from cli.report.drawing import glyphs, lines, row_text
from cli.report.simulations.usage import NamespacesInUse, Users
from cli.report.simulations.yunikorn_text import counts_notes, queues_text
from cli.report.tree_json import DIALECTS
from cli.report.trees import walk
from cli.report.whole_trees import answer, context_of, users, users_of, with_quota
from cli.watching.again import watchable
from policies.dialects.yunikorn import PARENT_QUEUE
from policies.model.forest import Forest
from policies.model.printing import plain


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
    context = context_of(against, kubeconfig)
    forest = context.world.put_all(placed.obj for placed in files.objects.values())
    played = _played(files, [against.name, *paths, *filenames]) if not against.of_cluster and has_work(files) else None
    if played is not None:
        played.note_problems()
        use = users_of(played)
    else:
        for item in files.unreadable + context.unreadable:
            note(str(item))
        use = users(against, kubeconfig, forest)
    emit(_json(forest, context, use) if output == "json" else "\n".join(_text(forest, use)))
    unreadable = Exit.UNREADABLE if files.unreadable + context.unreadable else Exit.CLEAN
    click.get_current_context().exit(strongest([unreadable, *([played.exit] if played is not None else [])]))


def _played(files: Given, paths: list[str]) -> Simulations:
    """The work of the files in their queues, when nothing moves any more."""
    places = [path for path in paths if path]
    return play(files, settings(None, places, None), EngineOptions())


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
    for namespace, quota in with_quota(forest):
        name, parent = namespace.ref.name, namespace.annotations.get(PARENT_QUEUE)
        notes = [f"below {parent}"] if parent else []
        notes += counts_notes(spaces.applications(name)) if spaces else []
        yield plain(f"{namespace.ref}" + (f" ({', '.join(notes)})" if notes else ""))
        yield from (f"   {row_text(row)}" for row in (spaces.rows(name, quota) if spaces else quota))


def _json(forest: Forest, context: Context, use: Users) -> str:
    return json_text(answer(forest, context, use))
