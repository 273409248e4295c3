"""Writes the messages for violations of a schema. Imported only when a manifest is invalid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from jsonschema import Draft202012Validator, ValidationError, validators

from policies.model import fields
from policies.model.fields import Path
from policies.model.objects import Defect
from policies.model.quantity import BadQuantity, Quantity, correction
from policies.model.suggestion import KnownNames, bare, certain, close, did_you_mean, suggest
from policies.schema.declarations import Schema
from policies.schema.values import is_unicode, of_type, value_text, wrong_type

MAX_DEPTH = 200
"""The most levels of nesting that are read. A pod template needs about 15."""
MAX_VALUES = 1_000_000
"""The most values that are read from an invalid manifest. A full ClusterQueue has fewer than 300 000."""
RENAMED = {"cohort": "cohortName", "cohortName": "cohort"}
"""The names that fields of Kueue's kinds have in another version."""


def unreadable(manifest: Mapping[str, Any]) -> list[tuple[Path, Defect]]:
    """Defects that JSON Schema cannot report: invalid Unicode, non-string keys, cycles, excessive depth or size."""
    reading = _SizeCounter()
    size = reading.size(manifest, ())
    if size > MAX_VALUES and not reading.found:
        reading.found.append(((), Defect("", f"spells out to {size} values; at most {MAX_VALUES} are read")))
    return reading.found


class _SizeCounter:
    """Counts the values of a manifest. Each part is visited once, even if aliases repeat it."""

    def __init__(self) -> None:
        self.found: list[tuple[Path, Defect]] = []
        self._sizes: dict[int, int | None] = {}  # by id(); None while the value is being counted

    def size(self, value: Any, path: Path) -> int:
        """The number of values if all aliases are expanded."""
        if isinstance(value, str) and not is_unicode(value):
            self._fault(path, f"{value_text(value)} is not valid Unicode")
        if not isinstance(value, (list, Mapping)):
            return 1
        if id(value) not in self._sizes:
            self._sizes[id(value)] = None
            self._sizes[id(value)] = 1 + sum(self.size(item, (*path, step)) for step, item in self._items(value, path))
        size = self._sizes[id(value)]
        if size is None:
            self._fault(path, "contains itself")
        return size or 1

    def _items(self, value: Any, path: Path) -> Iterator[tuple[str | int, Any]]:
        if len(path) > MAX_DEPTH:
            self._fault(path[:10], f"nests deeper than {MAX_DEPTH} levels")
        elif isinstance(value, list):
            yield from enumerate(value)
        else:
            for key, item in value.items():
                if isinstance(key, str) and is_unicode(key):
                    yield key, item
                elif isinstance(key, str):
                    self._fault(path, f"the key {value_text(key)} is not valid Unicode")
                else:
                    self._fault(path, f"the key {value_text(key)} is not a string; put it in quotes")

    def _fault(self, path: Path, message: str) -> None:
        self.found.append((path, Defect(fields.join("", *path), message)))


def explain(document: Schema, manifest: Mapping[str, Any]) -> list[tuple[Path, Defect]]:
    """All faults that the plain JSON Schema finds."""
    found: dict[tuple[Path, Defect], None] = {}
    quantities: set[Path] = set()
    for error in _Validator(document).iter_errors(manifest):
        path, schema = tuple(error.absolute_path), cast("Schema", error.schema)
        if schema.get("x-quantity") and error.instance is not None:
            if path in quantities:
                continue  # a wrong quantity violates several keywords, but gets only one message
            quantities.add(path)
        fault = _Fault(str(error.validator), error.validator_value, error.instance, schema)
        for below, defect in _defects(fault, path, document):
            found[(*path, *below), defect] = None
    return list(found)


@dataclass(frozen=True, slots=True)
class _Fault:
    """A value that violates a keyword of a schema.

    `limit`: the value of the keyword.
    `schema`: the schema that has the keyword.
    """

    keyword: str
    limit: Any
    value: Any
    schema: Mapping[str, Any]


def _defects(fault: _Fault, path: Path, document: Schema) -> Iterator[tuple[Path, Defect]]:
    if fault.keyword == "required":
        for name in fault.limit:
            if name not in fault.value:
                yield (name,), Defect(fields.join("", *path, name), "is required; add it")
    elif fault.keyword == "additionalProperties":
        known = fault.schema.get("properties", {})
        for name in fault.value:
            if name not in known:
                yield (name,), _unknown((*path, name), known, fault.value, document)
    elif fault.keyword == "anyOf":  # except for quantities, the only anyOf is name or generateName
        yield (
            ("name",),
            Defect(fields.join("", *path, "name"), "is required, unless there is a generateName; add one of the two"),
        )
    elif fault.schema.get("x-quantity") and fault.value is not None:
        yield (
            (),
            Defect(fields.join("", *path), _no_quantity(fault.value), quantity=True, write=correction(fault.value)),
        )
    else:
        yield (), Defect(fields.join("", *path), _words(fault), write=_meant(fault))


def _unknown(path: Path, known: Mapping[str, Any], beside: Mapping[str, Any], document: Schema) -> Defect:
    name = str(path[-1])
    near = _near(name, known)
    missing = [each for each in near if each not in beside]
    elsewhere = fields.join("", *_elsewhere(path, document)) if not near else ""
    if elsewhere:
        cure = f"write {elsewhere} if that is meant, else remove it"
    elif not near:
        cure = suggest(name, sorted(known))
    elif near[0] in missing:
        cure = did_you_mean([repr(each) for each in missing])
    else:
        cure = f"remove it: {near[0]!r} is set as well"
    like = near[0] if near else close(name, sorted(known))
    return Defect(
        fields.join("", *path),
        f"is unknown in this version, so kubectl refuses it; {cure}",
        warning=True,
        unknown=path[:1] != ("status",),
        rename=near[0] if missing and missing == near[:1] else "",
        remove=bool(near) and near[0] in beside and beside[near[0]] == beside[name],
        meant=elsewhere or (fields.join("", *path[:-1], like) if like else ""),
    )


def _elsewhere(path: Path, document: Schema) -> Path:
    """Where the kind has a field of this name: around it, or else at the only place that is the least deep.

    In an object whose only field is a mapping with keys of any name, as `guarantee` of a Queue, that mapping is meant.
    The result is empty if there is none.
    """
    *steps, name = path
    around: list[tuple[Path, Schema]] = [((), document)]
    for index, step in enumerate(steps, 1):
        schema = around[-1][1]
        inner = schema.get("items") if isinstance(step, int) else schema.get("properties", {}).get(step)
        around.append((tuple(steps[:index]), inner or {}))
    own = around[-1][1].get("properties", {})
    for at, schema in reversed(around[:-1]):
        if name in schema.get("properties", {}):
            return (*at, name)
    level: list[tuple[Path, Schema]] = [((), document)]
    while level:
        found = [(*at, name) for at, schema in level if name in schema.get("properties", {})]
        if found:
            return found[0] if len(found) == 1 else ()
        level = [
            ((*at, field), inner)
            for at, schema in level
            for field, inner in schema.get("properties", {}).items()
            if field != "status" or at
        ]
    only = next(iter(own)) if len(own) == 1 else ""
    return (*steps, only, name) if only and isinstance(own[only].get("additionalProperties"), dict) else ()


def _near(name: str, known: Mapping[str, Any]) -> list[str]:
    """The names that may be meant, the most similar first: in another case, renamed between versions, or misspelt."""
    same = [each for each in known if bare(each) == bare(name) or RENAMED.get(name) == each]
    return same or KnownNames(known).near(name)


def _meant(fault: _Fault) -> str | int | None:
    """The allowed value that is certainly meant: misspelt, in another case, or with too many or too few quotes."""
    value = fault.value
    if fault.keyword == "type":
        return of_type(value, fault.limit)
    if fault.keyword == "enum" and isinstance(value, str):
        return certain(value, [each for each in fault.limit if isinstance(each, str) and each]) or None
    return None


def _no_quantity(value: Any) -> str:
    try:
        Quantity.parse(value)
    except BadQuantity as error:
        return str(error)
    if isinstance(value, int):
        return f"{value_text(value)} has more than 64 bits, too many for a plain number; put it in quotes"
    return (
        f"{value_text(value)} is not a valid quantity; write a number with an optional unit, such as 500m, 10 or 10Gi"
    )


def _words(fault: _Fault) -> str:
    value, limit = fault.value, fault.limit
    match fault.keyword:
        case "type" if value is None:
            return "is null; write a value"
        case "type":
            return wrong_type(value, [name for name in limit if name != "null"])
        case "enum":
            allowed = _choice([item for item in limit if item is not None])
            return f"{value_text(value)} is not allowed; it must be {allowed}"
        case "pattern":
            expected = fault.schema.get("x-expected", f"text that matches {limit}")
            found = f"{value_text(value)} is not allowed;" if value else "is empty; leave it out, or"
            return f"{found} it must be {expected}"
        case "minimum":
            return f"{value_text(value)} is too small; it must be {limit} or more"
        case "maximum":
            return f"{value_text(value)} is too large; it must be {limit} or less"
        case _:
            return _size(fault)


def _size(fault: _Fault) -> str:
    """The message for minLength, maxItems and similar keywords."""
    noun = {"Length": "character", "Items": "entry", "Properties": "key"}[fault.keyword[3:]]
    bound = f"at least {fault.limit}" if fault.keyword.startswith("min") else f"at most {fault.limit}"
    subject = f"{value_text(fault.value)} has" if noun == "character" else "has"
    return f"{subject} {_count(len(fault.value), noun)}; it must have {bound}"


def _count(number: int, noun: str) -> str:
    plural = "entries" if noun == "entry" else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


def _choice(items: list[Any]) -> str:
    words = [value_text(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\$$", r"\\Z", pattern))


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """Check a pattern like jsonschema, but `$` matches only at the very end, as in Go, not before a last newline."""
    if isinstance(value, str) and not _compiled(pattern).search(value):
        yield ValidationError("does not match")


_extend: Any = validators.extend
_Validator = _extend(Draft202012Validator, {"pattern": _pattern})
