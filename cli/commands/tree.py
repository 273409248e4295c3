"""`quotree tree`: the quota trees, drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import click

from cli.commands.options import against as against_option
from cli.commands.options import chosen, inputs, output
from cli.exits import EPILOG, Exit, OutOfReach
from cli.group import verbose
from cli.input.context import Against, Context, load
from cli.input.given import Given, gather
from cli.report.drawing import glyphs, lines, row_text
from cli.report.output import emit, note, plain
from cli.report.quotas import Quotas, Row, namespace_rows
from cli.report.tree_json import DIALECTS, dialect_of, namespace_entry, node_entry
from cli.report.trees import cycles, walk
from cli.report.usage import LiveQuotas
from policies.configuration.settings import YuniKornSettings
from policies.dialects import kueue
from policies.dialects.core import Namespace
from policies.dialects.yunikorn import PARENT_QUEUE
from policies.model.forest import Forest
from policies.model.objects import Ref
from scheduling.world.world import World

MakeQuotas: TypeAlias = Callable[[Forest, Sequence[Ref]], Quotas]


@click.command(epilog=EPILOG)
@inputs
@against_option
@output
@verbose
def tree(
    paths: tuple[str, ...], filenames: tuple[str, ...], against: Against, kubeconfig: str | None, output: str
) -> None:
    """Draw the quota trees of PATH..., together with what --against holds.

    Each node has a line for each resource (Kueue: flavor/resource): the amounts as written, then the sums over its
    children: in Kueue with all that is below these, since a Cohort's own quota adds to its children's. Of a cluster it
    also tells what Kueue's nodes use and borrow, and how many workloads wait and hold quota.
    """
    if against.kind == "cluster" and not paths and not filenames:
        given = Given({}, (), 0)
    else:
        given = gather(chosen(paths, filenames))
    context = load(against, kubeconfig, YuniKornSettings(follow=False))  # none of its objects is drawn
    forest = context.world.put_all(placed.thing for placed in given.objects.values())
    world = _live(against, kubeconfig, forest)
    quotas = partial(LiveQuotas, world=world) if world is not None else Quotas
    unreadable = given.unreadable + context.unreadable
    for item in unreadable:
        note(f"{item.place}: unreadable: {item.message}")
    emit(_json(forest, context, quotas) if output == "json" else "\n".join(_text(forest, quotas)))
    click.get_current_context().exit(Exit.UNREADABLE if unreadable else Exit.CLEAN)


def _live(against: Against, kubeconfig: str | None, forest: Forest) -> World | None:
    """What is in use; None where there is nothing of it, or it may not be read, which is told."""
    if against.kind != "cluster" or not any(node.ref.group == kueue.GROUP for node in forest.nodes()):
        return None
    from cli.input.live import read  # here, since it takes long and files have nothing in use

    try:
        return read(against, kubeconfig)
    except OutOfReach as error:
        note(f"without what is in use: {error.message}")
        return None


def _text(forest: Forest, make: MakeQuotas) -> Iterator[str]:
    shapes, heading = glyphs(), ""
    spots = list(walk(forest))
    quotas = make(forest, [spot.ref for spot in spots])
    for dialect in DIALECTS.values():
        for spot in spots:
            if dialect_of(spot.ref) != dialect:
                continue
            if heading != dialect:
                heading = dialect
                yield dialect
            yield from lines(forest, quotas, spot, shapes)
    namespaces = list(_with_quota(forest))
    if namespaces:
        yield "YuniKorn"
    for namespace, quota in namespaces:
        parent = namespace.annotations.get(PARENT_QUEUE)
        yield plain(f"{namespace.ref}" + (f" (below {parent})" if parent else ""))
        yield from (f"   {row_text(row)}" for row in quota)
    if not spots and not namespaces:
        yield "no quota trees here"


def _with_quota(forest: Forest) -> list[tuple[Namespace, list[Row]]]:
    """The namespaces that have a YuniKorn quota, by name."""
    namespaces = [thing for thing in forest.objects() if isinstance(thing, Namespace)]
    quotas = [(namespace, namespace_rows(namespace, legacy=True)) for namespace in namespaces]
    return sorted(((namespace, quota) for namespace, quota in quotas if quota), key=lambda pair: pair[0].ref)


def _json(forest: Forest, context: Context, make: MakeQuotas) -> str:
    spots = list(walk(forest))
    quotas = make(forest, [spot.ref for spot in spots])
    nodes = [node_entry(forest, quotas, spot) for spot in spots]
    nodes += [
        namespace_entry(namespace.ref, namespace.annotations.get(PARENT_QUEUE), quota)
        for namespace, quota in _with_quota(forest)
    ]
    answer = {
        "apiVersion": "quotree.dev/v1alpha1",
        "kind": "Tree",
        "context": {"against": context.against.kind, "name": context.against.name},
        "nodes": nodes,
        "cycles": [[ref.name for ref in cycle] for cycle in cycles(forest)],
    }
    return json.dumps(answer, indent=2, ensure_ascii=False)
