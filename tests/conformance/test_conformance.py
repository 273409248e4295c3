"""Every covered conformance case as a test of its own; none where the cases are not at hand."""

from __future__ import annotations

import pytest

from tests.conformance.__main__ import PROJECTS
from tests.conformance.suite import Case, folder

WHERE = folder()
CASES = [
    (suite.name, case)
    for project in (PROJECTS if WHERE else ())
    for suite in (project.suites(WHERE) if WHERE else ())
    for case in suite.cases
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("case", [case for _, case in CASES], ids=[f"{suite}: {case.name}" for suite, case in CASES])


def test_conformance(case: Case) -> None:
    assert case.check() is None
