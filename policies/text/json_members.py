"""Reads the members of one JSON object with their offsets in the text. Duplicate keys are kept.

`json.loads` reports neither positions nor duplicate keys. Here the members before a syntax error are kept, so that all
faults can be reported at once.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NoReturn, TypeAlias

from policies.text.positions import BadText

Kind: TypeAlias = Literal["text", "number", "boolean", "null", "list", "object"]

_BLANKS = re.compile(r"[ \t\n\r]*")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_KINDS: dict[str, Kind] = {'"': "text", "{": "object", "[": "list", "t": "boolean", "f": "boolean", "n": "null"}


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A key and its value.

    `value`: numbers are floats.
    `source`: the value as written.
    `key_at`, `value_at`: the offsets of the key and the value.
    """

    key: str
    kind: Kind
    value: Any
    source: str
    key_at: int
    value_at: int


@dataclass(frozen=True, slots=True)
class Scan:
    """The members of a text.

    `kind`: the kind of the value at the start of the text; None if there is no value.
    `error`: the syntax error at which reading stopped, or None.
    """

    kind: Kind | None
    members: tuple[JsonMember, ...] = ()
    error: BadText | None = None


@lru_cache(maxsize=8)  # several rules read the same annotations of a change
def scan(text: str) -> Scan:
    """Read a text that should be a JSON object: its members, and the first syntax error. Raises no errors."""
    reader = _Reader(text)
    try:
        reader.whole()
    except BadText as bad:
        # a copy, since the traceback of the raised error would keep the reader in memory
        error = BadText(bad.offset, bad.message)
        return Scan(reader.kind, tuple(reader.members), error)
    return Scan(reader.kind, tuple(reader.members))


def _no_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python reads although they are not JSON."""
    raise ValueError(name)


# Numbers are decoded as floats, since a huge integer takes long to decode, and the values do not matter.
_DECODER = json.JSONDecoder(parse_int=float, parse_constant=_no_constant)


class _Reader:
    def __init__(self, text: str):
        self.text = text
        self.at = 0
        self.kind: Kind | None = None
        self.members: list[JsonMember] = []

    def whole(self) -> None:
        """Reads the whole text into `members`."""
        if not self.next():
            raise BadText(0, "it is blank")
        if self.next() != "{":
            at = self.at
            self.kind, _ = self.value()
            raise BadText(at, f"it is {article(self.kind)}, not an object")
        self.kind = "object"
        self.at += 1
        if self.next() == "}":
            self.at += 1
        else:
            while self.member():
                pass
        if self.next():
            raise BadText(self.at, "more text follows the end of the object")

    def member(self) -> bool:
        """Read one member. Returns whether another one follows."""
        if self.next() != '"':
            raise BadText(self.at, self.no_key())
        key_at = self.at
        _, key = self.value()
        if self.next() != ":":
            raise BadText(self.at, f"a colon is missing after the key {key[:40]!r}")
        self.at += 1
        self.next()
        value_at = self.at
        kind, value = self.value()
        self.members.append(JsonMember(key, kind, value, self.text[value_at : self.at], key_at, value_at))
        if self.next() not in (",", "}"):
            raise BadText(self.at, "a comma or the closing brace is missing")
        self.at += 1
        return self.text[self.at - 1] == ","

    def next(self) -> str:
        """Skip blanks, and return the next character; empty at the end."""
        blanks = _BLANKS.match(self.text, self.at)
        self.at = blanks.end() if blanks else self.at
        return self.text[self.at : self.at + 1]

    def value(self) -> tuple[Kind, Any]:
        at = self.at
        try:
            value, self.at = _DECODER.raw_decode(self.text, at)
        except RecursionError:
            raise BadText(at, "it is nested too deeply to be read") from None
        except ValueError:
            raise BadText(at, self.no_value()) from None
        if isinstance(value, str):
            value = _LONE_SURROGATE.sub("\ufffd", value)  # as Go does with half of a surrogate pair
        return _KINDS.get(self.text[at], "number"), value

    def no_key(self) -> str:
        character = self.next()
        if character == "'":
            return "JSON needs double quotes, not single ones"
        if character == "}" and self.members:
            return "a comma stands before the closing brace"
        if not character:
            return "the closing brace is missing"
        return "a key in double quotes is missing"

    def no_value(self) -> str:
        character = self.next()
        if character == "'":
            return "JSON needs double quotes, not single ones"
        if character == '"':
            return "a string has no closing double quote, or contains a control character or an unknown escape"
        if not character or character in ",}":
            return "a value is missing"
        if character in "[{":
            return "a list or an object is not well-formed"
        return "this is not JSON"


def article(kind: Kind) -> str:
    """The kind with its article, such as `a number`, `an object` or `null`."""
    if kind == "null":
        return kind
    return f"an {kind}" if kind == "object" else f"a {kind}"
