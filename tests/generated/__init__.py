"""Files that are generated from others: `python -m tests.generated` writes them, `--check` compares only.

A generator returns {path below the repository: text} for all files that it owns. A new one is added to GENERATORS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.generated import command_table, crds, job_kinds, rule_pages

ROOT = Path(__file__).parents[2]
GENERATORS: list[Callable[[], Mapping[str, str]]] = [
    command_table.generate,
    crds.generate,
    job_kinds.generate,
    rule_pages.generate,
]


def generated() -> dict[str, str]:
    """Every generated file, by its path below the repository."""
    files: dict[str, str] = {}
    for generator in GENERATORS:
        for path, text in generator().items():
            if path in files:
                raise ValueError(f"two generators write {path}")
            files[path] = text
    return files
