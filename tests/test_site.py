"""`make docs`: every link of the site leads somewhere on it, and its pages ask nobody else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from policies.rules import registry

ROOT = Path(__file__).parents[1]
_LOADED = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]+)"|<link\b[^>]*\bhref="([^"]+)\"""")


@pytest.mark.apiserver
def test_the_site_is_whole_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(ROOT / "mkdocs.yml")]
    done = subprocess.run([*command, "--site-dir", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    loaded = {(a or b) for page in pages for a, b in _LOADED.findall(page.read_text(encoding="utf-8"))}

    assert [each for each in loaded if "://" in each or each.startswith("//")] == []
    assert {f"{rule}.html" for rule in registry()} <= {each.name for each in (tmp_path / "rules").iterdir()}
    for page in ("index", "contributing", "changelog", "chart", "dashboard"):
        assert (tmp_path / f"{page}.html").exists()
