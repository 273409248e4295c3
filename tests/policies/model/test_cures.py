"""What is wrong and what to write, taken apart."""

from __future__ import annotations

import pytest

from policies.model.cures import apart


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("65536 is too large; it must be 65535 or less", "65536 is too large", "it must be 65535 or less"),
        ('"a; b" is not allowed; it must be "c"', '"a; b" is not allowed', 'it must be "c"'),
        ("the suffix 'MiB' is unknown, write 64Mi", "the suffix 'MiB' is unknown", "write 64Mi"),
        ("0.5 is not a valid quantity: write it as a string", "0.5 is not a valid quantity", "write it as a string"),
        ("it goes round", "it goes round", "see there"),
    ],
)
def test_the_cure_is_what_comes_last(text: str, message: str, fix: str) -> None:
    assert apart(text, "see there") == (message, fix)
