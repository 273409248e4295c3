"""Searches a folder for files to read, charts, kustomizations, and files to skip."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from cli.input.kustomizations import FILES as KUSTOMIZATION_FILES
from cli.input.kustomizations import Kustomization, read_kustomization
from cli.input.paths import joined_path, path_within, tidy
from cli.input.regular_file import read_regular
from policies.dialects import READERS
from policies.model.objects import Ref

if TYPE_CHECKING:  # it takes long to load
    from pathspec import GitIgnoreSpec

EXTENSIONS = (".yaml", ".yml", ".json")
TEMPLATE_EXTENSIONS = (
    ".tftpl",
    *(
        f".{format_}.{program}"
        for format_ in ("yaml", "yml")
        for program in ("erb", "example", "gotmpl", "j2", "jinja", "jinja2", "sample", "template", "tmpl", "tpl")
    ),
)
"""Endings of the files from which other programs, or people, make manifests."""
IGNORE_FILE = ".quotreeignore"
RENDERED_FROM = (*EXTENSIONS, *TEMPLATE_EXTENSIONS, ".tpl", ".txt", ".env", ".properties", "kustomization", IGNORE_FILE)
"""Lower-case endings of the files that have an effect on how a folder is read and rendered."""
_CHART = "Chart.yaml"
_CHART_FOLDERS = ("templates", "charts", "crds", "ci")
_CHART_FILES = re.compile(r"(?:Chart|values|requirements).*|\.helmignore|.*\.lock").fullmatch
_MOST_PATTERNS = 2**16
"""The maximum size of a .quotreeignore in bytes."""
_WORDS = (b"kueue", b"volcano", b"yunikorn", b"Queue", b"Cohort", b"ResourceFlavor", b"PodGroup")
"""Every match of `_OURS` contains one of these words, whose search is faster."""
_OURS = re.compile(
    rb"""kueue[a-z0-9.-]*\.io\b|volcano\.sh\b|yunikorn
    |\bkind["']?\s*:\s*["']?(?:ClusterQueue|LocalQueue|ResourceFlavor|Cohort|Queue|PodGroup)\b""",
    re.VERBOSE,
)
"""Matches an API group, label or annotation of the three projects, even with a typing error, or one of their kinds."""
_VERSION = re.compile(rb"""^["']?apiVersion["']?\s*:\s*["']?([^\s"'#]+)""", re.MULTILINE)
"""Matches the apiVersion at the top level of a manifest."""
_OBJECT = re.compile(rb"\b(?:apiVersion|partitions)\b")
JUDGED = re.compile(
    rb"""apiVersion["']?\s*:\s*["']?(?:kueue|[a-z]+\.volcano\.sh)|kueue\.x-k8s\.io/queue-name|volcano\.sh/|yunikorn"""
)
"""Matches an object of the three projects, or work in their queues, but not their CRDs and roles."""


def mentions_ours(data: bytes) -> bool:
    return any(word in data for word in _WORDS) and _OURS.search(data) is not None


def is_ours(data: bytes) -> bool:
    """Whether an unreadable file mentions one of the three projects and has no apiVersion of another project only."""
    if not mentions_ours(data):
        return False

    groups = {version.rpartition(b"/")[0].decode(errors="replace") for version in _VERSION.findall(data)}
    read = {kind.group for kind in READERS}
    return not groups or any(group in read or mentions_ours(group.encode()) for group in groups)


def may_hold_objects(data: bytes) -> bool:
    """Whether the text may contain a manifest, even one without an apiVersion, or a queues.yaml."""
    return _OBJECT.search(data) is not None or mentions_ours(data)


class PassedOverReason(StrEnum):
    """The reasons why a file of a folder is not judged, in the words of the summary."""

    CHART = "of Helm charts"
    PATCH = "that kustomize patches with"
    TEMPLATE = "templates"
    OTHER_KINDS = "with other kinds only"
    NO_MANIFEST = "not Kubernetes manifests"
    BROKEN = "neither readable nor of these API groups"
    NO_FILE = "that lead to no file"
    EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A file that is skipped. `hides`: the objects that it declares; those with an unknown name have none."""

    file: str
    reason: PassedOverReason
    hides: frozenset[Ref] = frozenset()


@dataclass(slots=True)
class Folder:
    """The content of a folder.

    `files`: the files to read.
    `passed`: the files to skip, with the reason.
    `charts`: the path of each outermost chart to its files.
    `failures`: the errors of subfolders that cannot be listed.
    `excluded`: the subfolders that are excluded as a whole.
    """

    files: list[str] = field(default_factory=list)
    passed: list[PassedOver] = field(default_factory=list)
    charts: dict[str, list[str]] = field(default_factory=dict)
    kustomizations: list[Kustomization] = field(default_factory=list)
    failures: list[OSError] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PathExclusion:
    """The paths that a search skips.

    `patterns`: the patterns of --exclude, in the syntax of .gitignore.
    `start`: the folder that the patterns are relative to; empty for the working directory.
    `apart`: absolute paths that are read separately.
    `top`: the outermost folder whose .quotreeignore counts; empty for the root of the checkout.
    """

    patterns: tuple[str, ...] = ()
    start: str = ""
    apart: frozenset[str] = frozenset()
    top: str = ""


def look(path: str, exclusion: PathExclusion | None = None) -> Folder:
    """Search a folder and its subfolders, except hidden ones and Go's vendored modules, in the order of names."""
    found, ignored = Folder(), _Ignored(path, exclusion or PathExclusion())
    for directory, inner, names in os.walk(path, onerror=found.failures.append):
        directory = tidy(directory)
        ignored.enter(directory, names)
        inner[:] = sorted(each for each in inner if not (each.startswith(".") or _is_vendored(f"{directory}/{each}")))
        excluded = {each for each in inner if ignored.folder(directory, each)}
        found.excluded += (joined_path(directory, each) for each in excluded)
        inner[:] = (each for each in inner if each not in excluded)
        chart = _around(directory, found.charts)
        if chart is None and _CHART in names and (Path(directory) / _CHART).is_file():
            found.charts[chart := directory] = []
        for name in sorted(names):
            file = joined_path(directory, name)
            if chart is not None and _is_of_chart(path_within(file, chart) or ""):
                found.charts[chart].append(file)
            elif name.lower().endswith((*EXTENSIONS, *TEMPLATE_EXTENSIONS)):
                _classify(found, file, ignored)
        if chart is None or chart == directory:
            named = (each for each in KUSTOMIZATION_FILES if each in names)
            found.kustomizations += filter(None, (read_kustomization(directory, each) for each in named))
    _without_patches(found)
    return found


def _is_vendored(folder: str) -> bool:
    """Whether Go made the folder: a copy of the modules that the code uses, with the manifests of their tests."""
    return folder.endswith("/vendor") and os.path.isfile(f"{folder}/modules.txt")


def _around(directory: str, charts: Iterable[str]) -> str | None:
    """The chart that contains the folder; None if there is none."""
    return next(
        (it for it in charts if (inner := path_within(directory, it)) is not None and _is_of_chart(f"{inner}/.")), None
    )


def _is_of_chart(path: str) -> bool:
    """Whether Helm reads the file with this path in a chart. Other files are not part of the chart."""
    first, _, inner = path.partition("/")
    return first in _CHART_FOLDERS if inner else bool(_CHART_FILES(first))


def _classify(found: Folder, file: str, ignored: _Ignored) -> None:
    if ignored.file(file):
        found.passed.append(PassedOver(file, PassedOverReason.EXCLUDED))
    elif os.path.islink(file) and not os.path.exists(file):  # noqa: PTH114, a Path for each costs more than the look
        found.passed.append(PassedOver(file, PassedOverReason.NO_FILE))
    else:
        found.files.append(file)


def _without_patches(found: Folder) -> None:
    """Skip patches of kustomizations: a patch has the kind and name of its target, but is not an object."""
    resources = {os.path.normpath(each) for it in found.kustomizations for each in it.resources}
    patches = {os.path.normpath(each) for it in found.kustomizations for each in it.others} - resources
    found.passed += [
        PassedOver(file, PassedOverReason.PATCH) for file in found.files if os.path.normpath(file) in patches
    ]
    found.files = [file for file in found.files if os.path.normpath(file) not in patches]


def is_pattern(text: str) -> bool:
    """Whether the text is a valid pattern of .gitignore. In a file, other lines match nothing, as in Git."""
    from pathspec import GitIgnoreSpec  # here, since most folders have no patterns

    try:
        GitIgnoreSpec.from_lines([text])
    except (ValueError, re.error):
        return False
    return True


class _Ignored:
    """The patterns of --exclude, and of each .quotreeignore in the folder, its subfolders and its parents.

    Only parents in the checkout count.
    """

    def __init__(self, path: str, exclusion: PathExclusion) -> None:
        self._specs: list[tuple[str, GitIgnoreSpec]] = []
        self._apart = exclusion.apart
        start = Path(path).absolute()
        if exclusion.patterns:
            within = Path(exclusion.start).absolute()
            self._add(within if start.is_relative_to(within) else start, exclusion.patterns)
        for folder in reversed(list(_above(start, exclusion.top))):
            self.enter(str(folder), [IGNORE_FILE] if (folder / IGNORE_FILE).is_file() else [])

    def enter(self, directory: str, names: Sequence[str]) -> None:
        if IGNORE_FILE in names:
            self._add(Path(directory).absolute(), _lines(f"{directory}/{IGNORE_FILE}"))

    def _add(self, folder: Path, patterns: Iterable[str]) -> None:
        from pathspec import GitIgnoreSpec  # here, since most folders have no patterns

        self._specs.append((str(folder), GitIgnoreSpec.from_lines(filter(is_pattern, patterns))))

    def folder(self, directory: str, name: str) -> bool:
        return self._matches(f"{directory}/{name}", "/")

    def file(self, path: str) -> bool:
        return self._matches(path, "")

    def _matches(self, path: str, end: str) -> bool:
        """Whether the path is ignored. The last pattern that matches decides, as in Git."""
        if not self._specs and not self._apart:
            return False
        whole = os.path.abspath(path)  # noqa: PTH100, for many files
        ignored = whole in self._apart
        for folder, spec in self._specs:
            if whole.startswith(f"{folder.rstrip('/')}/"):
                result = spec.check_file(whole[len(folder.rstrip("/")) + 1 :] + end)
                ignored = ignored if result.include is None else result.include
        return ignored


def _lines(file: str) -> list[str]:
    """The lines of the file; empty if it is not a file, or cannot be read."""
    try:
        return read_regular(file, _MOST_PATTERNS)[0].decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _above(start: Path, top: str) -> Iterator[Path]:
    """The parents of `start` up to `top` or the root of the checkout; empty outside of a checkout."""
    folders = list(start.parents)
    last = next((at for at, each in enumerate([start, *folders]) if str(each) == top or (each / ".git").exists()), 0)
    yield from folders[:last]
