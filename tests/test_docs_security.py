"""Each promise of docs/security.md names tests, and those exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", PAGE)))


def test_what_shows_a_promise_exists() -> None:
    assert [f"{file}::{name}" for file, name in NAMED if name not in defined_in(file)] == []


@cache
def defined_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_row_of_what_is_tried_names_a_test() -> None:
    promises = PAGE[PAGE.index("## What a tenant may try") : PAGE.index("## What is not promised")]
    rows = [
        line
        for line in promises.splitlines()
        if line.startswith("| ") and not line.startswith(("| what", "| a tenant "))
    ]

    assert len(rows) > 40
    assert [row for row in rows if "::test_" not in row] == []
