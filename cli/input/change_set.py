"""Reads a change between two states: the objects before it, the applied objects, and the deleted objects."""

from __future__ import annotations

from dataclasses import dataclass, replace

import click

from analysis.context import ChangeSet, Context
from analysis.inputs import NO_FILES, InputObjects, joined, missing, same
from cli.exits import Misused
from cli.input.against import Against
from cli.input.context import load
from cli.input.documents import gather
from cli.input.grouped import grouped
from cli.input.hidden import declaring, hidden, sentence
from cli.input.options import against as against_option
from cli.input.root_paths import BaseOfRoot
from cli.input.roots import one_organisation
from cli.input.selection import InputSelection, selected
from cli.input.survey import Survey, survey
from cli.output import first_of, note
from policies.configuration.settings import Configuration
from policies.dialects.declared import DECLARED
from policies.dialects.reading import Manifest, metadata
from policies.model.forest import Forest

_FILES = "files:"
_NAMED = 8
"""The most organisations that a note names."""


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """The options that describe a change.

    `selection`: the inputs after the change.
    `against`: the context.
    `base`: the inputs before the change: a revision or a folder; None if the user names only a context.
    `prune`: objects of the context that are not in the inputs are deleted.
    """

    selection: InputSelection
    against: Against
    base: str | None
    prune: bool


def _request(selection: InputSelection, against: Against, base: str | None, prune: bool) -> ChangeRequest:
    if base is None and against.kind == "nothing":
        raise Misused(f"name what the files are compared with: {_proposed(selection)}")
    return ChangeRequest(selection, against, base, prune)


change_options = grouped(
    "request",
    _request,
    selected,
    click.option(
        "--base",
        metavar="REVISION|files:DIR",
        help="The same files before the change, in Git or in another folder. What is only there is deleted.",
    ),
    against_option,
    click.option("--prune", is_flag=True, help="Delete what the context has and the files lack, as validate does."),
)
"""PATH (the state after the change), and the options for the state before."""


def _proposed(selection: InputSelection) -> str:
    """A proposal for the missing options. Two paths without options are taken as before and after, as for diff(1)."""
    if len(selection.paths) == 2 and not selection.kustomizations and not selection.charts:
        old, new = selection.paths
        return f"{new} --base {_FILES}{old}, or both with --base REVISION or --against a context"
    return "--base REVISION or files:DIR, or --against a context"


def read_changes(request: ChangeRequest, configuration: Configuration) -> list[ChangeSet]:
    """Read the states before and after the change: of each organisation that differs, if the files describe several.

    Raises Misused, or OutOfReach if a cluster cannot be read.
    """
    found = survey(request.selection)
    for line in found.notes:
        note(line)
    return [_change(request, configuration, name, base) for name, base in _bases(request, replace(found, notes=[]))]


def read_change(request: ChangeRequest, configuration: Configuration) -> ChangeSet:
    """Read one change; of several organisations the first. Raises the errors of `read_changes`."""
    first, *others = read_changes(request, configuration)
    if others:
        note(f"{first_of([each.was for each in (first, *others)], _NAMED)} differ; only {first.was} is compared")
    return first


def _change(request: ChangeRequest, configuration: Configuration, name: str, base: BaseOfRoot) -> ChangeSet:
    against, hides = request.against, base.hides
    after = one_organisation(base.now, base.inputs.objects)
    held = gather([against.name]) if against.kind == "files" else NO_FILES
    cluster = Context(against, Forest(frozenset(DECLARED)))
    if against.of_cluster:
        cluster = load(against, configuration, after.objects)
    gone = {ref: placed.obj for ref, placed in base.inputs.objects.items() if ref not in after.objects}
    for skipped in dict.fromkeys(hides[ref] for ref in gone if ref in hides):
        note(sentence(skipped, [ref for ref in gone if hides.get(ref) == skipped], "compared"))
    deleted = {ref: obj for ref, obj in gone.items() if ref not in hides} if not after.unreadable else {}
    if request.prune:
        of_files = Forest.of(placed.obj for placed in held.objects.values())
        there = of_files if against.kind == "files" else cluster.world
        declared = declaring(base.now.passed)
        deleted |= {it.ref: it for it in missing(after, there) if not declared(it.ref)}
    before = joined(held, base.inputs)
    was = " and ".join([*([name] if name else []), *([str(against)] if against.kind != "nothing" else [])])
    return ChangeSet(was, against, cluster, before, _differing(before, after), tuple(deleted.values()))


def _bases(request: ChangeRequest, now: Survey) -> list[tuple[str, BaseOfRoot]]:
    """The states before, each with its name for the head line."""
    if request.base is None:
        return [("", BaseOfRoot("", now, NO_FILES, {}))]
    if not request.base.startswith(_FILES):
        from cli.input.external.revision import read_base  # here, since what runs programs loads slowly

        revision, roots = read_base(request.base, request.selection, now)
        commit = f"(commit {revision.commit[:12]})"
        return [(f"{each.root or revision.name} {commit}", each) for each in roots]
    folder = request.base.removeprefix(_FILES)
    if not folder:
        raise Misused("--base files:: name the folder")
    files = gather([folder])
    # whether the folder has the same templates is not known, so only those with a name count
    named = (replace(each, hides=frozenset(ref for ref in each.hides if ref.name)) for each in now.skipped)
    return [(f"the files in {folder}", BaseOfRoot("", now, files, hidden(files.objects, (), named)))]


def _differing(before: InputObjects, after: InputObjects) -> InputObjects:
    """The inputs of `after`, limited to objects that are new or whose manifest differs."""
    kept = before.objects.keys() & after.objects.keys()
    unchanged = {
        ref for ref in kept if same(before.objects[ref].document.manifest, after.objects[ref].document.manifest)
    }
    known: dict[tuple[str, ...], list[Manifest]] = {}
    for document in before.rest:  # several may have no name
        known.setdefault(_identity(document.manifest), []).append(document.manifest)
    return replace(
        after,
        objects={ref: placed for ref, placed in after.objects.items() if ref not in unchanged},
        rest=tuple(each for each in after.rest if each.manifest not in known.get(_identity(each.manifest), [])),
    )


def _identity(manifest: Manifest) -> tuple[str, ...]:
    meta = metadata(manifest)
    return tuple(str(part) for part in (manifest.get("kind"), meta.get("namespace"), meta.get("name")))
