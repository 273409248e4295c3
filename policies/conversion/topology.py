"""Converts topology assignments: v1beta1 has a list of domains, v1beta2 has compressed slices.

A slice has for each level either one value for all its domains, or a value for each domain, without the prefix and the
suffix that all values have in common. The numbers of pods have the same two forms.
Source: Kueue v0.19, TopologyAssignment of v1beta2.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any, Final, TypeAlias

from policies.dialects.reading import mapping

Part: TypeAlias = dict[str, Any]
Shape: TypeAlias = list[list[Any]]
"""How slices are written; the domains have the values. For each slice: its number of domains; for each level None if
all domains have the same value, else the lengths of prefix and suffix (None if absent); and whether all domains have
the same number of pods."""

MOST_DOMAINS: Final = 100_000
"""The most domains of one slice, as in the schema of v1beta2, and of all expanded slices."""
_MOST_LEVELS: Final = 16
_LONGEST_TEXT: Final = 63
"""Limits of the schema of v1beta2. The API server may have objects converted before it checks them, and a few bytes
without these limits could expand to gigabytes."""


def compressed(domains: object) -> list[Part] | None:
    """The slices for a list of domains, as few as possible, as Kueue writes them. None for another value."""
    if not isinstance(domains, list) or not all(map(_is_domain, domains)):
        return None
    slices = []
    for _, alike in groupby(domains, lambda domain: len(domain["values"])):
        while batch := list(islice(alike, MOST_DOMAINS)):
            slices.append(one_slice(batch))
    return slices


def one_slice(domains: list[Part]) -> Part:
    """The domains, which have equally many levels, as one slice."""
    counts = [domain["count"] for domain in domains]
    return {
        "domainCount": len(domains),
        "valuesPerLevel": [_level(list(values)) for values in zip(*(d["values"] for d in domains), strict=True)],
        "podCounts": {"universal": counts[0]} if len(set(counts)) == 1 else {"individual": counts},
    }


def expanded(slices: object) -> list[Part] | None:
    """The domains of the slices. None if the value is not a list of consistent slices."""
    if not isinstance(slices, list):
        return None
    domains: list[Part] = []
    try:
        for each in slices:
            domains += _domains(each, MOST_DOMAINS - len(domains))
    except (KeyError, TypeError, ValueError):
        return None
    return domains


def shape(slices: object) -> Shape | None:
    """The shape of the slices. None if the shape and the domains do not give the same slices again."""
    domains = expanded(slices)
    if domains is None or not isinstance(slices, list):
        return None
    found: Shape = [
        [each["domainCount"], [_lengths(level) for level in each["valuesPerLevel"]], "universal" in each["podCounts"]]
        for each in slices
    ]
    return found if of_shape(found, domains) == slices else None


def of_shape(shape: object, domains: list[Part]) -> list[Part] | None:
    """The slices of this shape. None if it has other numbers of domains or levels than `domains`."""
    if not isinstance(shape, list):
        return None
    rest = iter(domains)
    try:
        slices = [_slice(list(islice(rest, count)), count, levels, at_once) for count, levels, at_once in shape]
    except (IndexError, KeyError, TypeError, ValueError):
        return None
    return None if next(rest, None) else slices


def _is_domain(domain: object) -> bool:
    if not isinstance(domain, dict) or domain.keys() != {"values", "count"}:
        return False
    values, count = domain["values"], domain["count"]
    return isinstance(values, list) and all(isinstance(value, str) for value in values) and type(count) is int


def _level(values: list[str]) -> Part:
    """The values of one level. If prefix and suffix overlap in the shortest value, the suffix keeps the overlap."""
    if len(set(values)) == 1:
        return {"universal": values[0]}
    suffix = _common_beginning([value[::-1] for value in values])[::-1]
    prefix = _common_beginning(values)[: min(map(len, values)) - len(suffix)]
    level: Part = {"roots": [value[len(prefix) : len(value) - len(suffix)] for value in values]}
    level |= {"prefix": prefix} if prefix else {}
    level |= {"suffix": suffix} if suffix else {}
    return {"individual": level}


def _common_beginning(values: list[str]) -> str:
    low, high = min(values), max(values)  # a prefix of both is also a prefix of all values between them
    differs = (at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other)
    return low[: next(differs, len(low))]


def _domains(each: Any, most: int) -> Iterator[Part]:
    """The domains of one slice. Raises KeyError, TypeError or ValueError if it is not a slice."""
    count = each["domainCount"]
    if type(count) is not int or not 0 <= count <= most:
        raise ValueError(count)
    if len(each["valuesPerLevel"]) > _MOST_LEVELS:
        raise ValueError(len(each["valuesPerLevel"]))
    levels = [_values(level, count) for level in each["valuesPerLevel"]]
    counts = _counts(each["podCounts"], count)
    return ({"values": [level[at] for level in levels], "count": counts[at]} for at in range(count))


def _values(level: Any, count: int) -> list[str]:
    if "universal" in level:
        return [_text(level["universal"])] * count
    individual = level["individual"]
    prefix, suffix = _text(individual.get("prefix", "")), _text(individual.get("suffix", ""))
    values = [prefix + _text(root) + suffix for root in individual["roots"]]
    if len(values) != count:
        raise ValueError(len(values))
    return values


def _counts(counts: Any, count: int) -> list[int]:
    values = [counts["universal"]] * count if "universal" in counts else counts["individual"]
    if not isinstance(values, list) or len(values) != count or any(type(value) is not int for value in values):
        raise ValueError(values)
    return values


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise TypeError(value)
    return value


def _lengths(level: Part) -> list[int | None] | None:
    individual = mapping(level.get("individual"))
    if not individual:
        return None
    return [len(individual[key]) if key in individual else None for key in ("prefix", "suffix")]


def _slice(domains: list[Part], count: object, levels: list[Any], at_once: object) -> Part:
    """One slice of this shape. Raises an error if count or levels do not fit."""
    if count != len(domains) or any(len(domain["values"]) != len(levels) for domain in domains):
        raise ValueError(count)
    counts = [domain["count"] for domain in domains]
    return {
        "domainCount": len(domains),
        "valuesPerLevel": [
            _level_of_shape([domain["values"][at] for domain in domains], lengths) for at, lengths in enumerate(levels)
        ],
        "podCounts": {"universal": counts[0]} if at_once else {"individual": counts},
    }


def _level_of_shape(values: list[str], lengths: Any) -> Part:
    if lengths is None:
        return {"universal": values[0]}
    prefix, suffix = lengths
    first, last = prefix or 0, suffix or 0
    level: Part = {"roots": [value[first : len(value) - last] for value in values]}
    if prefix is not None:
        level["prefix"] = values[0][:first]
    if suffix is not None:
        level["suffix"] = values[0][len(values[0]) - last :]
    return {"individual": level}
