"""Finds the path of the root of each file. The files of one root describe one organisation.

Files with different versions of the same object describe different organisations, such as examples, environments or
clusters. Then each of the largest folders without such a contradiction is a root, or the single file if there is no
such folder. All other files together are the first root.

    dev/queues.yaml    ClusterQueue a, cpu=1    root dev
    dev/flavors.yaml   ResourceFlavor x         root dev
    prod/queues.yaml   ClusterQueue a, cpu=9    root prod
    cohorts.yaml       Cohort c                 the first root

If two files of one folder differ in a single object, this counts as a mistake, not as two roots.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from analysis.inputs import InputObjects, Placed, content, identify
from analysis.queue_config import is_nameless
from cli.input.folders import PassedOver
from cli.input.paths import HERE, path_within
from cli.input.survey import ReadUnit, Survey
from policies.dialects.declared import DECLARED
from policies.model.objects import Ref


@dataclass(slots=True, eq=False)
class UnitObjects:
    """A unit with its objects. `versions`: a number for each object. Equal manifests have equal numbers."""

    unit: ReadUnit
    inputs: InputObjects
    versions: dict[Ref, int] = field(default_factory=dict)


def root_paths(found: Survey, known: Mapping[Ref, Placed] | None = None) -> dict[UnitObjects, str]:
    """The path of the root of each unit; empty for units of the first root. `known`: see `identify`."""
    units = [UnitObjects(unit, identify(unit.documents, (), known)) for unit in found.units]
    _number(units)
    differing, sharing = _differing(units), _with_shared_base(units)
    apart = [each for each in units if not each.unit.named and (each.versions.keys() & differing or each in sharing)]
    consistent = _consistent_folders(apart, differing, found.folders)
    tops = set()
    for each in apart:
        folders = [it for it in _parent_folders(each.unit, found.folders) if it in consistent]
        tops.add(folders[-1] if folders else each.unit.path)

    def root(unit: ReadUnit) -> str:
        return next((path for path in (unit.path, *_parent_folders(unit, found.folders)) if path in tops), "")

    return {each: "" if each.unit.named else root(each.unit) for each in units}


class BaseOfRoot(NamedTuple):
    """The state before a change, for all inputs or for one root of them.

    root: its place in the merge base; empty for all inputs.
    now: the inputs of the root after the change.
    inputs: those before it. Places are written as in Git, `REVISION:file`.
    hides: the objects of `inputs` that `now` hides.
    """

    root: str
    now: Survey
    inputs: InputObjects
    hides: Mapping[Ref, PassedOver]


def those_that_differ(now: Survey, before: Survey, moved: Callable[[str], str]) -> Iterator[tuple[str, Survey, Survey]]:
    """If objects contradict each other, each root that differs, with the files outside of such roots; otherwise all.

    moved: turns a path of `now` into one of `before`. Yields the path in `before`, and the root in both.
    """
    was = {os.path.normpath(unit.path): _manifests(unit) for unit in before.units}
    today = {moved(unit.path): _manifests(unit) for unit in now.units}
    changed = [path for path in was | today if was.get(path) != today.get(path)]
    tops: set[str] = set()
    if changed and any(map(_is_contradictory, (now, before))):
        tops = {moved(path) for path in root_paths(now).values() if path}
        tops |= {os.path.normpath(path) for path in root_paths(before).values() if path}

    def top(path: str) -> str:
        return max((it for it in tops if path == it or path_within(path, it) is not None), key=len, default="")

    differing = sorted({top(path) for path in changed} - {""})
    if not differing:
        yield "", now, before
    for root in differing:
        after = [unit for unit in now.units if top(moved(unit.path)) in ("", root)]
        earlier = [unit for unit in before.units if top(os.path.normpath(unit.path)) in ("", root)]
        yield root, replace(now, units=after), replace(before, units=earlier)


def _is_contradictory(found: Survey) -> bool:
    return any(not each.equal for each in identify(found.documents()).repeated)


def _manifests(unit: ReadUnit) -> list[object]:
    return [document.manifest for document in unit.documents]


def _number(units: Sequence[UnitObjects]) -> None:
    numbers: dict[tuple[Ref, str], int] = {}
    for each in units:
        for ref, placed in each.inputs.objects.items():
            if not ref.is_generated:  # the API server generates a different name for each
                version = (ref, content(placed.document.manifest))
                each.versions[ref] = numbers.setdefault(version, len(numbers))


def _differing(units: Sequence[UnitObjects]) -> set[Ref]:
    """The objects that have different versions."""
    variants: dict[Ref, list[UnitObjects]] = defaultdict(list)
    for each in units:
        for ref in each.versions:
            variants[ref].append(each)
    return {
        ref
        for ref, having in variants.items()
        if len({each.versions[ref] for each in having}) > 1 and not _is_mistake(ref, having)
    }


def _is_mistake(ref: Ref, having: Sequence[UnitObjects]) -> bool:
    """Whether the units belong to one organisation, so that a different version is a mistake."""
    if all(each.unit.named for each in having):
        return True
    if len(having) != 2 or ref.group_kind not in DECLARED:
        return False
    one, other = having
    return (
        not one.unit.rendered
        and not other.unit.rendered
        and Path(one.unit.path).parent == Path(other.unit.path).parent
        and len(one.versions.keys() & other.versions.keys()) == 1
        # all plain queues.yaml describe the same object, whatever their purpose, and so do all values of a chart
        and not any(is_nameless(it.region) for each in having for it in each.unit.documents)
    )


def _with_shared_base(units: Sequence[UnitObjects]) -> set[UnitObjects]:
    """The kustomizations that share a base: they are variants of it, so each is a separate root."""
    users: dict[str, list[UnitObjects]] = defaultdict(list)
    for each in units:
        for base in each.unit.bases:
            users[base].append(each)
    return {each for sharing in users.values() if len(sharing) > 1 for each in sharing}


def _consistent_folders(apart: Sequence[UnitObjects], differing: Collection[Ref], named: Sequence[str]) -> set[str]:
    """The folders of the units in `apart` that have no contradiction inside."""
    versions: dict[str, dict[Ref | str, object]] = defaultdict(dict)
    inconsistent: set[str] = set()
    for each in apart:
        claims: list[tuple[Ref | str, object]] = [(ref, it) for ref, it in each.versions.items() if ref in differing]
        claims += [(base, each) for base in each.unit.bases]
        for folder in _parent_folders(each.unit, named):
            here = versions[folder]
            if any(here.setdefault(name, version) != version for name, version in claims):
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
