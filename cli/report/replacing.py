"""Replaces a file atomically: readers see the old text or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.documents import MAX_SIZE
from cli.exits import OutOfReach
from cli.input.regular_file import read_regular
from cli.links import OwnedFile

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_BY_FOLDER = os.open in os.supports_dir_fd  # Windows has no descriptors of folders


def replace_text(file: OwnedFile, before: str, after: str) -> None:
    """Replace the text of a file and keep its permissions. Raises OutOfReach, also if the file no longer has `before`.

    Each folder of the path is opened without following links, and the file is replaced relative to the last folder.
    Therefore nothing is written through a folder that somebody replaces by a link at the same time.
    """
    try:
        with _opened(file.folder, file.path.parent.parts) as (folder, prefix):
            _replace(folder, prefix + file.path.name, before, after)
    except OSError as error:
        raise OutOfReach(f"{file.folder / file.path}: cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def _opened(folder: Path, parts: Sequence[str]) -> Iterator[tuple[int | None, str]]:
    """The descriptor of the folder, and the prefix of paths in it. Without descriptors: None, and the folder's path."""
    if not _BY_FOLDER:
        yield None, os.path.join(folder, *parts, "")  # noqa: PTH118, with a separator at its end
        return
    flags = os.O_RDONLY | os.O_DIRECTORY | _NO_LINK
    handle = os.open(folder, flags)
    try:
        for part in parts:
            outer, handle = handle, os.open(part, flags, dir_fd=handle)
            os.close(outer)
        yield handle, ""
    finally:
        os.close(handle)


def _replace(folder: int | None, name: str, before: str, after: str) -> None:
    data, status = read_regular(name, MAX_SIZE + 1, folder=folder, links=False)
    prefix = _BYTE_ORDER_MARK if data.startswith(_BYTE_ORDER_MARK) else b""
    if data != prefix + before.encode():
        raise OSError(0, "it has changed since it was read; run the command again")
    parent, base = os.path.split(name)
    draft = os.path.join(parent, f".{base}.{secrets.token_hex(8)}")  # noqa: PTH118, from the descriptor
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | getattr(os, "O_BINARY", 0)
    handle = os.open(draft, flags, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(prefix + after.encode())
            stream.flush()
            os.fsync(handle)
            if hasattr(os, "fchown"):  # on Windows a file has neither
                with contextlib.suppress(PermissionError):  # a file of another owner becomes ours, as with any editor
                    os.fchown(handle, status.st_uid, status.st_gid)
                os.fchmod(handle, status.st_mode & 0o777)
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise
