"""Builds the wheel, the sdist, the chart, the manifests, the changelog, the SBOM, the licences and the VEX document."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

from generators.release import bill, licences, vex
from generators.release.commit import Commit
from generators.release.numbering import every_change, section


def write(source: Path, version: str, commit: Commit, out: Path) -> list[Path]:
    """Write the files of a release into `out`, after its old content is deleted. Returns their paths."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    _build_packages(source, commit, out)
    chart, manifests = out / f"quotree-chart-{version}.tgz", out / f"quotree-manifests-{version}.tar.gz"
    chart.write_bytes(packed(source / "charts", ("quotree",), "", commit.epoch))
    manifests.write_bytes(packed(source, ("manifests", "monitoring"), f"quotree-{version}/", commit.epoch))
    (out / f"quotree-{version}.changelog.md").write_text(section(source, version), encoding="utf-8")
    if (every := source / every_change(version)).is_file():
        (out / f"quotree-{version}.changes.md").write_bytes(every.read_bytes())
    (out / f"quotree-{version}.cdx.json").write_text(bill.of_materials(source, version, commit), encoding="utf-8")
    (out / f"quotree-{version}.licences.md").write_text(licences.report(source), encoding="utf-8")
    if (statements := vex.document(source, version, commit)) is not None:
        (out / f"quotree-{version}.openvex.json").write_text(statements, encoding="utf-8")
    return sorted(out.iterdir())


def _build_packages(source: Path, commit: Commit, out: Path) -> None:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(commit.epoch), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
    subprocess.run(command, cwd=source, env=environment, check=True, stdout=sys.stderr)  # noqa: S603, arguments of ours


def packed(folder: Path, names: Iterable[str], prefix: str, epoch: int) -> bytes:
    """The folders `names` in `folder` as .tar.gz. The bytes only depend on the names, the contents and `epoch`."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        files = (path for name in names for path in (folder / name).rglob("*") if path.is_file())
        for path in sorted(files):
            entry = tarfile.TarInfo(prefix + path.relative_to(folder).as_posix())
            content = path.read_bytes()
            entry.size, entry.mtime, entry.mode = len(content), epoch, 0o644
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), mtime=epoch)
