"""Runs git in a checkout with untrusted files. The commands only read objects, and git runs no other program."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from analysis.context import Revision
from cli.exits import OutOfReach
from cli.input.external import programs
from cli.input.external.programs import ProgramFailed
from cli.links import enclosing, leads_out
from policies.model.suggestion import close

LINK = "120000"
_FILES = ("100644", "100755", LINK)
_SHALLOW = "fetch more of the history first: git fetch --unshallow origin (actions/checkout: fetch-depth: 0)"
_LISTED = 8
"""The maximum number of branches and tags that a message lists."""
_FETCH = "check the name; `git fetch origin` gets revisions that are newer than this clone"
_PARTIAL = (
    "this clone is partial, and no objects are fetched; clone without --filter (actions/checkout: without filter)"
)
_OPTIONS = (
    "--no-pager",
    "--no-replace-objects",
    "--no-optional-locks",
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "log.showSignature=false"),
)
_OFFLINE = {
    "GIT_ALLOW_PROTOCOL": "none",  # overrides any configuration, including that of remotes and helpers
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_GRAFT_FILE": os.devnull,
}
_KEPT = ("GIT_CONFIG_", "GIT_EXEC_PATH")
"""Git's variables that are passed on, such as for safe folders. Others are removed: they may redirect git."""
_RULES = ("refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
"""The refs that a short name may stand for. Source: gitrevisions(7)."""


class Blob(NamedTuple):
    mode: str
    id: str
    path: str


@dataclass(frozen=True, slots=True)
class Git:
    """A repository. `program`: the path of git. `root`: the folder of the checkout."""

    program: str
    root: Path

    @classmethod
    def around(cls, path: str) -> Git:
        """The repository of the checkout that contains this input. Raises OutOfReach."""
        program = programs.find("git")
        if program is None:
            raise OutOfReach("--base: git is not on the PATH; install it")
        git = cls(program, checkout_of(path))
        git._line(f"{git.root} is not a checkout that git can read", "rev-parse", "--git-dir")
        return git

    def ancestor(self, name: str) -> Revision:
        """The last common ancestor of this revision and HEAD. Raises OutOfReach, also if the name is ambiguous."""
        verify = ("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
        commit = self._line(f"{name} is not a revision here", *verify, cure=lambda: self._known(name))
        self._refuse_ambiguous(name)
        problem = f"{name} and HEAD have no common ancestor here"
        ancestor = self._line(problem, "merge-base", commit, "HEAD", cure=lambda: _SHALLOW if self._shallow() else "")
        listed = self._line(f"{name} cannot be read", "rev-list", "--max-count=1", "--timestamp", ancestor)
        try:
            return Revision(name, ancestor, datetime.fromtimestamp(int(listed.split()[0]), UTC))
        except (ValueError, OverflowError, OSError) as error:
            raise OutOfReach(f"--base: the commit {ancestor} has no valid time") from error

    def _shallow(self) -> bool:
        return self.run("rev-parse", "--is-shallow-repository").strip() == b"true"

    def _known(self, name: str) -> str:
        """A hint for an unknown revision: a similar name, how to fetch it, or the names in this clone."""
        if self._shallow():
            return _SHALLOW
        names = self.run("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
        known = names.decode("utf-8", "replace").split()
        near = close(name, known)
        listed = f"{', '.join(known[:_LISTED])}{' ...' if len(known) > _LISTED else ''}"
        return f"did you mean {near!r}?" if near else f"{_FETCH}{f'; this clone has {listed}' if known else ''}"

    def _refuse_ambiguous(self, name: str) -> None:
        """Refuse a name of both a tag and a branch: git would use the tag, and a pull request may add either."""
        short = re.split(r"[\^~:]|@\{", name, maxsplit=1)[0]
        named = [rule.format(short) for rule in _RULES]
        format = "--format=%(refname) %(objectname) %(*objectname)"
        lines = [line.split() for line in self.run("for-each-ref", format, *named).decode().splitlines()]
        found = {ref: peeled[-1] for ref, *peeled in lines if ref in named}
        if len(set(found.values())) > 1:
            raise OutOfReach(f"--base: {short} may be {' or '.join(sorted(found))}; write it in full")

    def listed(self, commit: str) -> Iterator[Blob]:
        """The files and links of a commit, without submodules, which are other repositories."""
        for entry in self.run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            about, tab, path = entry.partition(b"\t")
            if tab:
                mode, _, id = about.decode().split()
                if mode in _FILES:
                    yield Blob(mode, id, os.fsdecode(path))

    def contents(self, ids: Sequence[str]) -> Iterator[bytes]:
        """The contents of these blobs, in their order. Raises OutOfReach if one is not in the clone."""
        output = self.run("cat-file", "--batch", stdin="\n".join([*ids, ""]).encode())
        start = 0
        for id in ids:
            end = output.index(b"\n", start)
            about = output[start:end].split(b" ")
            if len(about) != 3:  # `ID missing`
                raise OutOfReach(f"--base: git has no object {id}; {_PARTIAL}")
            size = int(about[2])
            yield output[end + 1 : end + 1 + size]
            start = end + size + 2

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """The output of a plumbing command of git. Raises OutOfReach."""
        try:
            return self._output(*arguments, stdin=stdin)
        except ProgramFailed as failure:
            cure = f"; {_PARTIAL}" if "promisor" in str(failure) else ""
            raise OutOfReach(f"--base: git {arguments[0]}: {failure}{cure}") from failure

    def _line(self, problem: str, *arguments: str, cure: Callable[[], str] = str) -> str:
        try:
            return self._output(*arguments).decode("utf-8", "surrogateescape").strip()
        except ProgramFailed as failure:
            raise OutOfReach("; ".join(filter(None, (f"--base: {problem} ({failure})", cure())))) from failure

    def _output(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git in the root of the checkout. It does not search parent folders, so it uses this repository."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_") or key.startswith(_KEPT)}
        environment = {**kept, **_OFFLINE, "GIT_CEILING_DIRECTORIES": str(self.root.parent)}
        return programs.run([self.program, *_OPTIONS, *arguments], self.root, stdin=stdin, environment=environment)


def checkout_of(path: str) -> Path:
    """The root of the checkout that contains this input, by its entry `.git`, which no commit can contain.

    The input itself need not exist. Git also accepts a folder with HEAD, objects/ and refs/ as a bare repository. A
    pull request may add such files, and with them a configuration that names programs for git to run. Therefore such
    folders are refused.
    Raises OutOfReach outside a checkout, and if a pull request may have redirected git to another repository: by
    a folder that looks like one, by a submodule, or by a link.
    """
    whole = Path(os.path.normpath(Path(path).absolute()))
    place = whole.parent.resolve() / whole.name
    folder = next(
        each for each in (place, *place.parents) if os.path.isdir(each) and not (each == place and each.is_symlink())
    )
    root = enclosing(folder)
    for each in (folder, *folder.parents):
        if _looks_bare(each):
            raise OutOfReach(
                f"--base: {each} looks like a bare repository of Git: HEAD, objects and refs are among its files, and"
                " git would run the programs that they name; remove them"
            )
        if each == root:
            break
    if root is None:
        raise OutOfReach(f"--base: {folder} is not in a Git checkout; name files of a checkout")
    if real := leads_out(whole.parent):
        raise OutOfReach(f"--base: {path} leads out of the checkout through a link, to {real}; name what it leads to")
    outer = enclosing(root.parent)
    if outer is not None and _is_submodule(root):
        raise OutOfReach(
            f"--base: {root} is a submodule of {outer}, and has its own revisions; judge it in a clone of its own"
        )
    return root


def _looks_bare(folder: Path) -> bool:
    """Whether git would accept the folder as a bare repository. With `commondir`, some parts may be elsewhere."""
    parts = (folder / "objects", folder / "refs")
    return os.path.lexists(folder / "HEAD") and (all(map(os.path.lexists, parts)) or (folder / "commondir").exists())


def _is_submodule(root: Path) -> bool:
    """Whether `.git` is a file as in a submodule. The file of a linked worktree leads to a folder with `commondir`."""
    try:
        named = (root / ".git").read_text("utf-8", "surrogateescape").removeprefix("gitdir:").strip()
    except OSError:  # `.git` is a folder
        return False
    return not (root / named / "commondir").exists()
