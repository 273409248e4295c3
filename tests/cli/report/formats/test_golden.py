"""One report in every format, to the letter. `python -m tests.cli.report.formats.golden_files` writes them anew."""

from __future__ import annotations

import pytest

from cli.report.formats import OF_REPORTS
from tests.cli.report.formats.golden_files import FOLDER, rendered


@pytest.mark.parametrize("form", OF_REPORTS)
def test_each_format_is_as_it_was(form: str) -> None:
    assert (FOLDER / form).read_text(encoding="utf-8") == rendered(form)
