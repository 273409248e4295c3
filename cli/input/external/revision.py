"""Reads the inputs of a command from another revision of the Git repository.

The files are read with `git ls-tree` and `git cat-file` and written into a temporary folder, so that folders, patterns,
kustomizations and charts are read as usual. The checkout, the index and the configuration are not changed, and no
filter runs.
"""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.context import Revision
from analysis.inputs import InputObjects, Placed, identify
from cli.exits import Misused, OutOfReach
from cli.input.documents import STDIN, expand, noted
from cli.input.external.git import LINK, Blob, Git
from cli.input.folders import RENDERED_FROM, PathExclusion
from cli.input.hidden import hidden
from cli.input.root_paths import BaseOfRoot, those_that_differ
from cli.input.selection import InputSelection
from cli.input.survey import Survey, survey
from cli.output import note


def read_base(name: str, selection: InputSelection, now: Survey) -> tuple[Revision, list[BaseOfRoot]]:
    """The merge base, and its inputs, by root if these contradict each other and differ from `now`.

    The merge base is the last common ancestor of `name` and HEAD, so later additions to `name` do not count as deleted.
    Inputs that do not exist in the merge base are left out. Raises OutOfReach if git fails, and Misused for inputs that
    have no revision.
    """
    with at_base(name, selection) as base:
        found = survey(base.selection)
        for line in found.notes:
            note(base.spelled(line))
        return base.revision, [
            _of_root(base, path, after, before) for path, after, before in those_that_differ(now, found, base.moved)
        ]


def _of_root(base: Base, path: str, now: Survey, before: Survey) -> BaseOfRoot:
    inputs = identify(before.documents(), before.unreadable)
    hides = hidden(inputs.objects, before.skipped, now.skipped, base.moved)
    return BaseOfRoot(base.place(path) if path else "", now, noted(base.named(inputs)), hides)


@dataclass(frozen=True, slots=True)
class Base:
    """The inputs of a revision, in a temporary folder."""

    name: str
    revision: Revision
    selection: InputSelection
    _mirror: _Mirror

    def moved(self, path: str) -> str:
        """The path in the temporary folder. It need not exist there."""
        return os.path.normpath(self._mirror.moved(path))

    def named(self, inputs: InputObjects) -> InputObjects:
        """The inputs, with places in the revision instead of the folder."""
        objects = {ref: self._placed(placed) for ref, placed in inputs.objects.items()}
        unreadable = tuple(
            replace(
                each, place=replace(each.place, file=self.place(each.place.file)), message=self.spelled(each.message)
            )
            for each in inputs.unreadable
        )
        repeated = tuple(
            replace(each, first=self._placed(each.first), second=self._placed(each.second)) for each in inputs.repeated
        )
        return replace(inputs, objects=objects, unreadable=unreadable, repeated=repeated)

    def _placed(self, placed: Placed) -> Placed:
        return replace(placed, document=replace(placed.document, source=self.place(placed.document.source)))

    def spelled(self, text: str) -> str:
        """The text, with places in the revision instead of paths in the folder."""
        there = str(self._mirror.there)
        return text.replace(f"{os.path.relpath(there)}/", f"{self.name}:").replace(f"{there}/", f"{self.name}:")

    def place(self, file: str) -> str:
        """A file of the temporary folder, written as in Git: `REVISION:file`."""
        return f"{self.name}:{Path(os.path.relpath(file, self._mirror.there)).as_posix()}"


@contextmanager
def at_base(name: str, selection: InputSelection) -> Iterator[Base]:
    """The inputs of the merge base in a temporary folder. Raises the errors of `read_base`."""
    if "-" in selection.paths and selection.stdin_name == STDIN:
        raise Misused("--base: standard input has no other revision; name its file with --stdin-filename")
    git = Git.around(next(iter(selection.places), "."))
    revision = git.ancestor(name)
    with tempfile.TemporaryDirectory(prefix="quotree-") as made:
        there = Path(made).resolve()
        mirror = _Mirror(git.root, there)
        mirror.fill(git, mirror.wanted(selection, git.listed(revision.commit)))
        yield Base(name, revision, mirror.selection(selection), mirror)


@dataclass(frozen=True, slots=True)
class _Mirror:
    """The checkout `root`, and the folder `there` with the files of the revision."""

    root: Path
    there: Path

    def selection(self, selection: InputSelection) -> InputSelection:
        """The inputs that exist in the folder. Paths outside of the checkout have no revision."""
        paths = (self.moved(path) for path in _files(selection))
        return InputSelection(
            tuple(found for path in paths for found in expand(path)),
            tuple(filter(os.path.isdir, map(self.moved, selection.kustomizations))),
            tuple(self._in_place(selection.charts)),
            tuple(self._in_place(selection.values)),
            exclusion=self._exclusion(selection.exclusion),
        )

    def _exclusion(self, exclusion: PathExclusion) -> PathExclusion:
        here = self._within(".")
        start = "" if here.startswith("..") else f"{self.there}/{here}"
        apart = (path for path in exclusion.apart if not self._within(path).startswith(".."))
        return PathExclusion(exclusion.patterns, start, frozenset(map(self.moved, apart)), str(self.there))

    def wanted(self, selection: InputSelection, blobs: Iterable[Blob]) -> list[Blob]:
        """The files that are needed. A kustomization or a chart may need any file."""
        if selection.kustomizations or selection.charts:
            return list(blobs)
        named = set(map(self._within, _files(selection)))
        return [blob for blob in blobs if blob.path.lower().endswith(RENDERED_FROM) or blob.path in named]

    def fill(self, git: Git, blobs: Sequence[Blob]) -> None:
        """Write the files into the folder. Links are created last, so that no file is written through a link.

        Links that lead out of the folder are removed. An entry `.git` marks the folder as the root of a checkout for
        kustomize and helm.
        """
        ids = list(dict.fromkeys(blob.id for blob in blobs))
        contents = dict(zip(ids, git.contents(ids), strict=True)) if ids else {}
        (self.there / ".git").mkdir()
        links = []
        try:
            for blob in sorted(blobs, key=lambda blob: blob.mode == LINK):
                target = self.there / blob.path
                if not self._is_inside(target):
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                if blob.mode == LINK:
                    links.append(target)
                    _link(target, contents[blob.id])
                else:
                    target.write_bytes(contents[blob.id])
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            raise OutOfReach(f"--base: the file {blob.path} cannot be written: {error}") from error
        for link in links:
            if link.is_symlink() and not Path(os.path.realpath(link)).is_relative_to(self.there):
                link.unlink()

    def _is_inside(self, target: Path) -> bool:
        """Whether the target is in the folder, and not in `.git`, also after the links on its way are followed."""
        within = Path(os.path.relpath(Path(os.path.realpath(target.parent)) / target.name, self.there))
        return not within.is_absolute() and within.parts[:1] not in ((), ("..",)) and within.parts[0].lower() != ".git"

    def _in_place(self, paths: Sequence[str]) -> Iterator[str]:
        """The paths in the folder. Charts of a repository are left out, since they are not part of the checkout."""
        for path in paths:
            if not os.path.lexists(path) or _leads_out(self._within(path)):
                yield path
            elif os.path.lexists(moved := self.moved(path)):
                yield moved

    def moved(self, path: str) -> str:
        """The same path in the folder of the revision. Raises Misused if the path is outside the checkout."""
        within = self._within(path)
        if _leads_out(within):
            raise Misused(f"--base: {path} is not in the checkout {self.root}; judge it without --base")
        folder = str(self.there)
        return f"{glob.escape(folder) if glob.has_magic(path) else folder}/{within}"

    def _within(self, path: str) -> str:
        """The path relative to the checkout; outside of it, it begins with `..`. A link at its end is not followed."""
        whole = Path(os.path.normpath(Path(path).absolute()))
        return Path(os.path.relpath(whole.parent.resolve() / whole.name, self.root)).as_posix()


def _leads_out(within: str) -> bool:
    return within.split("/", 1)[0] == ".."


def _link(place: Path, target: bytes) -> None:
    """Create a link. If the system has no links, create a file with the target as its content, as git does."""
    try:
        place.symlink_to(os.fsdecode(target))
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        place.write_bytes(target)


def _files(selection: InputSelection) -> Iterator[str]:
    return (selection.stdin_name if path == "-" else path for path in selection.paths)
