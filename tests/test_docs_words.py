"""The docs and the changelog do not use the words that docs/writing.md forbids."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WRITING = (ROOT / "docs" / "writing.md").read_text(encoding="utf-8")
PAGES = (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md")
FRAGMENTS = sorted((ROOT / "changelog.d").rglob("*.md"))
_CODE = re.compile(r"^```.*?^```|^ {4}.*?$|`[^`]*`", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"\]\([^)]*\)")
_ROW = re.compile(r"^\| (`[^|]*) \|", re.MULTILINE)


def avoided(page: str) -> list[str]:
    """The words and phrases in code spans of the first column."""
    rows = _ROW.findall(page.partition("\n## Words that we do not use\n")[2])
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row)]


WORDS = avoided(WRITING)


def used(text: str, words: list[str]) -> list[str]:
    """Those of the words that occur in a page, outside of code and of the targets of links."""
    prose = " ".join(_TARGET.sub("]", _CODE.sub(" ", text)).split())
    return [word for word in words if re.search(rf"\b{re.escape(word)}\b", prose, re.IGNORECASE)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_uses_no_forbidden_word(page: Path) -> None:
    assert used(page.read_text(encoding="utf-8"), WORDS) == []


def test_changelog_fragments_use_no_forbidden_word() -> None:
    found = {path.name: used(path.read_text(encoding="utf-8"), WORDS) for path in FRAGMENTS}

    assert found
    assert {name: words for name, words in found.items() if words} == {}


def test_the_forbidden_words_are_read_from_the_page() -> None:
    assert {"told", "of itself", "mended", "shelf"} <= set(WORDS)
    assert len(WORDS) > 20


def test_forbidden_words_are_found_in_sentences_and_not_in_code() -> None:
    page = "Told once, fade of\nitself.\n\n```\nthing\n```\n\n    a picture\n\nsee `mended` in [it](pictures/law.md)\n"

    assert used(page, ["told", "of itself", "thing", "picture", "mended", "law"]) == ["told", "of itself"]
    assert used("a something else", ["thing"]) == []
