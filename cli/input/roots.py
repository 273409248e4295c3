"""Finds the roots in a selection: groups of files that describe one organisation each.

`root_paths.py` finds which files form a root. The files without contradictions are the first root. The other roots also
use objects of the first root that they refer to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.context import Context
from analysis.documents import Document, Unreadable
from analysis.inputs import NO_FILES, InputObjects, Placed, identify, joined
from cli.input.against import Against
from cli.input.context import load
from cli.input.documents import noted
from cli.input.root_paths import UnitObjects, root_paths
from cli.input.selection import InputSelection
from cli.input.survey import Survey, survey
from cli.input.workspace import Organisation, organisations
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
    `elsewhere`: the kinds of objects that it refers to and that only other roots or skipped templates have.
    """

    path: str
    inputs: InputObjects
    documents: tuple[Document, ...] = ()
    around: InputObjects = NO_FILES
    elsewhere: frozenset[GroupKind] = frozenset()


def as_one_root(found: Survey) -> list[FoundRoot]:
    """All files as one root, even if they contradict each other."""
    documents = tuple(found.documents())
    root = FoundRoot("", identify(documents, found.unreadable), documents)
    return [_with_elsewhere(root, _apart(found.hidden, ()))]


def read_organisation(selection: InputSelection) -> InputObjects:
    """Read the selection, without rendering it, as one organisation."""
    return one_organisation(survey(selection, render=False))


def one_organisation(found: Survey, known: Mapping[Ref, Placed] | None = None) -> InputObjects:
    """All that was found as one organisation. If it has several roots, a note on standard error says so.

    `known`: see `identify`.
    """
    for line in found.notes:
        note(line)
    inputs = identify(found.documents(), found.unreadable, known)
    if any(not each.equal for each in inputs.repeated):
        paths = [root.path for root in find_roots(found, inputs.objects) if root.path]
        if paths:
            note(f"several organisations are judged as one: {first_of(paths, _MOST_NAMED)}; name one of them instead")
    return noted(inputs)


def find_roots(found: Survey, known: Mapping[Ref, Placed] | None = None) -> list[FoundRoot]:
    """The roots; only one if there are no contradictions. `known`: see `identify`."""
    units: dict[str, list[UnitObjects]] = {"": []}
    for unit, path in root_paths(found, known).items():
        units.setdefault(path, []).append(unit)
    roots = [_root(path, members, () if path else found.unreadable) for path, members in units.items()]
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


def _root(path: str, members: Iterable[UnitObjects], unreadable: Sequence[Unreadable]) -> FoundRoot:
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

    An object with an unknown name counts as referred to. An object refers to others in its own namespace; without a
    namespace in its manifest, it may be applied in any.
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


@dataclass(frozen=True, slots=True)
class Surveyed:
    """An organisation with its files and its roots. The first root has the files without contradictions."""

    organisation: Organisation
    found: Survey
    roots: Sequence[FoundRoot]

    def against(self, named: Against) -> Against:
        """The context: the one of the command line, `named`, otherwise the one of the organisation."""
        own = self.organisation.against
        return own if own is not None and named.kind == "nothing" else named

    @property
    def filled(self) -> list[FoundRoot]:
        """The roots with objects or unreadable files; at least one."""
        return [root for root in self.roots if root.inputs.objects or root.inputs.unreadable] or list(self.roots[:1])

    def name(self, root: FoundRoot) -> str:
        """The path of the root, otherwise the name of the organisation. Both may be empty for the first root."""
        return root.path or self.organisation.name


def survey_roots(selection: InputSelection, config: str | None, *, render: bool = True) -> list[Surveyed]:
    """Read all organisations of the selection. `render`: see `survey`. Raises Misused and OutOfReach."""
    return [_surveyed(each, render) for each in organisations(selection, config)]


def together(every: Iterable[InputObjects]) -> InputObjects:
    found = NO_FILES
    for each in every:
        found = joined(found, each)
    return found


def contexts_of(
    found: Iterable[Surveyed], named: Against, configuration: Configuration, every: InputObjects
) -> dict[Against, Context]:
    """The contexts of all organisations, each read once. Raises OutOfReach if one cannot be read.

    `named`: the context of the command line. `every`: all inputs.
    """
    contexts = dict.fromkeys(each.against(named) for each in found)
    return {it: load(it, configuration, every.objects) for it in contexts}


def _surveyed(organisation: Organisation, render: bool) -> Surveyed:
    found = survey(organisation.selection, render=render)
    return Surveyed(organisation, found, as_one_root(found) if organisation.name else find_roots(found))
