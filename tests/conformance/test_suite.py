"""What is done about a case that raises and about a file that nobody runs, with small made-up folders of cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance.__main__ import main
from tests.conformance.suite import ENVIRONMENT, Data, mismatch, suite, without_runner

REVIEWS, RESOURCES, NOBODYS = "volcano/queues-validate.json", "yunikorn/core-resources.json", "volcano/unheard-of.json"
SUM = {"name": "a sum", "given": {"op": "ParseVCore", "args": ["2"]}, "expect": {"result": 2000, "error": None}}


def write(folder: Path, name: str, *cases: Data, **more: object) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"cases": list(cases), **more}))
    return file


def double(case: Data) -> str | None:
    return mismatch(case["expect"], 2 * case["given"]["value"])


def test_a_case_that_raises_is_a_failure_with_its_exception_and_the_others_go_on(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "double.json",
        {"name": "no value", "given": {}, "expect": 2},
        {"name": "right", "given": {"value": 1}, "expect": 2},
        {"name": "wrong", "given": {"value": 2}, "expect": 2},
    )

    assert {case.name: case.complaint() for case in suite("math", file, double).cases} == {
        "no value": "raised KeyError: 'value'",
        "right": None,
        "wrong": "expected 2, got 4",
    }


def test_a_case_that_cannot_be_sorted_in_is_a_failure_too(tmp_path: Path) -> None:
    strange = {"name": "shares what is not there", "given": {"value": {"$common": "missing"}}, "expect": 2}
    file = write(tmp_path, "double.json", strange, {"given": {"value": 1}, "expect": 2})
    found = suite("math", file, double, why_not=lambda case: "odd" if case["name"] == "odd" else "")

    assert [(case.name, case.complaint()) for case in found.cases] == [
        ("shares what is not there", "raised KeyError: 'missing'"),
        ("None", "raised KeyError: 'name'"),
    ]


def test_what_is_left_out_is_counted_with_its_reason(tmp_path: Path) -> None:
    file = write(tmp_path, "double.json", {"name": "odd", "given": {"value": 1}, "expect": 2})
    found = suite("math", file, double, why_not=lambda case: case["name"])

    assert (found.cases, found.uncovered, dict(found.reasons)) == ([], 1, {"odd": 1})


def test_a_value_that_cases_share_is_put_in_place(tmp_path: Path) -> None:
    shared = {"name": "shared", "given": {"value": {"$common": "one"}}, "expect": 2}

    (case,) = suite("math", write(tmp_path, "double.json", shared, common={"one": 1}), double).cases

    assert case.complaint() is None


def test_files_that_nobody_runs_are_named_with_their_number_of_cases(tmp_path: Path) -> None:
    run = suite("math", write(tmp_path, "math/double.json", SUM), double)
    write(tmp_path, "math/halve.json", SUM, SUM)
    (tmp_path / "math" / "index.json").write_text('{"suites": []}')
    (tmp_path / "math" / "list.json").write_text("[]")

    assert without_runner(tmp_path, [run]) == {"math/halve.json": 2}


def test_the_report_goes_on_and_names_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, REVIEWS, {"name": "empty", "given": {}, "expect": {"allowed": True}})
    write(tmp_path, RESOURCES, SUM)
    write(tmp_path, NOBODYS, SUM, SUM, SUM)
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))

    assert main() == 1
    said = capsys.readouterr().out.splitlines()
    assert "volcano/queues-validate: 0 of 1" in said
    assert "    FAILED empty: raised KeyError: 'queues'" in said
    assert "yunikorn/core-resources: 1 of 1" in said
    assert "no runner, 3: volcano/unheard-of.json: no reason is stated" in said
    assert said[-1] == "all: 1 of 2, 0 not covered, 3 in 1 files without a runner"


def test_without_failures_the_report_ends_with_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, RESOURCES, SUM)
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))

    assert main() == 0


def test_a_folder_that_is_not_there_is_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "missing"))

    assert main() == 2
    assert "which is no folder" in capsys.readouterr().err
