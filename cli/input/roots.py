"""Finds the roots in a selection: groups of files that describe one organisation each.

Files with different versions of the same object describe different organisations, such as examples, environments or
clusters. Then each of the largest folders without such a contradiction is a root, or a single file if there is no such
folder. All files without contradictions together are the first root. The other roots also use objects of the first root
that they refer to. If two files of one folder differ in a single object, this counts as a mistake, not as two roots.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from analysis.context import Context
from analysis.documents import Document, Unreadable
from analysis.inputs import NO_FILES, InputObjects, Placed, content, identify
from analysis.queue_config import QueuesFileRegion
from cli.input.gathering import noted
from cli.input.paths import HERE, path_within
from cli.input.selection import InputSelection
from cli.input.survey import ReadUnit, Survey, survey
from cli.output import first_of, note
from policies.configuration.settings import Configuration
from policies.dialects.declared import DECLARED
from policies.dialects.reading import metadata, text
from policies.judge import StateBefore, stored_state
from policies.model.objects import GroupKind, Ref

_MOST_NAMED = 8
"""The maximum number of roots that a note names."""


@dataclass(frozen=True, slots=True)
class FoundRoot:
    """A root.

    `path`: its folder or file; empty for the first root.
    `inputs`: its objects.
    `documents`: all its manifests, file by file.
    `around`: the objects of the first root that it refers to, directly or through other objects.
    `elsewhere`: the kinds of the objects that it refers to and that only other roots, or skipped templates, have.
    """

    path: str
    inputs: InputObjects
    documents: tuple[Document, ...] = ()
    around: InputObjects = NO_FILES
    elsewhere: frozenset[GroupKind] = frozenset()


@dataclass(slots=True)
class _Read:
    """A unit with its objects. `versions`: each object to a number, which is the same for equal manifests."""

    unit: ReadUnit
    inputs: InputObjects
    versions: dict[Ref, int] = field(default_factory=dict)


def whole(found: Survey) -> list[FoundRoot]:
    """Everything as one root, even if it has contradictions."""
    documents = tuple(found.documents())
    root = FoundRoot("", identify(documents, found.unreadable), documents)
    return [_with_elsewhere(root, _apart(found.hidden, ()))]


def as_one(selection: InputSelection, *, render: bool = True) -> InputObjects:
    """The whole selection as one organisation. If it has several roots, a note on standard error says so.

    Raises OutOfReach if --kustomize or --helm is used and the program is not installed.
    """
    return one(survey(selection, render=render))


def one(found: Survey, known: Mapping[Ref, Placed] | None = None) -> InputObjects:
    """All that was found as one organisation, see `as_one`. `known`: see `identify`."""
    for line in found.notes:
        note(line)
    inputs = identify(found.documents(), found.unreadable, known)
    if any(not each.equal for each in inputs.repeated):
        _note_roots([root.path for root in find_roots(found, inputs.objects) if root.path])
    return noted(inputs)


def _note_roots(paths: Sequence[str]) -> None:
    if paths:
        note(f"several organisations are judged as one: {first_of(paths, _MOST_NAMED)}; name one of them instead")


def find_roots(found: Survey, known: Mapping[Ref, Placed] | None = None) -> list[FoundRoot]:
    """The roots; only one if there are no contradictions. `known`: see `identify`."""
    read = [_Read(unit, identify(unit.documents, (), known)) for unit in found.units]
    _number(read)
    paths = _paths(read, found.folders)
    members: dict[str, list[_Read]] = {"": [each for each in read if not paths[id(each)]]}
    for each in read:
        if path := paths[id(each)]:
            members.setdefault(path, []).append(each)
    roots = [_root(path, units, () if path else found.unreadable) for path, units in members.items()]
    rest, others = roots[0], roots[1:]
    common = _by_name(rest.inputs.objects)
    apart = _apart(found.hidden, others)
    return [
        _with_elsewhere(rest, apart),
        *(_with_elsewhere(replace(each, around=_around(each, rest, common)), apart) for each in others),
    ]


def context_of(root: FoundRoot, context: Context, configuration: Configuration) -> Context:
    """The state before the root is applied: the context, and the objects of `around` as they would be stored.

    Unless the context is a cluster, the kinds in `elsewhere` count as incomplete, so that rules do not report names
    that only another root or a template has.
    """
    if root.around.objects:
        manifests = {ref: placed.document.manifest for ref, placed in root.around.objects.items()}
        world = context.world.put_all(placed.obj for placed in root.around.objects.values())
        state = stored_state(StateBefore(world, manifests), configuration)
        context = replace(context, world=state.world, manifests={**context.manifests, **state.manifests})
    if not root.elsewhere or context.against.of_cluster:
        return context
    return replace(context, world=replace(context.world, known=context.world.known - root.elsewhere))


def _root(path: str, members: Iterable[_Read], unreadable: Sequence[Unreadable]) -> FoundRoot:
    objects: dict[Ref, Placed] = {}
    for each in members:
        objects.update(each.inputs.objects)
    documents = tuple(document for each in members for document in each.unit.documents)
    return FoundRoot(path, identify(documents, unreadable, objects), documents)


def _by_name(refs: Iterable[Ref]) -> dict[str, set[Ref]]:
    """The objects of kinds that users keep in files, by name."""
    found: dict[str, set[Ref]] = defaultdict(set)
    for ref in refs:
        if ref.group_kind in DECLARED:
            found[ref.name].add(ref)
    return found


def _apart(hidden: Iterable[Ref], others: Iterable[FoundRoot]) -> dict[str, set[tuple[str, Ref]]]:
    """The objects that only templates or other roots have, by name, each with the namespace in its manifest.

    An object of a template has no namespace here, and one with an unknown name has the name "".
    """
    found: dict[str, set[tuple[str, Ref]]] = defaultdict(set)
    placed = (each for root in others for each in root.inputs.objects.values())
    for namespace, ref in (*(("", ref) for ref in hidden), *((_namespace(each), each.obj.ref) for each in placed)):
        if ref.group_kind in DECLARED:
            found[ref.name].add((namespace, ref))
    return found


def _around(root: FoundRoot, rest: FoundRoot, common: Mapping[str, set[Ref]]) -> InputObjects:
    """The objects of the first root `rest` that the root refers to, directly or through other objects."""
    taken: dict[Ref, Placed] = {}
    new: Iterable[Placed] = root.inputs.objects.values()
    while new:
        refs = {ref for _, name in _mentions(new) for ref in common.get(name, ())}
        refs -= taken.keys() | root.inputs.objects.keys()
        new = [rest.inputs.objects[ref] for ref in sorted(refs)]
        taken |= {placed.obj.ref: placed for placed in new}
    return replace(NO_FILES, objects=taken)


def _with_elsewhere(root: FoundRoot, apart: Mapping[str, set[tuple[str, Ref]]]) -> FoundRoot:
    """The root with its `elsewhere`.

    Any name may be that of an object with an unknown name. An object refers to others of its own namespace. If its
    manifest has none, it may be applied in any namespace.
    """
    if not apart:
        return root
    lacking = (
        ref
        for here, name in {("", ""), *_mentions(root.inputs.objects.values())}
        for there, ref in apart.get(name, ())
        if not here or not there or here == there
    )
    known = root.inputs.objects.keys() | root.around.objects.keys()
    return replace(root, elsewhere=frozenset(ref.group_kind for ref in lacking if ref not in known))


def _mentions(every: Iterable[Placed]) -> set[tuple[str, str]]:
    """The texts in these objects, each with the namespace in the object's manifest."""
    found: set[tuple[str, str]] = set()
    for placed in every:
        namespace, left = _namespace(placed), list[object]([placed.document.manifest])
        while left:
            value = left.pop()
            if isinstance(value, dict):
                left += value.values()
            elif isinstance(value, list):
                left += value
            elif isinstance(value, str):
                found.add((namespace, value))
    return found


def _namespace(placed: Placed) -> str:
    return text(metadata(placed.document.manifest).get("namespace")) or ""


def _number(read: Sequence[_Read]) -> None:
    numbers: dict[tuple[Ref, str], int] = {}
    for each in read:
        for ref, placed in each.inputs.objects.items():
            if ref.is_generated:
                continue  # the API server generates a different name for each
            version = (ref, content(placed.document.manifest))
            each.versions[ref] = numbers.setdefault(version, len(numbers))


def _contradictions(read: Sequence[_Read]) -> dict[Ref, list[_Read]]:
    """The objects of which there are different versions, each with the units that have one."""
    variants: dict[Ref, list[_Read]] = defaultdict(list)
    for each in read:
        for ref in each.versions:
            variants[ref].append(each)
    return {
        ref: units
        for ref, units in variants.items()
        if len({it.versions[ref] for it in units}) > 1 and not _is_mistake(ref, units)
    }


def _is_mistake(ref: Ref, units: Sequence[_Read]) -> bool:
    """Whether the units belong to one organisation, so that a different version is a mistake."""
    if all(each.unit.named for each in units):
        return True
    if len(units) != 2 or ref.group_kind not in DECLARED:
        return False
    one, other = units
    return (
        not one.unit.rendered
        and not other.unit.rendered
        and Path(one.unit.path).parent == Path(other.unit.path).parent
        and len(one.versions.keys() & other.versions.keys()) == 1
        and not any(_is_queues_yaml(document) for each in units for document in each.unit.documents)
    )


def _is_queues_yaml(document: Document) -> bool:
    """Whether the document is a plain `queues.yaml`. All of these describe the same object, whatever their purpose."""
    return isinstance(document.region, QueuesFileRegion)


def _paths(read: Sequence[_Read], named: Sequence[str]) -> dict[int, str]:
    """The path of the root of each unit, by the `id` of the unit; empty for units of the first root."""
    contested, shared = _contradictions(read), _shared(read)
    apart = [each for each in read if not each.unit.named and (each.versions.keys() & contested or id(each) in shared)]
    consistent = _consistent_folders(apart, contested, named)
    tops: set[str] = set()
    for each in apart:
        tops.add(
            [each.unit.path, *(folder for folder in _parent_folders(each.unit, named) if folder in consistent)][-1]
        )

    def root(unit: ReadUnit) -> str:
        return next((path for path in (unit.path, *_parent_folders(unit, named)) if path in tops), "")

    return {id(each): "" if each.unit.named else root(each.unit) for each in read}


def _shared(read: Sequence[_Read]) -> set[int]:
    """The `id`s of kustomizations that share a base: they are variants of it, so each is a separate root."""
    users: dict[str, list[int]] = defaultdict(list)
    for each in read:
        for part in each.unit.bases:
            users[part].append(id(each))
    return {each for units in users.values() if len(units) > 1 for each in units}


def _consistent_folders(apart: Sequence[_Read], contested: Mapping[Ref, object], named: Sequence[str]) -> set[str]:
    """The folders of the units in `apart` that have no contradiction inside."""
    versions: dict[str, dict[Ref | str, int]] = defaultdict(dict)
    inconsistent: set[str] = set()
    for each in apart:
        claims: list[tuple[Ref | str, int]] = [(ref, it) for ref, it in each.versions.items() if ref in contested]
        claims += [(base, id(each)) for base in each.unit.bases]
        for folder in _parent_folders(each.unit, named):
            here = versions[folder]
            if any(here.setdefault(name, source) != source for name, source in claims):
                inconsistent.add(folder)
    return versions.keys() - inconsistent


def _parent_folders(unit: ReadUnit, named: Sequence[str]) -> Iterator[str]:
    """The folders that contain the unit, from the innermost to the one that the user named.

    What is rendered from a folder is in this folder.
    """
    top = next((folder for folder in named if path_within(unit.path, folder) is not None), None)
    path = unit.path
    if unit.rendered:
        yield path
    while top is not None and path != top:
        path = os.path.dirname(path) or HERE  # noqa: PTH120, for many units
        yield path
