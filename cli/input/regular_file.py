"""Reads files that somebody else may have put there: a regular file, up to a size, or an error at once."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def other_kind(path: str | Path) -> str:
    """What there is in place of a regular file, such as `a pipe`; empty for a file. Follows links. Raises OSError."""
    mode = Path(path).stat().st_mode
    return "" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "no file")


def read_regular(path: str | Path, most: int) -> tuple[bytes, os.stat_result]:
    """The first `most` bytes of a regular file, and what is known of the file.

    A pipe would never end and a device might act, so neither is opened. Raises OSError, whose `strerror` is fit to be
    shown, and ValueError for a name that no file can have.
    """
    if kind := other_kind(path):
        raise OSError(0, f"it is {kind}, not a file")
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):  # something else has taken its place since
            raise OSError(0, f"it is {_KINDS.get(stat.S_IFMT(status.st_mode), 'no file')}, not a file")
        found = file.read(min(most, status.st_size + 1))  # `most` alone would ask for that much memory, for each file
        if len(found) > status.st_size:  # it has grown since, or is one of those that do not say how large they are
            found += file.read(most - len(found))
        return found, status
