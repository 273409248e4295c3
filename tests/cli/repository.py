"""A scratch Git repository for tests: files in, commits out, no configuration of the machine's user."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.cli.runs import Manifest, write

_NOBODY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "nobody",
    "GIT_AUTHOR_EMAIL": "nobody@example.com",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
    "GIT_COMMITTER_NAME": "nobody",
    "GIT_COMMITTER_EMAIL": "nobody@example.com",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
}


@dataclass(frozen=True, slots=True)
class Repository:
    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Repository:
        folder.mkdir(parents=True, exist_ok=True)
        made = cls(folder)
        made.git("init", "--quiet", "--initial-branch=main")
        return made

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env={**os.environ, **_NOBODY},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout.strip()

    def put(self, name: str, *manifests: Manifest) -> Path:
        return write(self.folder / name, *manifests)

    def commit(self, message: str = "change") -> str:
        """All that is in the folder; the id of the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", f"--message={message}")
        return self.git("rev-parse", "HEAD")
