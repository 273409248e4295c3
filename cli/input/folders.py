"""The content of a folder: files to read, charts, kustomizations, and files that are passed over."""

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

if TYPE_CHECKING:  # it takes long to load
    from pathspec import GitIgnoreSpec

EXTENSIONS = (".yaml", ".yml", ".json")
IGNORE_FILE = ".quotreeignore"
RENDERED_FROM = (*EXTENSIONS, ".tpl", ".txt", ".env", ".properties", "kustomization", IGNORE_FILE)
"""Endings, in lower case, of the files that decide how a folder is read and rendered."""
_CHART = "Chart.yaml"
_CHART_FOLDERS = ("templates", "charts", "crds", "ci")
_CHART_FILES = re.compile(r"(?:Chart|values|requirements).*|\.helmignore|.*\.lock").fullmatch
_MOST_PATTERNS = 2**16
"""Bytes of a .quotreeignore."""
_WORDS = (b"kueue", b"volcano", b"yunikorn", b"Queue", b"Cohort", b"ResourceFlavor", b"PodGroup")
"""Every match of `_OURS` contains one of them; the search for these is faster."""
_OURS = re.compile(
    rb"""kueue[a-z0-9.-]*\.io\b|volcano\.sh\b|yunikorn
    |\bkind["']?\s*:\s*["']?(?:ClusterQueue|LocalQueue|ResourceFlavor|Cohort|Queue|PodGroup)\b""",
    re.VERBOSE,
)
"""An API group, label or annotation of one of the three projects, also with a slip in it, or a kind that only they
have."""
_VERSION = re.compile(rb"""^["']?apiVersion["']?\s*:\s*["']?([^\s"'#]+)""", re.MULTILINE)
"""The apiVersion of a manifest at the top level."""
_OBJECT = re.compile(rb"\b(?:apiVersion|partitions)\b")
JUDGED = re.compile(
    rb"""apiVersion["']?\s*:\s*["']?(?:kueue|[a-z]+\.volcano\.sh)|kueue\.x-k8s\.io/queue-name|volcano\.sh/|yunikorn"""
)
"""An object of theirs, or work that asks for their queues: neither a CRD nor a role."""


def mentions_ours(data: bytes) -> bool:
    return any(word in data for word in _WORDS) and _OURS.search(data) is not None


def is_ours(data: bytes) -> bool:
    """Whether an unreadable file concerns us: it mentions one of the projects, and is not a manifest of another one."""
    if not mentions_ours(data):
        return False

    groups = {version.rpartition(b"/")[0].decode(errors="replace") for version in _VERSION.findall(data)}
    read = {kind.group for kind in READERS}
    return not groups or any(group in read or mentions_ours(group.encode()) for group in groups)


def may_hold_objects(data: bytes) -> bool:
    """Whether it may hold a manifest, possibly without a version, or queues of YuniKorn."""
    return _OBJECT.search(data) is not None or mentions_ours(data)


class PassedOverReason(StrEnum):
    """Why a file of a folder is not judged, as the summary counts it."""

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
    file: str
    reason: PassedOverReason


@dataclass(slots=True)
class Folder:
    """`files` are to be read; `charts` have the files of each outermost chart. `failures` are folders that cannot be
    listed."""

    files: list[str] = field(default_factory=list)
    passed: list[PassedOver] = field(default_factory=list)
    charts: dict[str, list[str]] = field(default_factory=dict)
    kustomizations: list[Kustomization] = field(default_factory=list)
    failures: list[OSError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PathExclusion:
    """Patterns of --exclude, in the syntax of .gitignore. `start` is the folder that they start from; "" is here.

    `apart` are absolute paths that are read on their own. `top` is the folder up to which a .quotreeignore counts; ""
    is the checkout.
    """

    patterns: tuple[str, ...] = ()
    start: str = ""
    apart: frozenset[str] = frozenset()
    top: str = ""


def look(path: str, exclusion: PathExclusion | None = None) -> Folder:
    """The files with a manifest's ending below a folder, in the order of their names, without hidden folders."""
    found, ignored = Folder(), _Ignored(path, exclusion or PathExclusion())
    for directory, inner, names in os.walk(path, onerror=found.failures.append):
        directory = tidy(directory)
        ignored.enter(directory, names)
        inner[:] = sorted(each for each in inner if not each.startswith(".") and not ignored.folder(directory, each))
        chart = _around(directory, found.charts)
        if chart is None and _CHART in names and (Path(directory) / _CHART).is_file():
            found.charts[chart := directory] = []
        for name in sorted(names):
            file = joined_path(directory, name)
            if chart is not None and _is_of_chart(path_within(file, chart) or ""):
                found.charts[chart].append(file)
            elif name.lower().endswith(EXTENSIONS):
                _sort_in(found, file, ignored)
        if chart is None or chart == directory:
            named = (each for each in KUSTOMIZATION_FILES if each in names)
            found.kustomizations += filter(None, (read_kustomization(directory, each) for each in named))
    _without_patches(found)
    return found


def _around(directory: str, charts: Iterable[str]) -> str | None:
    """The chart that the folder is a part of."""
    return next(
        (it for it in charts if (inner := path_within(directory, it)) is not None and _is_of_chart(f"{inner}/.")), None
    )


def _is_of_chart(path: str) -> bool:
    """Whether Helm reads the file, by its path in the chart; other files there are not part of it."""
    first, _, inner = path.partition("/")
    return first in _CHART_FOLDERS if inner else bool(_CHART_FILES(first))


def _sort_in(found: Folder, file: str, ignored: _Ignored) -> None:
    if ignored.file(file):
        found.passed.append(PassedOver(file, PassedOverReason.EXCLUDED))
    elif os.path.islink(file) and not os.path.exists(file):  # noqa: PTH110, PTH114, a Path for each costs more than the look
        found.passed.append(PassedOver(file, PassedOverReason.NO_FILE))
    else:
        found.files.append(file)


def _without_patches(found: Folder) -> None:
    """A patch has the kind and name of its target, but is not an object."""
    resources = {_normal(each) for it in found.kustomizations for each in it.resources}
    patches = {_normal(each) for it in found.kustomizations for each in it.others} - resources
    found.passed += [PassedOver(file, PassedOverReason.PATCH) for file in found.files if _normal(file) in patches]
    found.files = [file for file in found.files if _normal(file) not in patches]


def _normal(path: str) -> str:
    return os.path.normpath(path)


class _Ignored:
    """The patterns of --exclude, and of each .quotreeignore in the folder, below it, and above it in the checkout."""

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

        self._specs.append((str(folder), GitIgnoreSpec.from_lines(patterns)))

    def folder(self, directory: str, name: str) -> bool:
        return self._matches(f"{directory}/{name}", "/")

    def file(self, path: str) -> bool:
        return self._matches(path, "")

    def _matches(self, path: str, end: str) -> bool:
        """The last pattern that matches the path decides, as in Git."""
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
    """The folders above the start, up to the top; empty outside of a checkout."""
    folders = list(start.parents)
    last = next((at for at, each in enumerate([start, *folders]) if str(each) == top or (each / ".git").exists()), 0)
    yield from folders[:last]
