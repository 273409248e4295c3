"""For mkdocs: pages at the root of the repository, links where the site has their targets, lists as mkdocs reads."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": "start.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting-a-hole.md",
    "CHANGELOG.md": "changelog.md",
    "charts/quotree/README.md": "chart.md",
}
"""By file of the repository its page."""
_SOURCES = {page: file for file, page in PAGES.items()}
_ITEM = re.compile(r"(?:[-*]|\d+\.) +")
_CODE = 4
"""So many spaces before a line make it code."""
_LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    for file, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / file).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """With the links of the page where the site has their targets, and lists as mkdocs reads them."""
    here = page.file.src_uri
    source = _SOURCES.get(here, f"docs/{here}")
    return indented(_LINK.sub(lambda found: _link(found, posixpath.dirname(source), here), markdown))


def indented(markdown: str) -> str:
    """With four spaces before what belongs to an item of a list.

    A Git host reads CommonMark, where it is as many as the item's mark is wide. mkdocs takes less than four for
    the end of the list, and an item right below a paragraph for a part of it.
    """
    columns: list[int] = []  # where the text of each open item begins
    made: list[str] = []
    fenced = loose = False
    for line in markdown.splitlines():
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        if fenced or not text:
            made.append(line)
            loose = loose or bool(columns)
        else:
            beside = bool(columns)  # the line before belongs to an item
            while columns and indent < columns[-1]:
                columns.pop()
            deeper = indent - (columns[-1] if columns else 0)
            item = _ITEM.match(text) if deeper < _CODE else None
            if item and made and made[-1] and (loose or not beside):
                made.append("")
            loose = loose and bool(columns or item)
            made.append(" " * (_CODE * len(columns) + (0 if item else deeper)) + text)
            if item:
                columns.append(indent + len(item[0]))
        fenced ^= text.startswith("```")
    return "\n".join(made)


def _link(found: re.Match[str], folder: str, here: str) -> str:
    """A file that is no page, such as an example, is named without a link: the site does not have it."""
    text, target, anchor = found[1], found[2], found[3] or ""
    file = posixpath.normpath(posixpath.join(folder, target))
    if file == "docs/adr":
        return text
    page = PAGES.get(file) or (file.removeprefix("docs/") if file.startswith("docs/") else None)
    if page is None:
        return text
    return f"[{text}]({posixpath.relpath(page, posixpath.dirname(here) or '.')}{anchor})"
