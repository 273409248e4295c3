"""Writes the manifests of a safe order into files, each annotated with its sync wave for Argo CD."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analysis.rollout import Rollout
from cli.exits import Misused
from cli.output import within_checkout
from cli.report.formats.yaml import document
from policies.dialects.reading import Manifest, mapping, metadata
from policies.rollout.edits import Edit
from policies.rollout.waves import Sync

SYNC_WAVE = "argocd.argoproj.io/sync-wave"


def write_waves(rollout: Rollout, folder: str) -> None:
    """Write one folder `step-N` for each step. `folder` must be new or empty. Raises Misused."""
    target = Path(folder)
    try:
        within_checkout(target)
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise Misused(f"--write-waves {folder}: the folder is not empty; name a new one")
        for number, step in enumerate(rollout.steps, start=1):
            _write(rollout, step, target / f"step-{number}")
    except OSError as error:
        raise Misused(f"--write-waves {folder}: {error.strerror or error}") from error


def _write(rollout: Rollout, step: Sync, folder: Path) -> None:
    folder.mkdir()
    for number, (wave, edit) in enumerate(_applied(step), start=1):
        name = f"{number:05}-{edit.ref.kind.lower()}.yaml"  # object names may have characters that file names may not
        (folder / name).write_text(f"{document(_annotated(rollout, edit, wave))}\n", encoding="utf-8")


def _applied(step: Sync) -> Iterator[tuple[int, Edit]]:
    return ((number, edit) for number, wave in enumerate(step.waves) for edit in wave)


def _annotated(rollout: Rollout, edit: Edit, wave: int) -> dict[str, Any]:
    """The manifest as the user wrote it, with the annotation, and without fields that only a cluster sets."""
    written = rollout.change.applied.objects.get(edit.ref)
    manifest: Manifest = written.document.manifest if written and not edit.detour else _intermediate(edit)
    meta = metadata(manifest)
    notes = {**mapping(meta.get("annotations")), SYNC_WAVE: str(wave)}
    return {**manifest, "metadata": {**meta, "annotations": notes}}


def _intermediate(edit: Edit) -> Manifest:
    assert edit.after is not None
    manifest = edit.after.manifest or {}
    kept = {
        key: value for key, value in metadata(manifest).items() if key in ("name", "namespace", "labels", "annotations")
    }
    return {**{key: value for key, value in manifest.items() if key != "status"}, "metadata": kept}
