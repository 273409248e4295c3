"""Draw the quota trees of manifests or of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import click

from cli.exits import Exit, OutOfReach
from cli.input.context import Against, Context, load
from cli.input.given import Given, gather
from cli.input.options import against as against_option
from cli.input.options import input_paths, inputs, output
from cli.output import emit, json_text, note
from cli.report.drawing import glyphs, lines, row_text
from cli.report.quotas import Quotas, Row, namespace_rows
from cli.report.simulations.usage import QuotasAndWorkloads
from cli.report.tree_json import DIALECTS, dialect_of, namespace_entry, node_entry
from cli.report.trees import cycles, walk
from cli.watching.again import watchable
from policies.configuration.settings import YuniKornSettings
from policies.dialects import kueue
from policies.dialects.core import Namespace
from policies.dialects.yunikorn import PARENT_QUEUE
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.printing import plain
from scheduling.world.world import World

MakeQuotas: TypeAlias = Callable[[Forest, Sequence[Ref]], Quotas]


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
    For a cluster the lines also show what Kueue's nodes use and borrow, and how many workloads wait and are admitted.

    \b
    Examples:
      quotree tree trees/
      quotree tree --against cluster -o json
      quotree tree trees/ --watch
    """
    if against.kind in ("cluster", "snapshot") and not paths and not filenames:
        files = Given({}, (), 0)
    else:
        files = gather(input_paths(paths, filenames))
    context = load(against, kubeconfig, YuniKornSettings(follow=False))  # its objects are not drawn
    forest = context.world.put_all(placed.obj for placed in files.objects.values())
    world = _usage(against, kubeconfig, forest)
    quotas = partial(QuotasAndWorkloads, world=world) if world is not None else Quotas
    unreadable = files.unreadable + context.unreadable
    for item in unreadable:
        note(str(item))
    emit(_json(forest, context, quotas) if output == "json" else "\n".join(_text(forest, quotas)))
    click.get_current_context().exit(Exit.UNREADABLE if unreadable else Exit.CLEAN)


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


def _text(forest: Forest, make: MakeQuotas) -> Iterator[str]:
    shapes, heading = glyphs(), ""
    drawn = list(walk(forest))
    quotas = make(forest, [each.ref for each in drawn])
    for dialect in DIALECTS.values():
        for each in drawn:
            if dialect_of(each.ref) != dialect:
                continue
            if heading != dialect:
                heading = dialect
                yield dialect
            yield from lines(forest, quotas, each, shapes)
    namespaces = list(_with_quota(forest))
    if namespaces:
        yield "YuniKorn"
    for namespace, quota in namespaces:
        parent = namespace.annotations.get(PARENT_QUEUE)
        yield plain(f"{namespace.ref}" + (f" (below {parent})" if parent else ""))
        yield from (f"   {row_text(row)}" for row in quota)
    if not drawn and not namespaces:
        yield "no quota trees here"


def _with_quota(forest: Forest) -> list[tuple[Namespace, list[Row]]]:
    """The namespaces that have a YuniKorn quota, by name."""
    namespaces = [each for each in forest.objects() if isinstance(each, Namespace)]
    quotas = [(namespace, namespace_rows(namespace, legacy=True)) for namespace in namespaces]
    return sorted(((namespace, quota) for namespace, quota in quotas if quota), key=lambda pair: pair[0].ref)


def _json(forest: Forest, context: Context, make: MakeQuotas) -> str:
    drawn = list(walk(forest))
    quotas = make(forest, [each.ref for each in drawn])
    nodes = [node_entry(forest, quotas, each) for each in drawn]
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
    return json_text(answer)
