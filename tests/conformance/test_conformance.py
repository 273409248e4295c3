"""Each covered conformance case, by its name; skipped if the cases are not available."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.conformance.projects import PROJECTS, suites_in, why_no_runner
from tests.conformance.suite import folder, without_runner

WHERE = folder()


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.__name__.rpartition(".")[2])
def test_conformance(project: ModuleType, subtests: pytest.Subtests) -> None:
    assert WHERE
    for suite in project.suites(WHERE):
        for case in suite.cases:
            complaint = case.complaint()
            if complaint is not None:  # a subtest takes longer than most cases
                with subtests.test(f"{suite.name}: {case.name}"):
                    case.check()  # shows where it raises
                    assert complaint is None


def test_every_file_has_a_runner_or_a_reason_to_have_none() -> None:
    assert WHERE
    unread = without_runner(WHERE, suites_in(WHERE))

    assert {name: count for name, count in unread.items() if not why_no_runner(name)} == {}
