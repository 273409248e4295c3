"""Computes the value of a YAML scalar as Kubernetes does.

kubectl and the API server read YAML with sigs.k8s.io/yaml, which uses go-yaml 2 and then converts to JSON. The result
is neither YAML 1.1 nor 1.2:
- y, yes, on, true and n, no, off, false are booleans, in lower case, Capitalised and UPPER CASE; null, ~ and nothing
  are null;
- integers may have a sign, underscores and the prefixes 0x, 0b, 0o; a leading 0 means octal, so 010 is 8 (and 08 is 8);
- 1e3 is a number, and a number without a fraction is an integer: 1e3 is 1000, 1.0 is 1; others are exact Decimals here;
- dates and times stay strings; .inf and .nan have no value, since JSON has no such numbers.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any

NO_NUMBER: Any = object()
"""Stands for infinity and NaN, which JSON does not have."""

_TRUE = ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"]
_FALSE = ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"]
_INFINITE = [sign + text for sign in ("", "+", "-") for text in (".inf", ".Inf", ".INF")]
_WORDS: dict[str, Any] = {
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys([*_INFINITE, ".nan", ".NaN", ".NAN"], NO_NUMBER),
}
_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)").fullmatch
_FLOAT = re.compile(r"[+-]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][+-]?[0-9]+)?").fullmatch
TYPED: dict[str, tuple[type, ...]] = {
    "!!int": (int,),
    "!!float": (int, Decimal),
    "!!bool": (bool,),
    "!!null": (type(None),),
}
"""The tags of values that are not texts, with their types here."""
_TEXT = ("!", "!!str", "!!timestamp")


def resolve(text: str) -> Any:
    """The value of a scalar that has neither quotes nor a tag."""
    return _value_of_short(text) if len(text) <= 64 else _value(text)


def short_tag(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")


def resolve_tagged(tag: str, text: str) -> Any:
    """The value of a scalar with a tag such as `!!int`. Raises ValueError if the text is not of this type."""
    if tag in _TEXT:
        return text
    if tag not in TYPED:
        raise ValueError(f"the tag {tag} has no meaning in a manifest; remove it")
    value = resolve(text)
    if type(value) not in TYPED[tag] and value is not NO_NUMBER:
        raise ValueError(f"{text!r} is not a valid {tag}")
    return value


def _value(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    digits = text.replace("_", "") if text[0] != "." else text
    whole = _INTEGER(digits) if len(digits) <= 70 else None  # 64 bits in binary, a sign and a prefix
    if whole:
        value = _integer(whole[1], whole[2])
        if -(2**63) <= value < 2**64:
            return value
    return _decimal(digits, text) if _FLOAT(digits) else text


_value_of_short = lru_cache(maxsize=4096)(_value)  # manifests repeat the same values


def _integer(sign: str, digits: str) -> int:
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    value = int(digits, 8 if octal else 0)
    return -value if sign == "-" else value


def _decimal(digits: str, text: str) -> Any:
    """The number: an integer without a fraction, below 1e21, as Go prints JSON. If it overflows a float64, the text."""
    rounded = float(digits)
    if rounded == 0:
        return 0
    if rounded in (float("inf"), float("-inf")):
        return text
    exact = Decimal(digits)
    return int(exact) if abs(rounded) < 1e21 and exact == exact.to_integral_value() else exact
