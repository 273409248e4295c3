"""Which of the files that were read the user has named, themselves or by a folder, and which a link leads to."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Owned:
    """A file by its path from a folder; both are free of links."""

    folder: Path
    path: Path


def owned(file: str, named: Sequence[str]) -> Owned | None:
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
            return Owned(there, real.relative_to(there))
    return None


def _folder(named: str) -> Path:
    whole = _whole(named)
    if whole.is_dir():
        return whole
    if os.path.lexists(whole):
        return whole.parent
    return next((each for each in whole.parents if not glob.has_magic(str(each))), whole)


def _whole(path: str) -> Path:
    return Path(os.path.normpath(Path(path).absolute()))
