"""What a conformance suite is, and where the cases are.

The cases are tables of the three projects' own tests, as JSON. They are not part of this repository.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ENVIRONMENT = "QUOTREE_CONFORMANCE"
_BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "conformance"

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """`check` returns None where the case holds, else a sentence with what was expected and what came."""

    name: str
    check: Callable[[], str | None]


@dataclass(slots=True)
class Suite:
    """The cases of one table that our rules cover. `uncovered` counts the others, `reasons` why where that is told."""

    name: str
    cases: list[Case] = field(default_factory=list)
    uncovered: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def leave_out(self, reason: str) -> None:
        self.uncovered += 1
        self.reasons[reason] += 1


def folder() -> Path | None:
    """Where the cases are: what QUOTREE_CONFORMANCE names, else ../shared/conformance; None where neither exists.

    Raises FileNotFoundError where the variable names no folder: a typing error must not look like success.
    """
    named = os.environ.get(ENVIRONMENT)
    if named:
        path = Path(named)
        if not path.is_dir():
            raise FileNotFoundError(f"{ENVIRONMENT} names {named}, which is no folder")
        return path
    return _BESIDE if _BESIDE.is_dir() else None


def table(file: Path) -> Iterator[Data]:
    """The cases of one file, with the values that they share put in place; none where there is no such file."""
    if not file.is_file():
        return
    data = json.loads(file.read_text(encoding="utf-8"))
    common = data.get("common", {})
    for case in data["cases"]:
        given = {
            key: common[value["$common"]] if isinstance(value, dict) and "$common" in value else value
            for key, value in case.get("given", {}).items()
        }
        yield {**case, "given": given}


def mismatch(expected: object, actual: object) -> str | None:
    return None if expected == actual else f"expected {expected!r}, got {actual!r}"
