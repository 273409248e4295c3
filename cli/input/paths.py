"""Paths as reports show them: a file always has the same path, however the user writes its folder."""

from __future__ import annotations

from pathlib import PurePosixPath

HERE = "."


def tidy(path: str) -> str:
    """The path without `./` and without repeated and trailing slashes.

    `..` stays, since the folder before it may be a link. A file with the name `-` keeps its `./`, since `-` is standard
    input. A URL is not changed.
    """
    if "://" in path:
        return path
    short = str(PurePosixPath(path)) if path else path
    return path if short == "-" else short


def joined_path(folder: str, name: str) -> str:
    """The tidy path of an entry of a folder. The path of the folder must be tidy."""
    return name if folder == HERE else f"{folder.rstrip('/')}/{name}"


def path_within(path: str, folder: str) -> str | None:
    """The path relative to the folder; None if it is not below the folder. Both paths must be tidy."""
    if folder == HERE:
        return None if path == HERE or path.startswith(("/", "../")) else path
    start = f"{folder.rstrip('/')}/"
    return path[len(start) :] if path.startswith(start) else None
