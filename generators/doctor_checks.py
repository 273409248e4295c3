"""The table of checks in docs/doctor.md."""

from __future__ import annotations

from cli.doctor.checks import CHECKS

PAGE = "docs/doctor.md"


def generate() -> dict[str, dict[str, str]]:
    rows = "".join(f"| `{check.id}` | {check.title} |\n" for check in CHECKS)
    return {PAGE: {"checks": f"| check | what has to hold |\n|---|---|\n{rows}"}}
