"""The commit that a release is made from."""

from __future__ import annotations

import dataclasses
import datetime
import io
import subprocess
import tarfile
from pathlib import Path


class NotTaggedError(Exception):
    """HEAD does not have the tag of the version that the release publishes."""


@dataclasses.dataclass(frozen=True)
class Commit:
    """A commit.

    `root`: the checkout.
    `id`: 40 hexadecimal digits.
    `epoch`: when it was committed, in seconds since 1970. All files of the release have this time.
    `dirty`: whether the checkout has changes that are not in the commit.
    """

    root: Path
    id: str
    epoch: int
    dirty: bool

    @classmethod
    def head(cls, root: Path) -> Commit:
        commit, epoch = _git(root, "show", "--no-patch", "--format=%H %ct", "HEAD").split()
        return cls(root, commit, int(epoch), bool(_git(root, "status", "--porcelain").strip()))

    @property
    def date(self) -> datetime.date:
        return datetime.datetime.fromtimestamp(self.epoch, datetime.UTC).date()

    def export(self, folder: Path) -> None:
        """Write the files of the commit, and no others, into a new folder."""
        archive = subprocess.run(  # noqa: S603, arguments of ours
            ["git", "archive", "--format=tar", self.id],  # noqa: S607, git of the machine
            cwd=self.root,
            check=True,
            capture_output=True,
        )
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as content:
            content.extractall(folder, filter="data")

    def require_tag(self, tag: str) -> None:
        """Check that this commit has the tag. Raises NotTaggedError."""
        if tag not in _git(self.root, "tag", "--points-at", self.id).split():
            raise NotTaggedError(f"{self.id[:12]} does not have the tag {tag}; tag it, or build with DRY_RUN=1")


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(  # noqa: S603, arguments of ours
        ["git", *arguments],  # noqa: S607, git of the machine
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
