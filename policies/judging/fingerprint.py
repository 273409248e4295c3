"""What a finding is known by from one run to the next, whatever its line, its numbers and its wording are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

from policies.judging.verdict import Judged


def fingerprint(judged: Judged, occurrence: int = 1) -> str:
    """64 hexadecimal digits over rule, object, field and subject.

    Neither the version of the API nor an index in a list counts: an entry put before an old fault does not make that a
    new one. `occurrence` tells findings apart that differ in an index only.
    """
    finding = judged.finding
    _, field, subject = finding.lasting
    parts = [judged.rule.id, *finding.object, field, subject]
    if occurrence > 1:
        parts.append(str(occurrence))
    return sha256(json.dumps(parts).encode()).hexdigest()


def fingerprints(found: Iterable[Judged]) -> tuple[str, ...]:
    """The fingerprint of each finding of one report, in their order; no two are equal."""
    times: Counter[str] = Counter()
    prints: list[str] = []
    for judged in found:
        first = fingerprint(judged)
        times[first] += 1
        prints.append(fingerprint(judged, times[first]))
    return tuple(prints)
