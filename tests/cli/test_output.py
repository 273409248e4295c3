"""Output survives every name: control characters, what the terminal cannot show, file names that are no text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.output import paint, plain
from tests.builders import queue
from tests.cli.runs import BAD, WORSE, execute, report, run, write

EVIL = "ev\x1b[2Jil\nfake.yaml:1:1: error\x85"


def test_a_line_stays_one_line_without_control_characters() -> None:
    assert plain(EVIL) == r"ev\x1b[2Jil\nfake.yaml:1:1: error\x85"
    assert plain("größe → 5") == "größe → 5"


@pytest.mark.parametrize("command", ["validate", "tree"])
def test_a_name_can_neither_move_the_cursor_nor_forge_a_line(tmp_path: Path, command: str) -> None:
    file = write(tmp_path / "a.yaml", queue(EVIL, "missing"), queue("child", EVIL))

    shown = run(command, file).stdout

    assert r"ev\x1b[2Jil\nfake" in shown
    assert "\x1b" not in shown
    assert not [line for line in shown.splitlines() if line.startswith("fake.yaml")]


def test_a_terminal_that_lacks_a_letter_gets_its_number(tmp_path: Path) -> None:
    file = write(tmp_path / "größe.yaml", BAD, WORSE)

    ended = execute("validate", file, env={**os.environ, "PYTHONIOENCODING": "ascii"})

    assert ended.returncode == 1
    assert r"gr\xf6\xdfe.yaml:8:10: error" in ended.stdout


def test_a_file_name_that_is_no_text_is_told_all_the_same(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", BAD, WORSE)
    torn = os.fsencode(tmp_path) + b"/\xff.yaml"
    (tmp_path / "a.yaml").rename(os.fsdecode(torn))

    assert r"\udcff.yaml:8:10: error" in run("validate", tmp_path).stdout
    (finding,) = report(run("validate", tmp_path, "-o", "json"))["findings"]
    assert os.fsdecode(torn) == finding["file"]


def test_unreadable_input_is_told_with_such_a_name_too(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.yaml")).write_text("a: [\n")

    result = run("validate", tmp_path)

    assert result.exit_code == 3
    assert r"\udcff.yaml:2:1: unreadable: " in result.stderr


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_what_is_not_a_terminal_gets_no_colour(tmp_path: Path, variable: dict[str, str]) -> None:
    result = run("validate", write(tmp_path / "a.yaml", BAD, WORSE), env=variable)

    assert "\x1b" not in result.stdout


def test_a_terminal_gets_colour_unless_it_says_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for variable in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(variable, raising=False)
    assert paint("error", "red").startswith("\x1b[")
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("error", "red") == "error"
