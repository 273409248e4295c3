"""The same inputs as they are in another revision of the Git repository.

Files are read with `git ls-tree` and `git cat-file` and written into a folder of their own, so that folders, patterns,
kustomizations and charts are read as always. No checkout, index or configuration is touched, and no filter runs.
"""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from cli.exits import Misused, OutOfReach
from cli.input.context import Revision
from cli.input.documents import EXTENSIONS, STDIN, expand
from cli.input.external import programs
from cli.input.external.programs import ProgramFailed
from cli.input.given import Given, Placed
from cli.input.selection import Selection, read
from policies.model.objects import Ref

_LINK = "120000"
_FILES = ("100644", "100755", _LINK)
_SHALLOW = "fetch more of the history first: git fetch --unshallow origin (actions/checkout: fetch-depth: 0)"


class _Blob(NamedTuple):
    mode: str
    id: str
    path: str


def read_base(name: str, selection: Selection, known: Mapping[Ref, Placed] | None = None) -> tuple[Revision, Given]:
    """The revision that this one was made from, and the inputs there; those that it does not have are left out.

    That is the last common ancestor of `name` and HEAD: what others have added to `name` since is not deleted here.
    Places are in Git's own spelling, `REVISION:file`. `known` as for `identify`. Raises OutOfReach where Git cannot
    answer, and Misused for inputs that have no revision.
    """
    git = _Git.around(selection)
    revision = git.ancestor(name)
    with tempfile.TemporaryDirectory(prefix="quotree-") as made:
        there = Path(made).resolve()
        mirror = _Mirror(git.root, there)
        git.write([blob for blob in git.listed(revision.commit) if mirror.wants(selection, blob.path)], there)
        return revision, _named(read(mirror.selection(selection), known), there, name)


@dataclass(frozen=True, slots=True)
class _Git:
    """The repository; `root` is the folder of its checkout."""

    program: str
    root: Path

    @classmethod
    def around(cls, selection: Selection) -> _Git:
        """The repository that holds the first input."""
        program = programs.find("git")
        if program is None:
            raise OutOfReach("--base: git is not on the PATH; install it")
        if "-" in selection.paths and selection.stdin_name == STDIN:
            raise Misused("--base: standard input has no other revision; name its file with --stdin-filename")
        start = Path(next(iter(selection.places), ".")).absolute()
        folder = next(each for each in (start, *start.parents) if each.is_dir())
        try:
            found = programs.run([program, "rev-parse", "--show-toplevel"], folder)
        except ProgramFailed as failure:
            raise OutOfReach(f"--base: {folder} is in no checkout of Git: {failure}") from failure
        return cls(program, Path(os.fsdecode(found).rstrip("\n")).resolve())

    def ancestor(self, name: str) -> Revision:
        commit = self._line(
            f"{name} is no revision here", "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}"
        )
        ancestor = self._line(f"{name} and HEAD have no common ancestor here", "merge-base", commit, "HEAD")
        seconds = self._line(f"{name} cannot be read", "show", "--no-patch", "--format=%ct", ancestor)
        return Revision(name, ancestor, datetime.fromtimestamp(int(seconds), UTC))

    def listed(self, commit: str) -> Iterator[_Blob]:
        """The files and links of a commit; submodules are other repositories."""
        for entry in self._run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            about, tab, path = entry.partition(b"\t")
            if tab:
                mode, _, id = about.decode().split()
                if mode in _FILES:
                    yield _Blob(mode, id, os.fsdecode(path))

    def write(self, blobs: Sequence[_Blob], folder: Path) -> None:
        """These files below the folder. Links come last, so that nothing is written through one."""
        ids = list(dict.fromkeys(blob.id for blob in blobs))
        contents = dict(zip(ids, self._contents(ids), strict=True)) if ids else {}
        for blob in sorted(blobs, key=lambda blob: blob.mode == _LINK):
            target = folder / blob.path
            if not _is_inside(blob.path):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if blob.mode != _LINK:
                target.write_bytes(contents[blob.id])
            elif _is_inside(str(Path(blob.path).parent / os.fsdecode(contents[blob.id]))):
                target.symlink_to(os.fsdecode(contents[blob.id]))

    def _contents(self, ids: Sequence[str]) -> Iterator[bytes]:
        output = self._run("cat-file", "--batch", stdin="\n".join([*ids, ""]).encode())
        start = 0
        for _ in ids:
            end = output.index(b"\n", start)
            size = int(output[start:end].rpartition(b" ")[2])
            yield output[end + 1 : end + 1 + size]
            start = end + size + 2

    def _line(self, problem: str, *arguments: str) -> str:
        try:
            return programs.run([self.program, *arguments], self.root).decode().strip()
        except ProgramFailed as failure:
            raise OutOfReach(f"--base: {problem} ({failure}); {_SHALLOW}") from failure

    def _run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        try:
            return programs.run([self.program, *arguments], self.root, stdin=stdin)
        except ProgramFailed as failure:
            raise OutOfReach(f"--base: git {arguments[0]}: {failure}") from failure


def _is_inside(path: str) -> bool:
    """Whether a path of a tree stays in it."""
    parts = os.path.normpath(path).split("/")
    return not path.startswith("/") and parts[0] not in ("..", ".git") and "\0" not in path


@dataclass(frozen=True, slots=True)
class _Mirror:
    """The checkout `root`, and the folder `there` that stands for it."""

    root: Path
    there: Path

    def selection(self, selection: Selection) -> Selection:
        """The same inputs in the folder, as far as it has them. What is outside of the checkout has no revision."""
        paths = (self._moved(path) for path in _files(selection))
        return Selection(
            tuple(found for path in paths for found in expand(path)),
            tuple(filter(os.path.isdir, map(self._moved, selection.kustomizations))),
            tuple(self._in_place(selection.charts)),
            tuple(self._in_place(selection.values)),
        )

    def wants(self, selection: Selection, path: str) -> bool:
        """Whether the file is needed: a kustomization or a chart may name any file."""
        if selection.kustomizations or selection.charts or path.lower().endswith(EXTENSIONS):
            return True
        return any(self._within(each) == path for each in _files(selection))

    def _in_place(self, paths: Sequence[str]) -> Iterator[str]:
        """Moved where they are part of the checkout; a chart in a repository is the same in all revisions."""
        for path in paths:
            if not os.path.lexists(path) or self._within(path).startswith(".."):
                yield path
            elif os.path.lexists(moved := self._moved(path)):
                yield moved

    def _moved(self, path: str) -> str:
        """Raises Misused for what is outside of the checkout."""
        within = self._within(path)
        if within.startswith(".."):
            raise Misused(f"--base: {path} is not in the checkout {self.root}; judge it without --base")
        folder = str(self.there)
        return f"{glob.escape(folder) if glob.has_magic(path) else folder}/{within}"

    def _within(self, path: str) -> str:
        """The path in the checkout; it begins with `..` where it is elsewhere. A link at its end is not followed."""
        whole = Path(os.path.normpath(Path(path).absolute()))
        return os.path.relpath(whole.parent.resolve() / whole.name, self.root)


def _files(selection: Selection) -> Iterator[str]:
    return (selection.stdin_name if path == "-" else path for path in selection.paths)


def _named(inputs: Given, folder: Path, revision: str) -> Given:
    """The inputs with places in the revision in place of those in the folder."""

    def name(file: str) -> str:
        return f"{revision}:{os.path.relpath(file, folder)}"

    objects = {
        ref: replace(placed, document=replace(placed.document, source=name(placed.document.source)))
        for ref, placed in inputs.objects.items()
    }
    unreadable = tuple(
        replace(each, place=replace(each.place, file=name(each.place.file))) for each in inputs.unreadable
    )
    return replace(inputs, objects=objects, unreadable=unreadable)
