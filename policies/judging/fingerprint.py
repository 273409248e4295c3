"""Computes the fingerprint of a finding, which stays the same if its line, its numbers or its wording change."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

from policies.judging.verdict import Judged


def fingerprint(judged: Judged, occurrence: int = 1) -> str:
    """The fingerprint: 64 hexadecimal digits of a hash of rule, object, field and subject.

    API versions and list indexes do not count, so an entry that is inserted before an old fault does not change it.
    `occurrence`: distinguishes findings that differ only in an index.
    """
    finding = judged.finding
    _, field, subject = finding.lasting
    parts = [judged.rule.id, *finding.object, field, subject]
    if occurrence > 1:
        parts.append(str(occurrence))
    return sha256(json.dumps(parts).encode()).hexdigest()


def fingerprints(found: Iterable[Judged]) -> tuple[str, ...]:
    """The fingerprints of the findings of one report, in their order. They are all different."""
    times: Counter[str] = Counter()
    prints: list[str] = []
    for judged in found:
        first = fingerprint(judged)
        times[first] += 1
        prints.append(fingerprint(judged, times[first]))
    return tuple(prints)
