"""Build the files of a release, or write a version into the files of the checkout."""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
from pathlib import Path

from generators.files import ROOT
from generators.release import artefacts, provenance
from generators.release.commit import Commit, NotTaggedError
from generators.release.licences import ForbiddenLicenceError
from generators.release.numbering import present, set_version, valid


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m generators.release", description=__doc__)
    parser.add_argument("action", choices=("build", "prepare"))
    parser.add_argument("version", type=valid)
    parser.add_argument("--tagged", action="store_true", help="build only a commit that has the tag of this version")
    parser.add_argument("--out", type=Path, help="the folder to write to; default build/release/VERSION")
    given = parser.parse_args()
    if given.action == "prepare":
        set_version(ROOT, given.version, datetime.datetime.now(datetime.UTC).date())
        print(f"every file has version {given.version}; commit it, tag it v{given.version}, then run make release")
        return 0
    try:
        build(given.version, given.out or ROOT / "build" / "release" / given.version, tagged=given.tagged)
    except (NotTaggedError, ForbiddenLicenceError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def build(version: str, out: Path, *, tagged: bool) -> None:
    """Build all files of a release of HEAD in the folder `out`.

    If the commit has another version, it is built as if `prepare` had been run on it. With `tagged`, the commit must
    have the tag of the version instead.
    """
    commit = Commit.head(ROOT)
    if tagged:
        commit.require_tag(f"v{version}")
    if commit.dirty:
        print("uncommitted changes are not part of the release", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"quotree-{version}"
        commit.export(source)
        if present(source) != version:
            set_version(source, version, commit.date)
        made = artefacts.write(source, version, commit, out)
        provenance.write(made, source, version, commit, out)
    for path in sorted(out.iterdir()):
        print(path)


if __name__ == "__main__":
    sys.exit(main())
