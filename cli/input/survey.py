"""Reads all manifests of a selection, file by file, and records the skipped files with the reasons.

A kustomization or chart in a folder is rendered if its program is installed and nothing has to be downloaded.
Otherwise the resource files of a kustomization are read without changes, and a chart is skipped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeVar

from analysis.documents import MAX_SIZE, Document, Unreadable
from cli.exits import OutOfReach
from cli.input.documents import Files, Found, matching, standard_input
from cli.input.folders import JUDGED, Folder, PassedOver, PassedOverReason, look
from cli.input.kustomizations import KustomizeBuild, builds
from cli.input.placeholders import carried_objects, hidden_kinds
from cli.input.regular_file import mentions, read_regular
from cli.input.selection import InputSelection
from cli.progress import stage, tick
from policies.dialects.yunikorn_config.configmap import read_config_map
from policies.model.objects import Ref

T = TypeVar("T")
R = TypeVar("R")
_AT_ONCE = 4
"""The number of kustomizations and charts that are rendered at the same time."""
_MOST_SAID = 160
"""The maximum length of a renderer's error. Its end is shown, since it has the cause."""


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """The manifests of one file, or of a rendered kustomization or chart.

    `path`: the file, or the folder of the kustomization or chart.
    `named`: the user has named it. All named units belong to the same organisation.
    `rendered`: whether it is a rendered kustomization or chart.
    `bases`: the folders of the bases of a kustomization.
    """

    path: str
    documents: tuple[Document, ...]
    named: bool = False
    rendered: bool = False
    bases: frozenset[str] = frozenset()


@dataclass(slots=True)
class Survey:
    """The result of reading a selection.

    `folders`: the folders that the user has named.
    `unreadable`: the files that cannot be read.
    `passed`: the files that were skipped.
    `notes`: sentences about kustomizations and charts that could not be rendered.
    `files`: the number of files, including skipped ones.
    `excluded`: the folders that are excluded as a whole.
    """

    units: list[ReadUnit] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    passed: list[PassedOver] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: int = 0
    excluded: list[str] = field(default_factory=list)

    @property
    def skipped(self) -> list[PassedOver]:
        """The skipped files, and the excluded folders."""
        return [*self.passed, *(PassedOver(each, PassedOverReason.EXCLUDED) for each in self.excluded)]

    @property
    def hidden(self) -> set[Ref]:
        """The objects of templates, of charts that were not rendered, of unreadable files, and inside other objects.

        Those with an unknown name have none.
        """
        unreadable = {each.place.file for each in self.unreadable}
        carried = (carried_objects(each.manifest) for each in self.documents())
        return {ref for each in self.passed for ref in each.hides}.union(*map(_hidden, unreadable), *carried)

    def documents(self) -> Iterator[Document]:
        for unit in self.units:
            yield from unit.documents

    def take(self, found: Iterable[Found], named: bool) -> None:
        """Add documents, as one unit for each file, and add unreadable and skipped files."""
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

    Raises OutOfReach if --kustomize or --helm is used and the program is not installed.
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
            elif os.path.isdir(source):
                made.folders.append(source)
                _survey_folder(made, look(source, selection.exclusion), files, render)
            else:
                made.files += 1
                made.take(files.named(source), named=True)
    _rendered_inputs(made, selection)
    return made


def _survey_folder(made: Survey, folder: Folder, files: Files, render: bool) -> None:
    made.excluded += folder.excluded
    made.files += len(folder.files) + len(folder.passed) + sum(map(len, folder.charts.values()))
    used = _build_all(made, folder) if render else set()
    folder.files = [file for file in folder.files if os.path.normpath(file) not in used]
    made.take(files.below(folder), named=False)
    charts = [chart for chart, its in folder.charts.items() if _mentions(its)]
    unrendered = _render_charts(made, charts) if render else charts
    made.passed += [
        PassedOver(file, PassedOverReason.CHART, _hidden(file) if chart in unrendered else frozenset())
        for chart, its in folder.charts.items()
        for file in its
    ]


def _build_all(made: Survey, folder: Folder) -> set[str]:
    """Build the kustomizations that change relevant resources. Returns the normalized paths of their files."""
    wanted = [each for each in builds(folder.kustomizations) if not each.plain and _mentions(each.files)]
    used: set[str] = set()
    for build, result in zip(wanted, _run_concurrently(_build, wanted), strict=True):
        if isinstance(result, str):
            made.notes.append(f"{build.top.folder}: not built: {result}; its files are read as they are")
            continue
        made.units.append(ReadUnit(build.top.folder, tuple(result), rendered=True, bases=build.bases))
        used |= build.files
        if any(read_config_map(each.manifest) for each in result):
            used |= build.generated  # they are in this ConfigMap
    return used


def _build(build: KustomizeBuild) -> list[Document] | str:
    from cli.input.external.rendering import kustomize  # here, since what runs programs loads slowly

    return build.hindrance or _rendered(lambda: kustomize(build.top.folder))


def _render_charts(made: Survey, charts: Sequence[str]) -> list[str]:
    """Render the charts. Returns those that cannot be rendered."""
    failed: list[str] = []
    for chart, result in zip(charts, _run_concurrently(_chart, charts), strict=True):
        if isinstance(result, str):
            made.notes.append(f"{chart}: not rendered: {result}")
            failed.append(chart)
        else:
            made.units.append(ReadUnit(chart, tuple(result), rendered=True))
    return failed


def _chart(chart: str) -> list[Document] | str:
    from cli.input.external.rendering import helm  # here, since what runs programs loads slowly

    return _rendered(lambda: helm(chart))


def _rendered(render: Callable[[], Iterable[Document | Unreadable]]) -> list[Document] | str:
    """The manifests, or a line with the reason why they could not be rendered."""
    try:
        found = list(render())
    except OutOfReach as error:
        return error.message.partition("; ")[0].partition(": ")[2]
    broken = next((each.message for each in found if isinstance(each, Unreadable)), None)
    if broken is not None:
        line = " ".join(broken.split())
        return line if len(line) <= _MOST_SAID else f"... {line[-_MOST_SAID:]}"
    return [each for each in found if isinstance(each, Document)]


def _run_concurrently(function: Callable[[T], R], values: Sequence[T]) -> list[R]:
    if not values:
        return []
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(function, values))


def _hidden(file: str) -> frozenset[Ref]:
    try:
        return hidden_kinds(read_regular(file, MAX_SIZE)[0])
    except (OSError, ValueError):
        return frozenset()


def _mentions(files: Iterable[str]) -> bool:
    return any(mentions(file, JUDGED, MAX_SIZE) for file in files)


def _rendered_inputs(made: Survey, selection: InputSelection) -> None:
    """Render the folders and charts of --kustomize and --helm."""
    if not selection.kustomizations and not selection.charts:
        return
    from cli.input.external.rendering import helm, kustomize  # here, since what runs programs loads slowly

    before = len(made.units)
    for folder in selection.kustomizations:
        made.take(kustomize(folder), named=True)
    for chart in selection.charts:
        made.take(helm(chart, selection.values), named=True)
    made.files += len({unit.path for unit in made.units[before:]})  # the source files of what was rendered
