"""Generates files from other files. `python -m generators` writes them; `--check` only compares.

A generator in GENERATORS returns {path: text} for whole files; a path is relative to the repository. A generator in
BLOCKS returns {path: {name: text}} for named parts of files that people write. Add a new generator to one of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from generators import (
    alert_rules,
    chart,
    command_pages,
    configuration_table,
    crds,
    dashboards,
    doctor_checks,
    job_kinds,
    kueue_fields,
    man_pages,
    metric_tables,
    rights,
    rule_kinds,
    rule_pages,
    surfaces,
)
from generators.blocks import filled

GENERATORS: list[Callable[[], Mapping[str, str]]] = [
    alert_rules.generate,
    chart.generate,
    command_pages.generate,
    crds.generate,
    dashboards.generate,
    man_pages.generate,
    rights.generate,
    rule_kinds.generate,
    rule_pages.generate,
    surfaces.generate,
]
BLOCKS: list[Callable[[], Mapping[str, Mapping[str, str]]]] = [
    chart.blocks,
    configuration_table.generate,
    doctor_checks.generate,
    job_kinds.generate,
    kueue_fields.generate,
    metric_tables.generate,
    surfaces.blocks,
]


def generated() -> dict[str, str]:
    """The text of every generated file, and of every file with generated parts, by its path in the repository."""
    files: dict[str, str] = {}
    for generator in GENERATORS:
        for path, text in generator().items():
            if path in files:
                raise ValueError(f"two generators write {path}")
            files[path] = text
    return files | {path: filled(path, blocks) for path, blocks in _blocks().items()}


def _blocks() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for generator in BLOCKS:
        for path, blocks in generator().items():
            found.setdefault(path, {}).update(blocks)
    return found
