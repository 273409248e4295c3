"""The scripts of the GitHub Action, run as by a runner, with a simulated GitHub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import queue
from tests.cli.runs import write

pytestmark = pytest.mark.apiserver

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "integrations" / "github"
MARKER = "<!-- quotree: judged change -->"
ACTION: dict[str, Any] = yaml.load((ROOT / "action.yml").read_text(), yaml.CSafeLoader)
GH = """#!{python}
import json, pathlib, sys
folder = pathlib.Path(__file__).parent
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
if "user" in sys.argv:
    login = folder / "login"
    sys.exit(print(login.read_text()) if login.exists() else 1)
if "--jq" in sys.argv:
    print((folder / "found").read_text(), end="")
for argument in sys.argv:
    if argument.startswith("body=@"):
        (folder / "body").write_text(pathlib.Path(argument.removeprefix("body=@")).read_text())
"""


@pytest.fixture
def runner(tmp_path: Path) -> dict[str, str]:
    """The environment of a runner: its folders, its files for outputs, and programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "quotree").write_text(f'#!/bin/sh\nexec {sys.executable} -m cli.main "$@"\n')
    (programs / "gh").write_text(GH.format(python=sys.executable))
    for program in programs.iterdir():
        program.chmod(0o755)
    (programs / "found").write_text("")
    return {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_REPOSITORY": "acme/quota",
        "PULL_REQUEST": "7",
    }


def script(name: str, folder: Path, runner: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(SCRIPTS / name)]
    return subprocess.run(command, cwd=folder, env=runner, capture_output=True, text=True, timeout=120, check=False)


def outputs(runner: dict[str, str]) -> dict[str, str]:
    return dict(line.split("=", 1) for line in Path(runner["GITHUB_OUTPUT"]).read_text().splitlines())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose branch `main` has a tree with an old error; another branch is checked out."""
    folder = tmp_path / "quota with a space"
    write(folder / "old.yaml", queue("eng", deserved="cpu:4"), queue("ml", "eng", deserved="cpu:5"))
    git = [
        "git",
        "-C",
        str(folder),
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.com",
        "-c",
        "init.defaultBranch=main",
    ]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "old"], ["switch", "-qc", "change"]):
        subprocess.run([*git, *command], check=True)
    return folder


def test_a_change_without_new_errors_passes(repository: Path, runner: dict[str, str]) -> None:
    write(repository / "new.yaml", queue("web", deserved="cpu:1"))

    done = script("judge.sh", repository, runner | {"INPUT_BASE": "main"})

    assert done.returncode == 0, done.stderr
    assert outputs(runner)["exit-code"] == "0"
    assert json.loads(Path(outputs(runner)["sarif-file"]).read_text())["version"] == "2.1.0"


def test_a_new_error_fails_with_annotations_and_a_summary(repository: Path, runner: dict[str, str]) -> None:
    write(repository / "new.yaml", queue("web", deserved="cpu:1"), queue("shop", "web", deserved="cpu:2"))

    done = script("judge.sh", repository, runner | {"INPUT_BASE": "main"})

    errors = [line for line in done.stdout.splitlines() if line.startswith("::error ")]
    assert (done.returncode, outputs(runner)["exit-code"]) == (1, "1"), done.stderr
    assert [("new.yaml" in line, "old.yaml" in line) for line in errors] == [(True, False)]
    assert "shop" in Path(runner["GITHUB_STEP_SUMMARY"]).read_text()


def test_the_summary_shows_the_quota_changes(repository: Path, runner: dict[str, str]) -> None:
    write(repository / "new.yaml", queue("web", deserved="cpu:1"))

    script("judge.sh", repository, runner | {"INPUT_BASE": "main"})

    assert outputs(runner)["differs"] == "true"
    assert "Queue web is created" in Path(outputs(runner)["summary-file"]).read_text()
    assert "Queue eng" not in Path(outputs(runner)["summary-file"]).read_text().partition("### quota")[2]


def test_a_change_without_quota_changes_is_reported_as_such(repository: Path, runner: dict[str, str]) -> None:
    done = script("judge.sh", repository, runner | {"INPUT_BASE": "main"})

    assert (done.returncode, outputs(runner)["differs"]) == (0, "false"), done.stderr
    assert "no quota changes" in Path(runner["GITHUB_STEP_SUMMARY"]).read_text()


def test_paths_and_arguments_are_read_line_by_line(repository: Path, runner: dict[str, str]) -> None:
    write(repository / "a b" / "c.yaml", queue("web", deserved="cpu:1"))
    inputs = {"INPUT_PATHS": "a b/c.yaml\n\n", "INPUT_ARGUMENTS": "--fail-on=never\n"}

    done = script("judge.sh", repository, runner | inputs)

    assert done.returncode == 0, done.stderr


def test_a_wrong_argument_is_an_error_without_a_report(repository: Path, runner: dict[str, str]) -> None:
    done = script("judge.sh", repository, runner | {"INPUT_ARGUMENTS": "--no-such-obj"})

    assert (done.returncode, outputs(runner)) == (2, {"exit-code": "2", "differs": "false"})
    assert "--no-such-obj" in done.stderr


# -- the comment -------------------------------------------------------------------------------------------------------


def comment(
    runner: dict[str, str], summary: str, code: int, found: str = "", differs: str = "false"
) -> tuple[list[list[str]], str]:
    """The calls of `gh`, and the comment that it wrote."""
    folder = Path(runner["RUNNER_TEMP"])
    (folder / "bin" / "found").write_text(found)
    (folder / "judged.md").write_text(summary)
    inputs = {"SUMMARY": str(folder / "judged.md"), "EXIT_CODE": str(code), "DIFFERS": differs}
    done = script("comment.sh", folder, runner | inputs)
    assert done.returncode == 0, done.stderr
    body = folder / "bin" / "body"
    calls = [json.loads(line) for line in (folder / "bin" / "calls").read_text().splitlines()]
    return calls, body.read_text() if body.exists() else ""


def test_findings_are_posted_in_one_comment_with_a_marker(runner: dict[str, str]) -> None:
    calls, body = comment(runner, "one error\n", 1)

    assert [call[call.index("--method") + 1] for call in calls if "--method" in call] == ["POST"]
    assert body == f"{MARKER}\none error\n"


def test_the_existing_comment_is_updated(runner: dict[str, str]) -> None:
    calls, _ = comment(runner, "nothing is wrong\n", 0, "41\n42\n")

    assert "PATCH" in calls[-1]
    assert "repos/acme/quota/issues/comments/41" in calls[-1]


@pytest.mark.parametrize(
    ("login", "author"), [("", '.user.type == "Bot"'), ("ada", '.user.login == "ada"')], ids=["app", "user"]
)
def test_only_a_comment_of_its_own_is_updated(runner: dict[str, str], login: str, author: str) -> None:
    if login:
        (Path(runner["RUNNER_TEMP"]) / "bin" / "login").write_text(login)

    calls, _ = comment(runner, "nothing is wrong\n", 0, "41\n")

    (query,) = (call for call in calls if "--paginate" in call)
    assert query[-1] == f'.[] | select({author} and (.body | startswith("{MARKER}"))) | .id'


def test_no_comment_is_posted_without_findings(runner: dict[str, str]) -> None:
    calls, body = comment(runner, "nothing is wrong\n", 0)

    assert ([call for call in calls if "--method" in call], body) == ([], "")


def test_a_quota_change_is_posted_even_without_findings(runner: dict[str, str]) -> None:
    calls, body = comment(runner, "eng gains\n", 0, differs="true")

    assert [call[call.index("--method") + 1] for call in calls if "--method" in call] == ["POST"]
    assert "eng gains" in body


def test_a_long_summary_is_cut_at_a_whole_character(runner: dict[str, str]) -> None:
    _, body = comment(runner, "é" * 40_000, 1)

    assert len(body.encode()) < 65_536
    assert body.endswith("é\n\nThe rest is in the job summary.\n")


# -- action.yml --------------------------------------------------------------------------------------------------------


def test_the_installation_runs_no_module_of_the_checkout(tmp_path: Path, runner: dict[str, str]) -> None:
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "venv.py").write_text("raise SystemExit('a module of the checkout runs')")
    create = ACTION["runs"]["steps"][0]["run"].splitlines()[0]

    done = subprocess.run(
        ["bash", "-c", create], cwd=tmp_path / "checkout", env=runner, capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "quotree-venv" / "bin" / "pip").exists()


def test_the_action_sets_the_variables_that_its_scripts_read() -> None:
    steps = {step["name"]: step for step in ACTION["runs"]["steps"]}

    assert set(steps["Judge the change"]["env"]) == {"INPUT_PATHS", "INPUT_BASE", "INPUT_ARGUMENTS"}
    assert {"PULL_REQUEST", "SUMMARY", "EXIT_CODE", "DIFFERS", "GH_TOKEN"} == set(
        steps["Comment on the pull request"]["env"]
    )
    for step in steps.values():
        assert "${{ inputs" not in step.get("run", ""), "a value in a script could end it: it goes through env"
