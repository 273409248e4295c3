"""Reads untrusted files: only regular files, only up to a size, and without blocking."""

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

    `folder`, `links`: see `read_regular`.
    """
    return _kind(os.stat(path, dir_fd=folder, follow_symlinks=links))


def read_regular(
    path: str | Path, most: int, *, folder: int | None = None, links: bool = True
) -> tuple[bytes, os.stat_result]:
    """The first `most` bytes of a regular file, and its status.

    `folder`: the descriptor of the folder that the path is relative to. `links`: whether to follow a link at the end of
    the path. A pipe or a device is not opened: reading a pipe may never end, and opening a device may have effects.
    Raises OSError with a `strerror` for messages, and ValueError for a name that no file can have.
    """
    if kind := other_kind(path, folder=folder, links=links):
        raise OSError(0, f"it is {kind}, not a file")
    flags = _FLAGS if links else _FLAGS | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, dir_fd=folder), "rb") as file:
        status = os.fstat(file.fileno())
        if kind := _kind(status):  # another file has replaced it since the first check
            raise OSError(0, f"it is {kind}, not a file")
        found = file.read(min(most, status.st_size + 1))  # reading `most` would allocate that much memory for each file
        if len(found) > status.st_size:  # the file has grown, or is a special file whose size is reported as 0
            found += file.read(most - len(found))
        return found, status


def mentions(path: str | Path, pattern: re.Pattern[bytes], most: int) -> bool:
    """Whether the first `most` bytes of the file match; False if the file cannot be read."""
    try:
        return pattern.search(read_regular(path, most)[0]) is not None
    except (OSError, ValueError):
        return False


def _kind(status: os.stat_result) -> str:
    return "" if stat.S_ISREG(status.st_mode) else _KINDS.get(stat.S_IFMT(status.st_mode), "no file")
