"""Reads files that somebody else may have put there: a regular file, up to a size, or an error at once."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
}
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # Windows has only the latter


def other_kind(path: str | Path, *, folder: int | None = None, links: bool = True) -> str:
    """The type of a file that is not regular, such as `a pipe`; empty for a regular file. Raises OSError.

    `folder` and `links` as for `read_regular`.
    """
    return _kind(os.stat(path, dir_fd=folder, follow_symlinks=links))


def read_regular(
    path: str | Path, most: int, *, folder: int | None = None, links: bool = True
) -> tuple[bytes, os.stat_result]:
    """The first `most` bytes of a regular file, and what is known of the file.

    `folder` is the descriptor of the folder that the path starts from. Without `links` no link is followed to the file.
    A pipe would never end and a device might act, so neither is opened. Raises OSError, whose `strerror` is fit to be
    shown, and ValueError for a name that no file can have.
    """
    if kind := other_kind(path, folder=folder, links=links):
        raise OSError(0, f"it is {kind}, not a file")
    flags = _FLAGS if links else _FLAGS | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, dir_fd=folder), "rb") as file:
        status = os.fstat(file.fileno())
        if kind := _kind(status):  # something else has taken its place since
            raise OSError(0, f"it is {kind}, not a file")
        found = file.read(min(most, status.st_size + 1))  # `most` alone would ask for that much memory, for each file
        if len(found) > status.st_size:  # it has grown since, or is one of those that do not say how large they are
            found += file.read(most - len(found))
        return found, status


def mentions(path: str | Path, pattern: re.Pattern[bytes], most: int) -> bool:
    """Whether the first `most` bytes of the file have a match; False for one that cannot be read."""
    try:
        return pattern.search(read_regular(path, most)[0]) is not None
    except (OSError, ValueError):
        return False


def _kind(status: os.stat_result) -> str:
    return "" if stat.S_ISREG(status.st_mode) else _KINDS.get(stat.S_IFMT(status.st_mode), "no file")
