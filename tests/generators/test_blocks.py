"""Generated blocks between markers in handwritten files."""

from __future__ import annotations

from pathlib import Path

import pytest

import generators
from generators import filled

FILE = """\
rules:
  # begin generated: jobs (make generate)
  - old
  # end generated: jobs
  - by hand
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(generators, "ROOT", tmp_path)
    return tmp_path


def test_a_block_is_replaced_and_indented_and_the_rest_is_unchanged(folder: Path) -> None:
    (folder / "rbac.yaml").write_text(FILE + FILE)

    made = filled("rbac.yaml", {"jobs": "- one\n- two"})

    assert made == FILE.replace("  - old\n", "  - one\n  - two\n") * 2


def test_markers_in_markdown_are_comments(folder: Path) -> None:
    marks = "<!-- begin generated: kinds -->\n{}<!-- end generated: kinds -->\n"
    (folder / "page.md").write_text(marks.format(""))

    assert filled("page.md", {"kinds": "| a |\n"}) == marks.format("| a |\n")


@pytest.mark.parametrize(
    ("text", "names", "message"),
    [
        (FILE, (), "no generator makes jobs"),
        (FILE, ("jobs", "other"), "rbac.yaml: no line has begin generated: other"),
        (FILE.replace("end", "End"), ("jobs",), "no line has end generated: jobs"),
    ],
)
def test_markers_and_generators_must_agree(folder: Path, text: str, names: tuple[str, ...], message: str) -> None:
    (folder / "rbac.yaml").write_text(text)

    with pytest.raises(ValueError, match=message):
        filled("rbac.yaml", dict.fromkeys(names, "- new"))
