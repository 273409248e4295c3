"""Writes the provenance of a release as an in-toto statement (SLSA), and the checksums of its files.

The statement is not signed, since a checkout cannot prove who has built the files.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from generators.files import as_json
from generators.release.commit import Commit

BUILD_TYPE = "https://quotree.dev/buildtypes/make-release/v1"
BUILDER = "https://quotree.dev/builders/checkout"
"""The builder id for any checkout. Nobody certifies such a build."""
_LOCKS = ("requirements/all.txt", "requirements/build.txt", "requirements/runtime.txt")


def write(made: Iterable[Path], source: Path, version: str, commit: Commit, out: Path) -> None:
    """Write the statement about the files `made` from the tree `source`, then SHA256SUMS of everything."""
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in made}
    name = f"quotree-{version}.provenance.json"
    text = as_json(statement(digests, source, version, commit))
    (out / name).write_text(text, encoding="utf-8")
    digests[name] = hashlib.sha256(text.encode()).hexdigest()
    lines = (f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    (out / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def statement(digests: dict[str, str], source: Path, version: str, commit: Commit) -> dict[str, Any]:
    """The in-toto statement. `digests`: the name of each file to its SHA-256 in hexadecimal digits."""
    locks = (
        {"uri": lock, "digest": {"sha256": hashlib.sha256((source / lock).read_bytes()).hexdigest()}} for lock in _LOCKS
    )
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(digests.items())],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"version": version},
                "internalParameters": {"SOURCE_DATE_EPOCH": commit.epoch, "python": platform.python_version()},
                "resolvedDependencies": [{"name": "source", "digest": {"gitCommit": commit.id}}, *locks],
            },
            "runDetails": {"builder": {"id": BUILDER}},
        },
    }
