from __future__ import annotations

import sys
from pathlib import Path

import pytest

import generators
from generators import __main__ as command
from generators import surfaces


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one generated file, written."""
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(generators, "GENERATORS", [lambda: {"docs/page.md": "one\ntwo\n"}])
    monkeypatch.setattr(generators, "BLOCKS", [])
    monkeypatch.setattr(surfaces, "SURFACES", {})
    assert run(monkeypatch) == 0
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    monkeypatch.setattr(sys, "argv", ["generators", *args])
    return command.main()


def test_files_are_written_and_then_up_to_date(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (tree / "docs" / "page.md").read_text() == "one\ntwo\n"
    assert run(monkeypatch, "--check") == 0


def test_a_file_that_is_generated_from_another_one_is_up_to_date_after_one_run(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tree / "docs" / "page.md"
    copies = [lambda: {"copy.md": source.read_text()}, lambda: {"docs/page.md": "new\n"}]
    monkeypatch.setattr(generators, "GENERATORS", copies)

    assert run(monkeypatch) == 0
    assert (tree / "copy.md").read_text() == "new\n"


def test_an_edited_file_fails_the_check_and_is_not_changed(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "docs" / "page.md").write_text("one\nthree\n")
    assert run(monkeypatch, "--check") == 1
    assert (tree / "docs" / "page.md").read_text() == "one\nthree\n"
    printed = capsys.readouterr()
    assert "-three\n+two" in printed.out
    assert "1 generated file(s) out of date; run `make generate`" in printed.err


def test_a_missing_file_fails_the_check(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "docs" / "page.md").unlink()
    assert run(monkeypatch, "--check") == 1
    assert "docs/page.md: is missing" in capsys.readouterr().out


def test_several_generators_may_fill_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "".join(f"<!-- begin generated: {name} -->\n<!-- end generated: {name} -->\n" for name in ("one", "two"))
    (tmp_path / "p.md").write_text(page)
    monkeypatch.setattr("generators.ROOT", tmp_path)
    monkeypatch.setattr(generators, "GENERATORS", [])
    monkeypatch.setattr(generators, "BLOCKS", [lambda: {"p.md": {"one": "1"}}, lambda: {"p.md": {"two": "2"}}])

    (text,) = generators.generated().values()
    assert [line for line in text.splitlines() if not line.startswith("<")] == ["1", "2"]


def test_two_generators_of_one_file_are_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "GENERATORS", [lambda: {"a": "1"}, lambda: {"a": "2"}])
    with pytest.raises(ValueError, match="two generators write a"):
        generators.generated()
