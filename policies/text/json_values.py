"""Reads JSON manifests: values, spans and steps. Stricter than the API server: a duplicate key is an error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from policies.text.places import PathStep, StepKind, skip
from policies.text.positions import MAX_DEPTH, TOO_DEEP, BadText, DocumentRoot, TextSpan

_TOKEN = re.compile(r'[{}\[\]]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,:{}\[\]"]+')
_BLANKS = re.compile(r"[ \t\r\n]*")
_VALUE = re.compile(r"[^ \t\r\n,]")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_MORE = "not JSON: Extra data"
_KINDS = {"{": StepKind.MAPPING, "[": StepKind.LIST, "}": StepKind.CLOSE, "]": StepKind.CLOSE}


class _Twice(Exception):
    """A key occurs twice in an object. `_second_key` finds the position."""


class _NoNumber(Exception):
    """The text has NaN, an infinity, or a number that is too large. `read` finds the position."""


def read(text: str) -> DocumentRoot | BadText:
    """The value of the text, or its fault. A number with a fraction or an exponent becomes an exact Decimal."""
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        return BadText(error.pos, f"not JSON: {error.msg}")
    except _Twice:
        return _second_key(text)
    except _NoNumber as found:
        # The decoder stops in the middle of a token. The characters that follow may belong to it.
        offset = next(step.offset for step in steps(text, 0, len(text)) if text.startswith(str(found), step.offset))
        return BadText(offset, f"{str(found)[:40]} is not a number in JSON, or too large for one")
    except RecursionError:
        return _too_deep(text)
    except ValueError:  # an integer with more digits than Python reads
        long = re.search(r"[0-9]{1000}", text)
        return BadText(long.start() if long else 0, "this number has too many digits")
    bad = _too_deep(text) if _is_deep(value) else _half_character(text)
    return bad or _root(text, value)


def read_all(text: str) -> Iterator[DocumentRoot | BadText]:
    """The values of the text. As for kubectl, several may follow each other. A fault ends them."""
    root = read(text)
    if isinstance(root, DocumentRoot) or root.message != _MORE:
        yield root
        return
    start = _after_blanks(text, 0)
    while start < len(text):
        try:
            _, end = _PLAIN.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = len(text)
        root = read(text[start:end])
        yield _moved(root, start)
        if isinstance(root, BadText):
            return
        start = _after_blanks(text, end)


def _after_blanks(text: str, start: int) -> int:
    blanks = _BLANKS.match(text, start)
    return blanks.end() if blanks else start


def _moved(root: DocumentRoot | BadText, start: int) -> DocumentRoot | BadText:
    """The same in a text that has this value at `start`."""
    if isinstance(root, BadText):
        return BadText(start + root.offset, root.message, accepted=root.accepted)
    spans = [
        TextSpan(start + first, start + end, (start + first, start + end)) for first, end, _ in (root.span, *root.items)
    ]
    return DocumentRoot(root.value, spans[0], spans[1:])


def steps(text: str, start: int, end: int) -> Iterator[PathStep]:
    for token in _TOKEN.finditer(text, start, end):
        symbol = token[0]
        if symbol in _KINDS:
            yield PathStep(_KINDS[symbol], token.start())
        else:
            yield PathStep(StepKind.SCALAR, token.start(), _string(symbol) if symbol[0] == '"' else symbol)


def _string(token: str) -> str:
    return str(json.loads(token)) if "\\" in token else token[1:-1]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _Twice
    return result


def _constant(name: str) -> Any:
    raise _NoNumber(name)


def _exact(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:  # the exponent is too large for a Decimal
        raise _NoNumber(digits) from None


_PLAIN = json.JSONDecoder()
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_exact, parse_constant=_constant)


def _root(text: str, value: Any) -> DocumentRoot:
    first = _VALUE.search(text)
    start, end = first.start() if first else 0, len(text)
    return DocumentRoot(value, TextSpan(start, end, (start, end)), _items(text, value))


def _items(text: str, value: Any) -> list[TextSpan]:
    """The spans of the list at `items`. Each item is decoded again, which is far faster than to walk over its steps."""
    items = value.get("items") if isinstance(value, dict) else None
    spans: list[TextSpan] = []
    at = _start_of_items(text) if isinstance(items, list) else 0
    for _ in items if isinstance(items, list) else []:
        first = _VALUE.search(text, at)
        start = first.start() if first else at
        _, at = _DECODER.raw_decode(text, start)
        spans.append(TextSpan(start, at, (start, at)))
    return spans


def _start_of_items(text: str) -> int:
    walk = steps(text, 0, len(text))
    next(walk)
    for key in walk:
        value = next(walk)
        if key.text == "items":
            return value.offset + 1
        skip(value, walk)
    return 0


def _second_key(text: str) -> BadText:
    around: list[set[str] | None] = [None]  # the keys so far of each enclosing object; None for an array
    key_is_next = False
    for step in steps(text, 0, len(text)):
        keys = around[-1]
        if step.kind is StepKind.SCALAR and key_is_next and keys is not None:
            if step.text in keys:
                return BadText(step.offset, f"the key {step.text!r} occurs twice in this object", accepted=True)
            keys.add(step.text)
            key_is_next = False
            continue
        if step.kind is StepKind.CLOSE:
            around.pop()
        elif step.kind is not StepKind.SCALAR:
            around.append(set() if step.kind is StepKind.MAPPING else None)
        key_is_next = around[-1] is not None
    return BadText(0, "a key occurs twice in an object", accepted=True)


def _is_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
        depth += 1
    return bool(level)


def _too_deep(text: str) -> BadText:
    depth = 0
    for step in steps(text, 0, len(text)):
        depth += 1 if step.kind in (StepKind.MAPPING, StepKind.LIST) else -1 if step.kind is StepKind.CLOSE else 0
        if depth > MAX_DEPTH:
            return BadText(step.offset, TOO_DEEP, accepted=True)
    return BadText(0, TOO_DEEP, accepted=True)


def _half_character(text: str) -> BadText | None:
    """The fault if the text has half of a surrogate pair, which cannot be printed; else None."""
    if not _SURROGATE.search(text):
        return None
    for step in steps(text, 0, len(text)):
        if any("\ud800" <= character <= "\udfff" for character in step.text):
            return BadText(step.offset, "this text contains half of a surrogate pair, which is not a character")
    return None
