"""A scratch copy of the project, changed as a contributor would change it, and what its own processes say then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
UNFINISHED = shutil.ignore_patterns("*.pyc.*", "*.pyo.*")
"""Bytecode that another process is about to write."""
PACKAGES = (
    "policies",
    "scheduling",
    "cluster",
    "certs",
    "webhook",
    "reconciler",
    "audit",
    "dashboard",
    "cli",
    "generators",
)


@dataclass(frozen=True, slots=True)
class Scratch:
    """`root` holds the copy; nothing of the project itself is changed."""

    root: Path

    def write(self, path: str, text: str) -> None:
        """A new file below the root."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def replace(self, path: str, old: str, new: str) -> None:
        """Edit one file. Raises AssertionError unless `old` stands there exactly once."""
        file = self.root / path
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{path} has {text.count(old)} places that read {old!r}"
        file.write_text(text.replace(old, new), encoding="utf-8")

    def run(self, module: str, *arguments: str) -> str:
        """What `python -m module` prints there. Raises AssertionError where it fails."""
        ended = self.ended(module, *arguments)
        assert ended.returncode == 0, f"{ended.args} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}"
        return ended.stdout

    def ended(self, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What `python -m module` came to there, whatever that was."""
        environment = {**os.environ, "PYTHONPATH": str(self.root)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else each process compiles all that was not compiled before
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(
            command,
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )


def copy_to(folder: Path, *more: str) -> Scratch:
    """The packages, and whatever else of the project is named: files and folders below its root.

    Bytecode comes along: it counts by the time and size of its source, which are copied too.
    """
    for name in (*PACKAGES, *more):
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=UNFINISHED, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)
    return Scratch(folder)
