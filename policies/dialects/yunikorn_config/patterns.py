"""Evaluates Go's regular expressions, if they mean the same in Python and cannot take long."""

from __future__ import annotations

import re
from functools import lru_cache

_SPECIAL = re.compile(r"[\^$*+?()\[{}|]")
_NOT_GO = re.compile(r"\(\?(?:[=!#>]|<[=!]|P=|P>|\()|\\[1-9ZG]|[*+?}]\+")
_REPEATED = re.compile(r"(?<!\\)[*+{]")
_NESTED = re.compile(r"[*+?{|][^()]*\)+[*+?{]")
_MAX_REPEATS = 3
_MAX_NAME = 256


def is_special(text: str) -> bool:
    """Whether the text has a character that makes it a pattern for YuniKorn, not a name."""
    return _SPECIAL.search(text) is not None


@lru_cache(maxsize=256)
def compiled(text: str) -> re.Pattern[str] | None:
    """The pattern; None if Go would not compile it."""
    if _NOT_GO.search(text):
        return None
    try:
        return re.compile(text.replace(r"\z", r"\Z"), re.ASCII)
    except (re.error, OverflowError, RecursionError):
        return None


def found(text: str, name: str) -> bool | None:
    """Whether the pattern is found in the name. None if the search could take long in Python; in Go it never does."""
    pattern = compiled(text)
    if pattern is None:
        return False
    if len(_REPEATED.findall(text)) > _MAX_REPEATS or _NESTED.search(text) or len(name) > _MAX_NAME:
        return None
    return pattern.search(name) is not None
