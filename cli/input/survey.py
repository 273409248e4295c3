"""All that a selection holds, file by file, with what was passed over and why.

A kustomization or a chart that lies in a folder is rendered where its program is installed and where that needs
nothing from elsewhere. Else the resource files of a kustomization are read as they are, and a chart is passed over.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from analysis.documents import MAX_SIZE, Document, Unreadable
from cli.exits import OutOfReach
from cli.input.documents import Files, Found, matching, standard_input
from cli.input.folders import JUDGED, Folder, PassedOver, PassedOverReason, look
from cli.input.kustomizations import KustomizeBuild, builds
from cli.input.regular_file import mentions
from cli.input.selection import InputSelection
from cli.progress import stage, tick

T = TypeVar("T")
R = TypeVar("R")
_AT_ONCE = 4
"""Kustomizations and charts that are rendered at the same time."""
_MOST_SAID = 160
"""Characters of what a renderer says; the cause stands at the end."""


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """The manifests of one file, or what was `rendered` of a kustomization or chart, whose folder is then `path`.

    `named`: the user named it, so it belongs to all that they named. `bases` are the folders that a kustomization is
    made of, beside its own.
    """

    path: str
    documents: tuple[Document, ...]
    named: bool = False
    rendered: bool = False
    bases: frozenset[str] = frozenset()


@dataclass(slots=True)
class Survey:
    """`folders` are those that the user named; `notes` say what could not be rendered. `files` counts what was looked
    at."""

    units: list[ReadUnit] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    passed: list[PassedOver] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: int = 0

    def documents(self) -> Iterator[Document]:
        for unit in self.units:
            yield from unit.documents

    def take(self, found: Iterable[Found], named: bool) -> None:
        """Documents become units by the file that they come from."""
        documents: list[Document] = []
        for each in found:
            tick()
            if isinstance(each, Document):
                documents.append(each)
            elif isinstance(each, Unreadable):
                self.unreadable.append(each)
            else:
                self.passed.append(each)
        for source, of_file in groupby(documents, key=lambda document: document.source):
            self.units.append(ReadUnit(source, tuple(of_file), named))


def survey(selection: InputSelection, *, render: bool = True) -> Survey:
    """Survey the selection. Without `render`, files of kustomizations are read as they are, and charts are skipped.

    Raises OutOfReach where a renderer that was asked for is not installed.
    """
    made, files = Survey(), Files()
    stage("reading files")
    for path in selection.paths:
        if path == "-":
            made.files += 1
            made.take(standard_input(sys.stdin, selection.stdin_name), named=True)
            continue
        for source in matching(path):
            if isinstance(source, Unreadable):
                made.unreadable.append(source)
            elif Path(source).is_dir():
                made.folders.append(source)
                _below(made, look(source, selection.exclusion), files, render)
            else:
                made.files += 1
                made.take(files.named(source), named=True)
    _asked_for(made, selection)
    return made


def _below(made: Survey, folder: Folder, files: Files, render: bool) -> None:
    made.files += len(folder.files) + len(folder.passed) + sum(map(len, folder.charts.values()))
    used = _built(made, folder) if render else set()
    folder.files = [file for file in folder.files if os.path.normpath(file) not in used]
    made.take(files.below(folder), named=False)
    if render:
        _charts(made, folder)
    made.passed += [
        PassedOver(file, PassedOverReason.CHART) for of_chart in folder.charts.values() for file in of_chart
    ]


def _built(made: Survey, folder: Folder) -> set[str]:
    """Build what must be built to be read; the normal paths of the files that are in these builds."""
    wanted = [each for each in builds(folder.kustomizations) if not each.plain and _mentions(each.files)]
    used: set[str] = set()
    for build, result in zip(wanted, _at_once(_build, wanted), strict=True):
        if isinstance(result, str):
            made.notes.append(f"{build.top.folder}: not built: {result}; its files are read as they are")
            continue
        made.units.append(ReadUnit(build.top.folder, tuple(result), rendered=True, bases=build.bases))
        used |= build.files
    return used


def _build(build: KustomizeBuild) -> list[Document] | str:
    from cli.input.external.rendering import kustomize  # here, since what runs programs loads slowly

    return build.hindrance or _rendered(lambda: kustomize(build.top.folder))


def _charts(made: Survey, folder: Folder) -> None:
    ours = [chart for chart, files in folder.charts.items() if _mentions(files)]
    for chart, result in zip(ours, _at_once(_chart, ours), strict=True):
        if isinstance(result, str):
            made.notes.append(f"{chart}: not rendered: {result}")
        else:
            made.units.append(ReadUnit(chart, tuple(result), rendered=True))


def _chart(chart: str) -> list[Document] | str:
    from cli.input.external.rendering import helm  # here, since what runs programs loads slowly

    return _rendered(lambda: helm(chart))


def _rendered(render: Callable[[], Iterable[Document | Unreadable]]) -> list[Document] | str:
    """The manifests, or in a line why there are none."""
    try:
        found = list(render())
    except OutOfReach as error:
        return error.message.partition("; ")[0].partition(": ")[2]
    broken = next((each.message for each in found if isinstance(each, Unreadable)), None)
    if broken is not None:
        line = " ".join(broken.split())
        return line if len(line) <= _MOST_SAID else f"... {line[-_MOST_SAID:]}"
    return [each for each in found if isinstance(each, Document)]


def _at_once(function: Callable[[T], R], values: Sequence[T]) -> list[R]:
    if not values:
        return []
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(function, values))


def _mentions(files: Iterable[str]) -> bool:
    return any(mentions(file, JUDGED, MAX_SIZE) for file in files)


def _asked_for(made: Survey, selection: InputSelection) -> None:
    """What --kustomize and --helm name must be rendered."""
    if not selection.kustomizations and not selection.charts:
        return
    from cli.input.external.rendering import helm, kustomize  # here, since what runs programs loads slowly

    for folder in selection.kustomizations:
        made.take(kustomize(folder), named=True)
    for chart in selection.charts:
        made.take(helm(chart, selection.values), named=True)
