"""Generates the table of checks in docs/doctor.md."""

from __future__ import annotations

from cli.doctor.checks import CHECKS
from generators.files import table

PAGE = "docs/doctor.md"


def generate() -> dict[str, dict[str, str]]:
    rows = ((f"`{check.id}`", check.title) for check in CHECKS)
    return {PAGE: {"checks": table("| check | what has to hold |", rows)}}
