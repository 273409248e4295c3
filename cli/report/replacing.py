"""Writes a file in place of another one: readers see the old one or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from cli.exits import OutOfReach
from cli.input.documents import MAX_SIZE
from cli.input.regular_file import read_regular

_MARK = b"\xef\xbb\xbf"


def replace_text(file: str, before: str, after: str) -> None:
    """Links stay links, and the permissions stay. Raises OutOfReach, also where the file is no longer what it was."""
    try:
        target = Path(file).resolve(strict=True)
        data, status = read_regular(target, MAX_SIZE + 1)
        mark = _MARK if data.startswith(_MARK) else b""
        if data != mark + before.encode():
            raise OutOfReach(f"{file}: it has changed since it was read; run the command again")
        handle, draft = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(mark + after.encode())
                stream.flush()
                os.fsync(stream.fileno())
            with contextlib.suppress(PermissionError):  # a file of another owner becomes ours, as with any editor
                os.chown(draft, status.st_uid, status.st_gid)
            Path(draft).chmod(status.st_mode & 0o7777)
            Path(draft).replace(target)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutOfReach(f"{file}: cannot be written: {error.strerror or error}") from error
