"""Checks where symbolic links lead, since others may have created them, as in the checkout of a pull request."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

GIT = ".git"
"""The entry that marks a folder as the root of a checkout. No commit can contain it."""


def enclosing(folder: Path) -> Path | None:
    """The root of the innermost checkout that contains the folder; None if there is none."""
    return next((each for each in (folder, *folder.parents) if os.path.lexists(each / GIT)), None)


def leads_out(path: str | Path) -> Path | None:
    """The target of a path if links lead it out of its checkout or into its `.git`; otherwise None.

    The checkout is that of the path before links are followed.
    """
    absolute = os.path.abspath(path)  # noqa: PTH100, for many files
    if (followed := os.path.realpath(absolute)) == absolute:
        return None
    whole, real = Path(absolute), Path(followed)
    root: Path | None = None
    for each in reversed((whole, *whole.parents)):
        if root is not None and each.is_symlink():
            break  # behind the link is a different checkout, if any
        if os.path.lexists(each / GIT):
            root = each
    if root is None:
        return None
    border = Path(os.path.realpath(root))
    return None if real.is_relative_to(border) and GIT not in real.relative_to(border).parts else real


def stays_below(path: str | Path, folder: str | Path) -> bool:
    """Whether the path is the folder or below it, both by its name and after links are followed."""
    whole, real = _normalized(path), Path(os.path.realpath(path))
    return whole.is_relative_to(_normalized(folder)) and real.is_relative_to(os.path.realpath(folder))


@dataclass(frozen=True, slots=True)
class OwnedFile:
    """A file that the user has named. `path`: relative to `folder`. Neither contains links."""

    folder: Path
    path: Path


def owned(file: str, named: Sequence[str]) -> OwnedFile | None:
    """The file in a folder that the user has named; None if a link leads out of all of these folders.

    For a pattern, this is the folder before its first special character; for a file, the folder of the file. A path
    below the working directory must not lead out of the working directory.
    """
    whole, real, here = _normalized(file), Path(os.path.realpath(file)), Path.cwd()
    if whole.is_relative_to(here) and not real.is_relative_to(here):
        return None
    for folder in map(_folder_of, named):
        there = Path(os.path.realpath(folder))
        if whole.is_relative_to(folder) and real.is_relative_to(there):
            return OwnedFile(there, real.relative_to(there))
    return None


def _folder_of(named: str) -> Path:
    whole = _normalized(named)
    if os.path.isdir(whole):
        return whole
    if os.path.lexists(whole):
        return whole.parent
    return next((each for each in whole.parents if not glob.has_magic(str(each))), whole)


def _normalized(path: str | Path) -> Path:
    return Path(os.path.normpath(Path(path).absolute()))
