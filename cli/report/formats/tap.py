"""Renders the Test Anything Protocol, version 14. A finding that fails the run is `not ok`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from cli.report.formats.checks import CaseState, CheckedRun, ReportedCase


def render(run: CheckedRun) -> str:
    lines = ["TAP version 14", f"1..{len(run.cases)}", *(f"# {comment}" for comment in run.lines)]
    for number, check in enumerate(run.cases, 1):
        lines += _lines(number, check)
    return "\n".join(lines)


def _lines(number: int, check: ReportedCase) -> Iterator[str]:
    ok = "ok" if check.state in (CaseState.PASSED, CaseState.SKIPPED) else "not ok"
    skip = f" # SKIP {_escaped(check.message)}" if check.state is CaseState.SKIPPED else ""
    yield f"{ok} {number} - {_escaped(f'{check.group}: {check.name}')}{skip}"
    if check.state is CaseState.SKIPPED or not check.message:
        return
    yield "  ---"
    for key, text in (("severity", check.severity), ("at", check.place), ("message", check.message)):
        yield f"  {key}: {_quoted(text)}"
    if check.details:
        yield "  details:"
        yield from (f"    - {_quoted(line)}" for line in check.details)
    yield "  ..."


def _escaped(text: str) -> str:
    """The text with escaped `#`, which would begin a directive such as SKIP."""
    return text.replace("\\", "\\\\").replace("#", "\\#")


def _quoted(text: str) -> str:
    """The text as a YAML scalar. JSON strings are valid YAML."""
    return json.dumps(text, ensure_ascii=False)
