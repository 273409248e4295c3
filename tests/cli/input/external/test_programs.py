"""What is kept of the output of a program."""

from __future__ import annotations

import sys
import tracemalloc

import pytest

from cli.input.external.programs import ProgramFailed, run

LONG = "import sys; sys.stderr.write('x' * 50_000_000 + ' the error'); sys.exit(1)"


def test_only_the_end_of_a_long_standard_error_is_read() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ProgramFailed, match=r"^\.\.\. x+ the error$"):
            run([sys.executable, "-c", LONG], most=1000)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 1_000_000


def test_a_short_standard_error_is_shown_whole() -> None:
    with pytest.raises(ProgramFailed, match=r"^the error$"):
        run([sys.executable, "-c", "import sys; sys.exit('the error')"])
