"""The version before this one: which commit it is, its files, and a Python that runs them.

A release has a tag; before the first one, `BEFORE_RELEASES` stands for it. `PREVIOUS_VERSION` names another revision.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from generators.release.commit import Commit

ROOT = Path(__file__).parents[1]
BEFORE_RELEASES = "dea52b602867bcc2c783cac98f73cfef702f627c"
"""The last commit without `make release`."""
_RELEASE = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
_CURE = "`git fetch --unshallow --tags` gets them, and so does `fetch-depth: 0` of actions/checkout"


class NoPreviousVersionError(Exception):
    """The version before is not in the history of this checkout; the text says what to do."""


@dataclass(frozen=True)
class Installation:
    """The files of a version, and the programs that run it with the dependencies of this environment."""

    root: Path
    python: Path

    @property
    def quotree(self) -> Path:
        return self.python.with_name("quotree")


def previous(root: Path = ROOT) -> str:
    """The commit of the newest release before HEAD, 40 hexadecimal digits. Raises NoPreviousVersionError."""
    wanted = os.environ.get("PREVIOUS_VERSION", "")
    if not wanted:
        at_head = _git(root, "tag", "--points-at", "HEAD").split()
        releases = set(_git(root, "tag", "--list", "--merged", "HEAD").split()) - set(at_head)
        wanted = max(filter(_RELEASE.fullmatch, releases), key=_number, default=BEFORE_RELEASES)
    try:
        return _git(root, "rev-parse", "--verify", "--quiet", f"{wanted}^{{commit}}").strip()
    except NoPreviousVersionError:
        if _git(root, "rev-parse", "--is-shallow-repository").strip() == "true":
            message = f"this clone is shallow: it has neither the tags nor {wanted}; {_CURE}"
            raise NoPreviousVersionError(message) from None
        message = f"{wanted} is not in the history of this checkout; PREVIOUS_VERSION names another revision"
        raise NoPreviousVersionError(message) from None


@contextmanager
def installed(revision: str) -> Iterator[Installation]:
    """The files of a commit in a folder of their own, ready to run; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="quotree-version-") as name:
        checkout = Path(name, revision[:12])
        Commit(ROOT, revision, 0, False).export(checkout)
        yield Installation(checkout, _python(checkout, Path(name, "python")))


@contextmanager
def current() -> Iterator[Installation]:
    """This checkout, changes that are not committed included, run in the same way."""
    with tempfile.TemporaryDirectory(prefix="quotree-version-") as name:
        yield Installation(ROOT, _python(ROOT, Path(name, "python")))


def _python(checkout: Path, folder: Path) -> Path:
    """A Python that finds this checkout's code; its `quotree` does so whatever its environment says."""
    venv.create(folder, with_pip=False)
    python, packages = folder / "bin" / "python", sysconfig.get_path("purelib", vars={"base": str(folder)})
    Path(packages, "checkout.pth").write_text(f"{checkout}\n{sysconfig.get_path('purelib')}\n")
    program = python.with_name("quotree")
    lines = (f"#!{python} -E", "import os, sys", 'os.environ.pop("PYTHONPATH", None)', "from cli.main import main")
    program.write_text("\n".join((*lines, "sys.exit(main())\n")))
    program.chmod(0o755)
    return python


def _number(tag: str) -> tuple[int, ...]:
    return tuple(map(int, tag.removeprefix("v").split(".")))


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise NoPreviousVersionError("git is not installed, so the version before this one cannot be found") from None
    if done.returncode:
        raise NoPreviousVersionError(f"git {arguments[0]}: {done.stderr.strip() or 'no such revision'}")
    return done.stdout
