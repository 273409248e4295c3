"""Regular expressions, with the answers of Go."""

from __future__ import annotations

import pytest

from policies.dialects.yunikorn_config import patterns
from tests.profiles import each_case


@each_case(
    ("text", "compiles"),
    [
        (r"\pL+", True),
        (r"\p{Greek}", True),
        ("[[:alpha:]]+", True),
        (r"\x{41}", True),
        ("(?<n>a)", True),
        ("a(?i)b", True),
        ("(?U)a+", True),
        ("a{1000}", True),
        ("a{1001}", False),
        (r"\pLa(", False),
        ("[[:alpha:]", False),
        ("(?<n>a", False),
        (r"\C", False),
        (r"\u0041", False),
        ("(?x)a", False),
        ("a++", False),
        ("(?=a)", False),
    ],
)
def test_pattern_compiles_as_in_go(text: str, compiles: bool) -> None:
    assert patterns.compiles(text) is compiles


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("a{,3}", "aa", False),
        ("a{,3}", "a{,3}", True),
        ("^dev$", "dev", True),
        (r"dev\z", "dev", True),
        ("[[:alpha:]]", "a", None),
        (r"\pL", "a", None),
        ("a{1001}", "a", False),
    ],
)
def test_pattern_matches_as_in_go(text: str, name: str, found: bool | None) -> None:
    """None: only Go can tell."""
    assert patterns.found(text, name) is found
