"""Evaluates Go's regular expressions, if they mean the same in Python and cannot take long."""

from __future__ import annotations

import re
from functools import lru_cache

_SPECIAL = re.compile(r"[\^$*+?()\[{}|]")
_NOT_GO = re.compile(r"\(\?(?:[=!#>]|<[=!]|P=|P>|\(|[imsU-]*[aLux])|\\[1-9ZGCuUN]|[*+?}]\+")
_ONLY_GO = (
    (re.compile(r"\\[pP](?:\{\^?[A-Za-z_]+\}|[A-Z])|\\x\{[0-9a-fA-F]+\}"), "a"),
    (re.compile(r"\[:\^?[a-z]+:\]"), "a"),
    (re.compile(r"\(\?<(?=[a-zA-Z_])"), "(?P<"),
    (re.compile(r"\(\?[ims-]*U[imsU-]*\)|(?<=.)\(\?[ims-]+\)|\(\?-[ims]+\)"), "(?:)"),
)
"""What Python does not know, or reads in another way, with something that may be in the same places."""
_COUNT = re.compile(r"\{([0-9]{1,9})(?:,([0-9]{0,9}))?\}")
_MOST_TIMES = 1000
_REPEATED = re.compile(r"(?<!\\)[*+{]")
_NESTED = re.compile(r"[*+?{|][^()]*\)+[*+?{]")
_MAX_REPEATS = 3
_MAX_NAME = 256


def is_special(text: str) -> bool:
    """Whether the text has a character that makes it a pattern for YuniKorn, not a name."""
    return _SPECIAL.search(text) is not None


def compiles(text: str) -> bool:
    """Whether Go compiles the pattern."""
    for only, like in _ONLY_GO:
        text = only.sub(like, text)
    return _compiled(text) is not None


@lru_cache(maxsize=256)
def _compiled(text: str) -> re.Pattern[str] | None:
    """The pattern; None if Go would not compile it, or if only Go knows its syntax."""
    counts = (int(number) for found in _COUNT.findall(text) for number in found if number)
    if _NOT_GO.search(text) or any(number > _MOST_TIMES for number in counts):
        return None
    if any(only.search(text) for only, _ in _ONLY_GO):
        return None
    try:
        return re.compile(text.replace(r"\z", r"\Z").replace("{,", r"\{,"), re.ASCII)  # to Go, {,3} is a plain text
    except (re.error, OverflowError, RecursionError):
        return None


def found(text: str, name: str) -> bool | None:
    """Whether the pattern is found in the name. None if only Go can tell, or the search could take long in Python."""
    pattern = _compiled(text)
    if pattern is None:
        return None if compiles(text) else False
    if len(_REPEATED.findall(text)) > _MAX_REPEATS or _NESTED.search(text) or len(name) > _MAX_NAME:
        return None
    return pattern.search(name) is not None
