"""Untrusted text is printed so that it has no effect on a terminal or a log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.model.printing import plain
from tests.profiles import each_case


@each_case(
    ("char", "shown"),
    [
        ("\x1b", r"\x1b"),
        ("\n", r"\n"),
        ("\x00", r"\x00"),
        ("\x7f", r"\x7f"),
        ("\x9b", r"\x9b"),
        ("\u202e", r"\u202e"),
        ("\u2066", r"\u2066"),
        ("\u2069", r"\u2069"),
        ("\u200f", r"\u200f"),
        ("\u200b", r"\u200b"),
        ("\u2028", r"\u2028"),
        ("\ufeff", r"\ufeff"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_unprintable_character_is_escaped(char: str, shown: str) -> None:
    assert plain(f"a{char}b") == f"a{shown}b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::stop-commands::x", r"\x3a:stop-commands::x"),
        ("  ::Error a", r"  \x3a:Error a"),
        ("a ##[set-output name=b]##[c]", r"a ##\x5bset-output name=b]##\x5bc]"),
        ("a::b", "a::b"),
        ("::1", "::1"),
        ("## [a]", "## [a]"),
    ],
)
def test_a_command_of_githubs_runner_is_escaped(text: str, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize("text", ["", "größe → 5 %", "日本語", "a  b"])
def test_printable_text_is_unchanged(text: str) -> None:
    assert plain(text) == text


@given(st.text())
def test_plain_is_printable_and_idempotent(text: str) -> None:
    assert plain(text).isprintable()
    assert plain(plain(text)) == plain(text)
