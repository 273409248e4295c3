"""What keeps the tests apart: shared pieces stand in helper modules, and manifests are built in one place."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
_IMPORTS_A_TEST = re.compile(
    r"^\s*(?:from|import)\s+(tests\.(?:\w+\.)*test_\w+|tests\.(?:\w+\.)*conftest)\b", re.MULTILINE
)
_FROM_FOLDER = re.compile(r"^\s*from\s+(tests(?:\.\w+)*)\s+import\s+(?:\(\s*)?(test_\w+)", re.MULTILINE)


def imported(text: str) -> list[str]:
    """The test modules that a module imports."""
    return [*_IMPORTS_A_TEST.findall(text), *(".".join(found) for found in _FROM_FOLDER.findall(text))]


def test_an_import_of_a_test_module_is_found_however_it_is_written() -> None:
    assert imported("from tests.cli.test_main import x\nimport tests.test_a\n    from tests.cli import test_b\n") == [
        "tests.cli.test_main",
        "tests.test_a",
        "tests.cli.test_b",
    ]
    assert imported("from tests.cli.runs import run\nfrom tests import builders\nfrom cli.commands import test\n") == []


def test_no_module_imports_a_test_module() -> None:
    found = {
        file.relative_to(TESTS).as_posix(): names
        for file in TESTS.rglob("*.py")
        if (names := imported(file.read_text(encoding="utf-8")))
    }

    assert found == {}
