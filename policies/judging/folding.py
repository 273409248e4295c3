"""Consequences of another finding, folded under it: one slip in a name is one finding, whatever follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from policies.judging.verdict import Judged
from policies.model.findings import PlaceOf


def folded(found: Sequence[Judged]) -> list[Judged]:
    """The findings in their order, without those that follow from another.

    A finding is never folded under one that is less severe, so that nothing passes for it. Costs nothing where no
    finding names a place that it follows from, as with nearly all.
    """
    if not any(judged.finding.follows for judged in found):
        return list(found)
    at: dict[PlaceOf, list[int]] = {}
    for number, judged in enumerate(found):
        for place in judged.finding.concerns:
            at.setdefault(place, []).append(number)
    for number, judged in enumerate(found):
        place = (judged.finding.object, judged.finding.field)
        if place not in judged.finding.follows:  # it has its own reason there, and is none for others
            at.setdefault(place, []).append(number)
    above = {number: first for number in range(len(found)) if (first := _reason(number, found, at)) is not None}
    kept: dict[int, list[Judged]] = {number: [] for number in range(len(found))}
    for number in above:
        top = _top(number, above)
        if top != number:
            kept.pop(number)
            kept[top].append(found[number])
    return [replace(found[number], consequences=tuple(below)) for number, below in kept.items()]


def _reason(number: int, found: Sequence[Judged], at: dict[PlaceOf, list[int]]) -> int | None:
    """The first finding from which this one follows."""
    severity = found[number].severity.rank
    for place in found[number].finding.follows:
        for other in at.get(place, ()):
            if other != number and found[other].severity.rank <= severity:
                return other
    return None


def _top(number: int, above: dict[int, int]) -> int:
    """Where the chain of reasons begins; the finding itself where that runs in a circle."""
    seen = {number}
    top = number
    while top in above:
        top = above[top]
        if top in seen:
            return number
        seen.add(top)
    return top
