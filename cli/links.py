"""Where links lead: somebody else may have made them, as in the checkout of a pull request."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

GIT = ".git"
"""The entry of a folder that makes it the root of a checkout. No commit can hold it."""


def enclosing(folder: Path) -> Path | None:
    """The root of the nearest checkout upward; None where there is none."""
    return next((each for each in (folder, *folder.parents) if os.path.lexists(each / GIT)), None)


def leads_out(path: str | Path) -> Path | None:
    """Where links take a path that by its name is in a checkout; None unless that is outside of it or in its `.git`."""
    whole = _whole(path)
    real = Path(os.path.realpath(whole))
    if real == whole:
        return None
    root: Path | None = None
    for each in reversed((whole, *whole.parents)):
        if root is not None and each.is_symlink():
            break  # what a link leads to may be a checkout, but it is another one
        if os.path.lexists(each / GIT):
            root = each
    if root is None:
        return None
    border = Path(os.path.realpath(root))
    return None if real.is_relative_to(border) and GIT not in real.relative_to(border).parts else real


def stays_below(path: str | Path, folder: str | Path) -> bool:
    """Whether the path is the folder or below it, by its name and where links lead."""
    whole, real = _whole(path), Path(os.path.realpath(path))
    return whole.is_relative_to(_whole(folder)) and real.is_relative_to(os.path.realpath(folder))


@dataclass(frozen=True, slots=True)
class OwnedFile:
    """A file by its path from a folder; both are free of links."""

    folder: Path
    path: Path


def owned(file: str, named: Sequence[str]) -> OwnedFile | None:
    """The file as it lies in what the user named; None where it is elsewhere, since a link leads to it.

    Below a folder that is that folder, for a pattern the folder before its first special character, and for a file its
    own. Of what is below the working directory nothing outside of it is meant, whatever a link says.
    """
    whole, real, here = _whole(file), Path(os.path.realpath(file)), Path.cwd()
    if whole.is_relative_to(here) and not real.is_relative_to(here):
        return None
    for folder in map(_folder, named):
        there = Path(os.path.realpath(folder))
        if whole.is_relative_to(folder) and real.is_relative_to(there):
            return OwnedFile(there, real.relative_to(there))
    return None


def _folder(named: str) -> Path:
    whole = _whole(named)
    if whole.is_dir():
        return whole
    if os.path.lexists(whole):
        return whole.parent
    return next((each for each in whole.parents if not glob.has_magic(str(each))), whole)


def _whole(path: str | Path) -> Path:
    return Path(os.path.normpath(Path(path).absolute()))
