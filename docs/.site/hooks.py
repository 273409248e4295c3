"""For mkdocs: pages at the root of the repository are part of the site, and links lead where the site has them."""

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
_LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    for file, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / file).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """With the links of the page where the site has their targets."""
    here = page.file.src_uri
    source = _SOURCES.get(here, f"docs/{here}")
    return _LINK.sub(lambda found: _link(found, posixpath.dirname(source), here), markdown)


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
