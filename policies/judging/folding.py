"""Folds findings under the finding that causes them. So one misspelt name is one finding with all its consequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from policies.judging.verdict import Judged
from policies.model.findings import ObjectField


def folded(found: Sequence[Judged]) -> list[Judged]:
    """The findings in their order, without those that another one causes; these are in its `consequences`.

    A finding is never folded under a less severe one, since that could allow the change.
    """
    if not any(judged.finding.follows for judged in found):
        return list(found)
    at: dict[ObjectField, list[int]] = {}
    for number, judged in enumerate(found):
        for place in judged.finding.concerns:
            at.setdefault(place, []).append(number)
    for number, judged in enumerate(found):
        place = (judged.finding.object, judged.finding.field)
        if place not in judged.finding.follows:  # else it is a consequence of another finding at this place
            at.setdefault(place, []).append(number)
    above = {number: first for number in range(len(found)) if (first := _cause(number, found, at)) is not None}
    kept: dict[int, list[Judged]] = {number: [] for number in range(len(found))}
    for number in above:
        top = _first_cause(number, above)
        if top != number:
            kept.pop(number)
            kept[top].append(found[number])
    return [replace(found[number], consequences=tuple(below)) for number, below in kept.items()]


def _cause(number: int, found: Sequence[Judged], at: dict[ObjectField, list[int]]) -> int | None:
    severity = found[number].severity.rank
    for place in found[number].finding.follows:
        for other in at.get(place, ()):
            if other != number and found[other].severity.rank <= severity:
                return other
    return None


def _first_cause(number: int, above: dict[int, int]) -> int:
    """The first cause in the chain of causes; the finding itself if the chain is a cycle."""
    seen = {number}
    top = number
    while top in above:
        top = above[top]
        if top in seen:
            return number
        seen.add(top)
    return top
