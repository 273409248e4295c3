"""Reads and changes the version in the files of a source tree."""

from __future__ import annotations

import argparse
import datetime
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)((a|b|rc)\d+|\.dev\d+)?")
_NAMES_IT = (
    "README.md",
    "pyproject.toml",
    "cli/version.py",
    "docs/*.md",
    "integrations/**/*.yaml",
    "manifests/**/*.yaml",
)
"""The files with the version that people write. `python -m generators` writes the others."""


def valid(text: str) -> str:
    """The version, MAJOR.MINOR.PATCH with an optional aN, bN, rcN or .devN. Raises argparse.ArgumentTypeError."""
    if not _VERSION.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a version such as 0.1.0, 0.2.0rc1 or 0.2.0.dev0")
    return text


def present(source: Path) -> str:
    project: dict[str, str] = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["version"]


def set_version(source: Path, version: str, day: datetime.date) -> None:
    """Write the version into each file that names it; for a release, also write the fragments into CHANGELOG.md."""
    before = present(source)
    for path in _files(source):
        text = path.read_text(encoding="utf-8")
        if before in text:
            path.write_text(text.replace(before, version), encoding="utf-8")
    if ".dev" not in version:
        write_changes(source, version, day)
    _run(source, "generators")


def write_changes(source: Path, version: str, day: datetime.date) -> None:
    """Write the section of a version in CHANGELOG.md, and remove the fragments.

    If there is a file `changelog.d/VERSION.md`, its text is the section, and the fragments are moved into a separate
    file.
    """
    arguments = ("build", "--yes", "--version", version, "--date", day.isoformat())
    _run(source, "towncrier", *arguments)
    summary = source / "changelog.d" / f"{version}.md"
    if not summary.is_file():
        return
    every = source / every_change(version)
    every.parent.mkdir(exist_ok=True)
    fragments, text = section(source, version), summary.read_text(encoding="utf-8").strip()
    every.write_text(f"# Every change of {version}\n\n{_moved(fragments)}", encoding="utf-8")
    short = f"{text}\n\n[Every change]({every_change(version)}) has one entry.\n"
    changelog = source / "CHANGELOG.md"
    whole = changelog.read_text(encoding="utf-8")
    changelog.write_text(whole.replace(fragments.rstrip("\n"), short.rstrip("\n"), 1), encoding="utf-8")
    summary.unlink()


def every_change(version: str) -> str:
    """The file with the fragments of a version that has a summary."""
    return f"changelog.d/released/{version}.md"


def _moved(text: str) -> str:
    """The text with its links relative to the new folder. Links in fragments are relative to the root."""
    return re.sub(r"\]\((?![a-z]+:|#)(?:\.\./)*", "](../../", text)


def section(source: Path, version: str) -> str:
    """The section of a version in CHANGELOG.md, without its heading. Raises LookupError if it is missing."""
    text = (source / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(version)} \([\d-]+\)\n(.*?)(?=^## \d|\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise LookupError(f"CHANGELOG.md has no section for {version}")
    return found[1].strip() + "\n"


def _files(source: Path) -> Iterator[Path]:
    for pattern in _NAMES_IT:
        yield from sorted(source.glob(pattern))


def _run(source: Path, module: str, *arguments: str) -> None:
    """Run a Python module in the source tree, so that it imports the packages of that tree."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": ""}
    command = [sys.executable, "-m", module, *arguments]
    subprocess.run(command, cwd=source, env=environment, check=True, stdout=sys.stderr)  # noqa: S603, arguments of ours
