"""Draw the quota trees of manifests or of a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import click

from analysis.context import Context
from analysis.inputs import NO_FILES, InputObjects, joined
from analysis.simulation import Simulations, decision_settings, has_work, play
from analysis.trees.as_json import DIALECTS, merged_roots, trees_as_json
from analysis.trees.quotas import with_quota
from analysis.trees.usage import NamespaceUsage, UsageSources
from analysis.trees.view import ShownTree, UnknownNode, WantedNode, parse_node, view_of
from analysis.trees.walk import walk
from cli.exits import EXIT_CODES_OF_SIMULATIONS, AccessDenied, Exit, Misused, OutOfReach, strongest
from cli.input.against import Against
from cli.input.documents import expand, gather, noted
from cli.input.folders import EXTENSIONS
from cli.input.options import against_of, filename_option, input_paths, namespace, output
from cli.input.quota_trees import context_of, simulated_sources, usage_sources
from cli.input.reconciler_api import Server
from cli.input.reconciler_api import options as reconciler_options
from cli.input.roots import read_organisation, survey_roots
from cli.input.selection import InputSelection
from cli.input.settings import settings
from cli.input.simulation import note_problems
from cli.input.visibility import Ask, reconciler_of, reporting_bad_answers
from cli.output import emit, json_text, note
from cli.progress import stage
from cli.report.drawing import chosen, glyphs, lines, row_text, tree_lines
from cli.report.simulations.yunikorn import counts_notes, queues_text
from cli.watching import watchable
from policies.dialects.yunikorn import PARENT_QUEUE
from policies.model.forest import Forest
from policies.model.printing import plain


def is_file(argument: str) -> bool:
    """Whether an argument is a file, a folder or a pattern, rather than the name of a node."""
    if argument == "-" or expand(argument) or any(sign in argument for sign in "*?["):
        return True
    return argument.lower().endswith(EXTENSIONS) or ("/" in argument and not parse_node(argument).kind)


def _files(options: Mapping[str, Any]) -> list[str]:
    return [*filter(is_file, options["paths"]), *options["filenames"]]


def _default(options: Mapping[str, Any]) -> str:
    return "nothing" if _files(options) else "cluster"


@click.command(epilog=EXIT_CODES_OF_SIMULATIONS)
@against_of(_default, "What exists besides the input files. Default: the cluster, if no files are named.")
@watchable
@click.argument("paths", metavar="[PATH | NODE]...", nargs=-1)
@filename_option
@click.option(
    "--node",
    "nodes",
    metavar="NODE",
    multiple=True,
    help="Only this node, its ancestors and its descendants; repeatable.",
)
@click.option("--children", is_flag=True, help="Only each NODE and its direct children.")
@namespace
@reconciler_options
@output
def tree(
    paths: tuple[str, ...],
    filenames: tuple[str, ...],
    nodes: tuple[str, ...],
    children: bool,
    namespace: str | None,
    against: Against,
    reconciler: Server | None,
    output: str,
) -> None:
    """Draw the quota trees of the cluster, or of the files in PATH... together with the objects of --against.

    A NODE is a Cohort, a queue, or a Namespace with a quota of YuniKorn: its name, or KIND/NAME such as cohort/lab.
    Then only that node is drawn, with its ancestors and descendants. An argument that is a file, or looks like one, is
    a PATH; use --node for a node whose name looks like a file.

    With -n, or if you may not read the whole cluster, the reconciler answers with the trees that the LocalQueues of the
    namespace belong to.

    Each node has a line for each resource (in Kueue: flavor/resource), with the amounts as written and the sums over
    its children. In Kueue a sum includes the whole subtree, since a Cohort's own quota adds to that of its children.
    For a cluster the lines also show what Kueue's nodes use and borrow, how many workloads wait and are admitted, and
    what the Pods of Volcano and YuniKorn use.
    Work in files is simulated until nothing changes. The lines then show what is in use in the queues of Kueue, Volcano
    and YuniKorn and in YuniKorn's Namespaces, and how many workloads, PodGroups or applications run and wait.

    \b
    Examples:
      quotree tree
      quotree tree research
      quotree tree research --children
      quotree tree trees/
      quotree tree trees/ research
      quotree tree work.yaml --against files:trees/
      quotree tree --context prod -o json
      quotree tree trees/ --watch
    """
    files = _files({"paths": paths, "filenames": filenames})
    every = [*(each for each in paths if not is_file(each)), *nodes]
    if children and not every:
        raise Misused("--children needs a NODE, as in quotree tree research --children")
    of_reconciler, refused = reconciler is not None or namespace is not None, None
    if of_reconciler and (files or against.kind != "cluster"):
        raise Misused("-n and --reconciler are for a cluster alone; leave them out here")
    if not of_reconciler:
        try:
            _from_world(files, every, children, against, output)
        except AccessDenied as error:
            if files:
                raise
            refused = error
    if of_reconciler or refused is not None:
        _from_reconciler(list(map(parse_node, every)), children, namespace, against, reconciler, refused, output)


def _from_reconciler(
    nodes: list[WantedNode],
    children: bool,
    namespace: str | None,
    against: Against,
    server: Server | None,
    refused: AccessDenied | None,
    output: str,
) -> None:
    """Print a reconciler's answer: all trees, or the trees that the LocalQueues of a namespace belong to."""
    with reconciler_of(against.login, server, refused) as ask, reporting_bad_answers(), _named():
        try:
            found = ask("/v1/trees") if namespace is None else _of_namespace(ask, namespace)
        except AccessDenied:
            found = _of_namespace(ask, against.login.namespace())
        shown = chosen(found, nodes, children)
        text = json_text(shown) if output == "json" else "\n".join(tree_lines(shown))
    emit(text)


def _of_namespace(ask: Ask, namespace: str) -> dict[str, Any]:
    return ask(f"/v1/namespaces/{quote(namespace, safe='')}/namespacetrees")


@contextmanager
def _named() -> Iterator[None]:
    """Report a node that does not exist as Misused."""
    try:
        yield
    except UnknownNode as error:
        raise Misused(str(error)) from error


def _from_world(files: list[str], every: list[str], children: bool, against: Against, output: str) -> None:
    """Read files or a cluster, and print the trees. Raises AccessDenied if the user may not read the cluster."""
    roots = _roots(files, against)
    context = _context(against, every)
    drawings = [_drawn(root, files, against, context) for root in roots]
    with _named():
        shown = _shown(drawings, list(map(parse_node, every)), children)
    if output == "json":
        documents = [(each.name, trees_as_json(each.forest, context, each.sources, view)) for each, view in shown]
        emit(json_text(merged_roots(documents)))
    else:
        emit("\n".join(_texts(shown)))
    unreadable = Exit.UNREADABLE if context.unreadable else Exit.CLEAN
    click.get_current_context().exit(strongest([unreadable, *(each.exit for each in drawings)]))


@dataclass(frozen=True, slots=True)
class _Drawing:
    """The trees of one root of the files, and the sources of their usage. `name`: empty for the first root."""

    name: str
    forest: Forest
    sources: UsageSources
    exit: Exit


def _roots(files: list[str], against: Against) -> list[tuple[str, InputObjects]]:
    """The name of each root, and its objects with those of --against files:. With a cluster, there is one root."""
    held = gather([against.name]) if against.kind == "files" else NO_FILES
    if not files and against.kind != "nothing":
        return [("", held)]
    selection = InputSelection(tuple(input_paths(files, ())))
    if against.of_cluster:  # its usage is read once, for one forest
        return [("", read_organisation(selection))]
    found = survey_roots(selection, None, render=False)
    named = [(each.name(root), joined(root.around, noted(root.inputs))) for each in found for root in each.filled]
    first, rest = joined(held, named[0][1]), replace(held, unreadable=())
    return [(named[0][0], first), *((name, joined(rest, inputs)) for name, inputs in named[1:])]


def _drawn(root: tuple[str, InputObjects], files: list[str], against: Against, context: Context) -> _Drawing:
    name, held = root
    forest = context.world.put_all(placed.obj for placed in held.objects.values())
    if not against.of_cluster and has_work(held):
        played = _played(held, [against.name, *files])
        code = note_problems(played.files, played.kueue, played.others)
        return _Drawing(name, forest, simulated_sources(played), code)
    for item in held.unreadable + context.unreadable:
        note(str(item))
    return _Drawing(name, forest, usage_sources(against, forest), Exit.UNREADABLE if held.unreadable else Exit.CLEAN)


def _shown(drawings: list[_Drawing], nodes: list[WantedNode], children: bool) -> list[tuple[_Drawing, ShownTree]]:
    """The view of each root that has the nodes. Raises UnknownNode if none has them."""
    found, unknown = [], None
    for each in drawings:
        try:
            found.append((each, view_of(nodes, children, each.forest, each.sources)))
        except UnknownNode as error:
            unknown = unknown or error
    if not found and unknown is not None:
        raise unknown
    return found


def _texts(shown: list[tuple[_Drawing, ShownTree]]) -> Iterator[str]:
    """The lines of all roots. If there are several, each has a heading. Roots without trees are left out."""
    texts = [(each.name, list(_text(each.forest, each.sources, view))) for each, view in shown]
    filled = [each for each in texts if each[1]]
    for name, lines_of in filled:
        if len(filled) > 1 and name:
            yield f"{plain(name)}:"
        yield from lines_of
    if not filled:
        yield "no quota trees here"


def _context(against: Against, nodes: list[str]) -> Context:
    """Read the context. Raises OutOfReach, whose message mentions it if a cluster is only the default."""
    try:
        return context_of(against)
    except AccessDenied:
        raise
    except OutOfReach as error:
        if click.get_current_context().params["against"] is not None:
            raise
        missing = [each for each in nodes if not os.path.exists(each)]
        named = (
            f"there is no file {missing[0]}, so a cluster is asked for the node" if missing else "no files are named"
        )
        cure = "name files, as in quotree tree trees/, or a cluster with --kubeconfig or KUBECONFIG"
        raise OutOfReach(f"{error.message}; {named}: {cure}") from error


def _played(files: InputObjects, paths: list[str]) -> Simulations:
    """The simulation of the work in the files, run until nothing changes."""
    configuration = settings(None, [path for path in paths if path])
    stage("simulating")
    return play(files, configuration, decision_settings(configuration))


def _text(forest: Forest, sources: UsageSources, view: ShownTree) -> Iterator[str]:
    shapes, heading = glyphs(), ""
    drawn = view.drawn(forest)
    quotas = sources.quotas(forest, [each.ref for each in (drawn if view.whole else walk(forest))])
    for group, dialect in DIALECTS.items():
        for each in drawn:
            if each.ref.group != group:
                continue
            if heading != dialect:
                heading = dialect
                yield dialect
            yield from lines(forest, quotas[group], each, shapes)
    of_yunikorn = list(_yunikorn_text(forest, sources, view))
    if of_yunikorn:
        yield from ("YuniKorn", *of_yunikorn)


def _yunikorn_text(forest: Forest, sources: UsageSources, view: ShownTree) -> Iterator[str]:
    if sources.yunikorn is not None:
        for top in view.yunikorn_starts:
            yield from queues_text(sources.yunikorn, top, view.shows_queue)
    usage = NamespaceUsage(sources.yunikorn) if sources.yunikorn is not None and sources.yunikorn.has_work else None
    for each, quota in with_quota(forest):
        name, parent = each.ref.name, each.annotations.get(PARENT_QUEUE)
        if not view.shows_namespace(name):
            continue
        notes = [f"below {parent}"] if parent else []
        notes += counts_notes(usage.applications(name)) if usage else []
        yield plain(f"{each.ref}" + (f" ({', '.join(notes)})" if notes else ""))
        yield from (f"   {row_text(row)}" for row in (usage.rows(name, quota) if usage else quota))
