"""Write the generated files. With --check, only list those that are out of date, and exit with 1 if there are any.

The command also exits with 1 if the code lacks an interface that a record in docs/surfaces/ promises.
"""

from __future__ import annotations

import argparse
import difflib
import sys

from generators import generated
from generators.files import ROOT
from generators.surfaces import withdrawn

DIFF_LINES = 20
"""The maximum number of lines of difference that are shown for each file."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m generators", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file is out of date")
    check = parser.parse_args().check
    stale = _stale()
    while stale and not check:
        for path, text in stale.items():
            target = ROOT / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
        stale = _stale()  # some files are generated from those
    for path, text in stale.items():
        print(_difference(path, text))
    if stale:
        print(f"{len(stale)} generated file(s) out of date; run `make generate`", file=sys.stderr)
    broken = withdrawn()
    for sentence in broken:
        print(sentence, file=sys.stderr)
    return 1 if broken or stale else 0


def _stale() -> dict[str, str]:
    """The text that each file that is out of date should have, by its path."""
    return {path: text for path, text in generated().items() if _present(path) != text}


def _present(path: str) -> str | None:
    target = ROOT / path
    return target.read_text(encoding="utf-8") if target.is_file() else None


def _difference(path: str, text: str) -> str:
    present = _present(path)
    if present is None:
        return f"{path}: is missing"
    lines = list(difflib.unified_diff(present.splitlines(), text.splitlines(), path, "generated", lineterm="", n=1))
    more = [f"... and {len(lines) - DIFF_LINES} lines more"] if len(lines) > DIFF_LINES else []
    return "\n".join([*lines[:DIFF_LINES], *more])


if __name__ == "__main__":
    sys.exit(main())
