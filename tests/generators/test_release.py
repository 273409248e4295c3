"""A release from two clones of one commit: the same bytes, and files that pip, Helm and kubectl accept."""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from cli.version import VERSION
from generators.locks import pins
from generators.release import licences, vex
from generators.release.commit import Commit, NotTaggedError
from generators.release.numbering import section, valid, write_changes
from tests.apiserver import helm

ROOT = Path(__file__).parents[2]
RELEASE = "9.8.7"
"""Not the version of the checkout: it is written into the files of the commit."""


def clone(folder: Path) -> Path:
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True, capture_output=True)
    return folder


def built(checkout: Path, *, umask: int, zone: str) -> Path:
    out = checkout.parent / "out"
    command = [sys.executable, "-m", "generators.release", "build", RELEASE, "--out", str(out)]
    environment = os.environ | {"TZ": zone, "PYTHONPATH": ""}
    done = subprocess.run(
        command, cwd=checkout, env=environment, umask=umask, capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return out


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(clone(tmp_path_factory.mktemp("one") / "quotree"), umask=0o022, zone="UTC")


@pytest.mark.apiserver
class TestRelease:
    @pytest.mark.nightly  # CI builds only the wheel again: below, and in tests/test_wheel.py
    def test_another_clone_gives_the_same_bytes(self, release: Path, tmp_path: Path) -> None:
        checkout = clone(tmp_path / "a folder of another name")
        (checkout / "README.md").write_text("a change that is not committed")
        again = built(checkout, umask=0o077, zone="Asia/Tokyo")

        assert {path.name for path in release.iterdir()} == {path.name for path in again.iterdir()}
        assert {
            path.name for path in release.iterdir() if path.read_bytes() != (again / path.name).read_bytes()
        } == set()

    def test_the_checksums_and_the_provenance_name_every_file(self, release: Path) -> None:
        digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in release.iterdir()}
        del digests["SHA256SUMS"]
        sums = (release / "SHA256SUMS").read_text()
        assert {name: digest for digest, name in re.findall(r"^(\w{64})  (.+)$", sums, re.MULTILINE)} == digests

        name = f"quotree-{RELEASE}.provenance.json"
        statement = json.loads((release / name).read_text())
        del digests[name]
        definition = statement["predicate"]["buildDefinition"]
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
        assert {each["name"]: each["digest"]["sha256"] for each in statement["subject"]} == digests
        assert definition["externalParameters"] == {"version": RELEASE}
        assert definition["resolvedDependencies"][0]["digest"] == {"gitCommit": head.stdout.strip()}

    def test_no_file_has_the_previous_version(self, release: Path, tmp_path: Path) -> None:
        with zipfile.ZipFile(release / f"quotree-{RELEASE}-py3-none-any.whl") as wheel:
            wheel.extractall(tmp_path / "wheel")
        for path in release.glob("*gz"):
            with tarfile.open(path) as archive:
                archive.extractall(tmp_path / path.name, filter="data")
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        stale = [path for path in files if VERSION.encode() in path.read_bytes()]

        assert len(files) > 1000
        assert stale == []
        chart = yaml.safe_load((tmp_path / f"quotree-chart-{RELEASE}.tgz" / "quotree" / "Chart.yaml").read_text())
        assert (chart["version"], chart["appVersion"]) == (RELEASE, RELEASE)
        deployment = tmp_path / f"quotree-manifests-{RELEASE}.tar.gz" / f"quotree-{RELEASE}" / "manifests" / "base"
        assert f"image: quotree:{RELEASE}\n" in (deployment / "deployment.yaml").read_text()

    def test_the_wheel_can_be_built_from_the_sdist(self, release: Path, tmp_path: Path) -> None:
        with tarfile.open(release / f"quotree-{RELEASE}.tar.gz") as archive:
            archive.extractall(tmp_path, filter="data")
            epoch = str(archive.getmembers()[0].mtime)
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "again")]
        environment = os.environ | {"SOURCE_DATE_EPOCH": epoch}
        subprocess.run(
            command, cwd=tmp_path / f"quotree-{RELEASE}", env=environment, check=True, capture_output=True, timeout=120
        )
        name = f"quotree-{RELEASE}-py3-none-any.whl"

        assert (tmp_path / "again" / name).read_bytes() == (release / name).read_bytes()

    def test_the_changelog_has_every_fragment(self, release: Path) -> None:
        text = (release / f"quotree-{RELEASE}.changelog.md").read_text()
        fragments = subprocess.run(
            ["git", "ls-tree", "--name-only", "HEAD", "changelog.d/"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()

        kept = [path for path in fragments if path.endswith((".added.md", ".change.md", ".fix.md"))]
        assert len(re.findall(r"^- ", text, re.MULTILINE)) >= len(kept)
        assert re.findall(r"^### (\w+)", text, re.MULTILINE) == ["Added", "Changed", "Fixed"]

    def test_helm_renders_the_chart(self, release: Path) -> None:
        command = [
            helm.binary(),
            "template",
            "--kube-version=1.34",
            "--namespace=quotree-system",
            "quotree",
            release / f"quotree-chart-{RELEASE}.tgz",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

        assert done.returncode == 0, done.stderr
        assert f"quotree:{RELEASE}" in done.stdout

    def test_the_licence_report_has_each_package_of_the_image(self, release: Path) -> None:
        report = (release / f"quotree-{RELEASE}.licences.md").read_text()
        head, *rows = re.findall(r"^\| ([a-z0-9._-]+) \| (\S+) \| (.+?) \| .* \|$", report, re.MULTILINE)

        assert head == ("package", "version", "licence")
        assert [(name, version) for name, version, _ in rows] == [
            (pin.name, pin.version) for pin in pins("runtime.txt")
        ]
        assert [row for row in rows if not row[2]] == []

    def test_without_statements_there_is_no_vex_document(self, release: Path) -> None:
        assert [*release.glob("*.openvex.json")] == []

    def test_the_sbom_has_each_package_of_the_image(self, release: Path) -> None:
        text = (release / f"quotree-{RELEASE}.cdx.json").read_text()
        bom = json.loads(text)
        needed = {each["ref"]: set(each.get("dependsOn", ())) for each in bom["dependencies"]}
        reached = {"quotree"}
        while more := {each for ref in reached for each in needed[ref]} - reached:
            reached |= more

        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
        assert {(each["purl"], each["externalReferences"][0]["url"]) for each in bom["components"]} == {
            (f"pkg:pypi/{pin.name}@{pin.version}", f"https://pypi.org/project/{pin.name}/{pin.version}/#files")
            for pin in pins("runtime.txt")
        }
        assert reached == needed.keys(), "each package is there since another needs it"


@pytest.mark.parametrize(
    ("expression", "may"),
    [
        ("MIT", True),
        ("Apache-2.0 AND MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("MIT AND (GPL-2.0-only OR ISC)", True),
        ("AGPL-3.0-only", False),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
    ],
)
def test_a_licence_expression_needs_all_of_and_and_one_of_or(expression: str, may: bool) -> None:
    assert licences.allowed(expression) is may


def test_a_release_with_another_licence_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(licences, "ALLOWED", tuple(each for each in licences.ALLOWED if each != "MPL-2.0"))

    with pytest.raises(licences.ForbiddenLicenceError, match=r"certifi \S+: MPL-2\.0"):
        licences.report()


STATEMENT = {
    "vulnerability": {"name": "CVE-2026-0001"},
    "package": "urllib3",
    "status": "not_affected",
    "justification": "vulnerable_code_not_in_execute_path",
    "timestamp": "2026-11-27T00:00:00Z",
}


def stated(folder: Path, **changed: object) -> dict[str, Any]:
    """The VEX document of a tree with one statement."""
    (folder / "generators" / "release").mkdir(parents=True)
    (folder / "requirements").symlink_to(ROOT / "requirements")
    statement = {key: value for key, value in (STATEMENT | changed).items() if value is not None}
    (folder / vex.STATEMENTS).write_text(yaml.safe_dump({"statements": [statement]}))
    text = vex.document(folder, RELEASE, Commit(folder, "c" * 40, 1_800_000_000, dirty=False))
    assert text is not None
    document: dict[str, Any] = json.loads(text)
    return document


def test_a_statement_names_the_package_that_is_locked(tmp_path: Path) -> None:
    document = stated(tmp_path)
    (urllib3,) = [pin for pin in pins("runtime.txt") if pin.name == "urllib3"]

    assert (document["@context"], document["version"]) == ("https://openvex.dev/ns/v0.2.0", 1)
    assert document["statements"] == [
        {
            "vulnerability": {"name": "CVE-2026-0001"},
            "timestamp": "2026-11-27T00:00:00Z",
            "products": [
                {
                    "@id": f"pkg:pypi/quotree@{RELEASE}",
                    "subcomponents": [{"@id": f"pkg:pypi/urllib3@{urllib3.version}"}],
                }
            ],
            "status": "not_affected",
            "justification": "vulnerable_code_not_in_execute_path",
        }
    ]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"package": "left-pad"}, "left-pad is not in requirements/runtime.txt"),
        ({"status": "harmless"}, "'harmless' is not a status"),
        ({"justification": None}, "not_affected needs justification or impact_statement"),
        ({"justification": "we looked"}, "'we looked' is not a justification"),
        ({"status": "affected"}, "affected needs action_statement"),
    ],
)
def test_an_invalid_vex_statement_is_an_error(tmp_path: Path, changed: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        stated(tmp_path, **changed)


TOWNCRIER = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]


def tree_with_changes(folder: Path) -> Path:
    """A tree with two fragments and the settings of the project."""
    fragments = folder / "changelog.d"
    fragments.mkdir()
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copy(ROOT / TOWNCRIER["template"], fragments)
    shutil.copy(ROOT / "changelog.d" / "README.md", fragments)
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n{TOWNCRIER['start_string']}\n## 0.0.9 (2026-01-01)\n\nOld.\n")
    (fragments / "one.added.md").write_text("One, see [there](docs/there.md) and [here](../docs/here.md).\n")
    (fragments / "two.fix.md").write_text("Two, as [Kueue](https://kueue.sigs.k8s.io).\n")
    return folder


DAY = datetime.date(2026, 11, 27)


def test_changelog_fragments_become_the_section_of_the_release(tmp_path: Path) -> None:
    source = tree_with_changes(tmp_path)
    write_changes(source, RELEASE, DAY)

    assert section(source, RELEASE).startswith("### Added\n\n- One, see [there](docs/there.md)")
    assert section(source, "0.0.9") == "Old.\n"
    assert sorted(path.name for path in (source / "changelog.d").iterdir()) == [".template.md", "README.md"]


def test_a_summary_becomes_the_section_and_fragments_a_linked_file(tmp_path: Path) -> None:
    source = tree_with_changes(tmp_path)
    (source / "changelog.d" / f"{RELEASE}.md").write_text("Short.\n\n### Known limits\n\n- A \\1 and a \\g<0>.\n")
    write_changes(source, RELEASE, DAY)
    every = source / "changelog.d" / "released" / f"{RELEASE}.md"

    assert section(source, RELEASE) == (
        "Short.\n\n### Known limits\n\n- A \\1 and a \\g<0>.\n\n"
        f"[Every change](changelog.d/released/{RELEASE}.md) has one entry.\n"
    )
    assert section(source, "0.0.9") == "Old.\n"
    assert every.read_text() == (
        f"# Every change of {RELEASE}\n\n### Added\n\n"
        "- One, see [there](../../docs/there.md) and [here](../../docs/here.md).\n\n"
        "### Fixed\n\n- Two, as [Kueue](https://kueue.sigs.k8s.io).\n"
    )
    assert not (source / "changelog.d" / f"{RELEASE}.md").exists()


@pytest.mark.parametrize("summary", sorted((ROOT / "changelog.d").glob("[0-9]*.md")), ids=lambda path: path.name)
def test_a_summary_is_short_and_its_links_exist(summary: Path) -> None:
    assert valid(summary.stem) == summary.stem
    assert len(summary.read_text().splitlines()) <= 150
    links = re.findall(r"\]\((?!https?:)([^)#]+)", summary.read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("version", ["1", "0.1", "v0.1.0", "0.1.0-rc1", "00.1.0", "0.1.0; rm -rf /"])
def test_an_invalid_version_is_refused(version: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a version such as"):
        valid(version)


def test_a_commit_without_the_tag_is_not_published() -> None:
    with pytest.raises(NotTaggedError, match=r"does not have the tag v999\.0\.0"):
        Commit.head(ROOT).require_tag("v999.0.0")
