"""`make docs`: every link of the site leads somewhere on it, and its pages ask nobody else."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from policies.rules import registry

ROOT = Path(__file__).parents[1]
(_OF_MAKE,) = re.findall(r"^docs:.*\n\t\$\(BIN\)/python (-m mkdocs .*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
BUILD = [sys.executable, *shlex.split(_OF_MAKE)]
"""The command of `make docs`."""
_LOADED = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]+)"|<link\b[^>]*\bhref="([^"]+)\"""")


@pytest.mark.apiserver
def test_the_site_is_whole_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    done = subprocess.run([*BUILD, "--site-dir", str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    loaded = {(a or b) for page in pages for a, b in _LOADED.findall(page.read_text(encoding="utf-8"))}

    assert [each for each in loaded if "://" in each or each.startswith("//")] == []
    assert {f"{rule}.html" for rule in registry()} <= {each.name for each in (tmp_path / "rules").iterdir()}
    for page in ("index", "start", "contributing", "changelog", "chart", "dashboard", "commands/index"):
        assert (tmp_path / f"{page}.html").exists()


def test_links_that_lead_nowhere_end_make_docs(tmp_path: Path) -> None:
    """mkdocs looks for no anchors with `--verbose`, and counts no warnings with `--quiet`."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[0]
    (tmp_path / "mkdocs.yml").write_text(re.sub(r"^hooks:.*\n", "", settings, flags=re.MULTILINE))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "other.md").write_text("# Other\n")

    def built(*links: str) -> subprocess.CompletedProcess[str]:
        page = "".join(f"[link]({link})\n" for link in links)
        (tmp_path / "docs" / "index.md").write_text(f"# Page\n\n{page}")
        return subprocess.run(BUILD, cwd=tmp_path, capture_output=True, text=True)

    assert built("other.md", "other.md#other").returncode == 0
    done = built("nowhere.md", "#nowhere", "other.md#nowhere", "/other.md")
    assert done.returncode == 1
    assert "Aborted with 4 warnings in strict mode!" in done.stdout
