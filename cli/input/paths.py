"""Paths as reports write them: a file has one name, however the user wrote the folder that it lies in."""

from __future__ import annotations

from pathlib import PurePosixPath

HERE = "."


def tidy(path: str) -> str:
    """The path without `./`, doubled and trailing slashes. `..` stays, since the folder before it may be a link.

    A file that is named `-` keeps its `./`, since `-` is standard input, and a URL is not a path.
    """
    if "://" in path:
        return path
    short = str(PurePosixPath(path)) if path else path
    return path if short == "-" else short


def joined_path(folder: str, name: str) -> str:
    """The tidy path of what lies in a folder, whose path is tidy."""
    return name if folder == HERE else f"{folder.rstrip('/')}/{name}"


def path_within(path: str, folder: str) -> str | None:
    """The path from the folder on; None for what is not below it. Both are tidy."""
    if folder == HERE:
        return None if path == HERE or path.startswith(("/", "../")) else path
    start = f"{folder.rstrip('/')}/"
    return path[len(start) :] if path.startswith(start) else None
