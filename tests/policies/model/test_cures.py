"""A message is split into the problem and the fix."""

from __future__ import annotations

import pytest

from policies.model.findings import apart


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
def test_fix_is_the_last_part_of_the_message(text: str, message: str, fix: str) -> None:
    assert apart(text, "see there") == (message, fix)
