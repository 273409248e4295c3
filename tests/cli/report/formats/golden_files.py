"""The example report in every format, as files of golden/."""

from __future__ import annotations

from pathlib import Path

from cli.report import formats
from cli.report.formats import OF_REPORTS
from cli.version import VERSION
from tests.cli.report.formats.reports import example

FOLDER = Path(__file__).parent / "golden"


def rendered(form: str) -> str:
    return formats.rendered(OF_REPORTS[form], example()).replace(VERSION, "VERSION") + "\n"


if __name__ == "__main__":
    for form in OF_REPORTS:
        (FOLDER / form).write_text(rendered(form), encoding="utf-8")
