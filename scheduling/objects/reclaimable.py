"""The number of pods of a batch Job that have ended and are not replaced.

Source: Kueue v0.19, pkg/controller/jobs/job; Kubernetes, status.completedIndexes and status.failedIndexes of a Job.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from policies.dialects.job_shape import at
from policies.dialects.reading import Manifest, text


class _Span(NamedTuple):
    """The indexes from `first` to `last`, inclusive."""

    first: int
    last: int


def reclaimable_of_job(manifest: Manifest) -> dict[str, int]:
    """The reclaimable pods by pod set: parallelism minus the remaining completions. Empty if there are none."""
    parallelism = _number(manifest, "spec.parallelism", 1)
    completions = _number(manifest, "spec.completions", parallelism)
    done = _done(manifest, completions)
    free = parallelism - max(completions - done, 0)
    return {"main": free} if parallelism > 1 and done and free > 0 else {}


def _done(manifest: Manifest, completions: int) -> int:
    """The number of done completions. A failed index of an Indexed Job counts; a failed pod does not."""
    if at(manifest, "spec.completionMode") != "Indexed":
        return _number(manifest, "status.succeeded", 0)
    spans = sorted(
        span
        for path in ("status.completedIndexes", "status.failedIndexes")
        for span in _spans(text(at(manifest, path)) or "", completions)
    )
    count, beyond = 0, 0
    for first, last in spans:
        count += max(0, last + 1 - max(first, beyond))
        beyond = max(beyond, last + 1)
    return count


def _spans(indexes: str, completions: int) -> Iterator[_Span]:
    """The spans of a list such as `1,3-5,7`. Unreadable items and indexes that are too high are left out."""
    for item in indexes.split(","):
        first, dash, last = item.partition("-")
        if not _is_number(first) or (dash and not _is_number(last)):
            continue
        span = _Span(int(first), min(int(last) if dash else int(first), completions - 1))
        if span.first <= span.last:
            yield span


def _is_number(value: str) -> bool:
    return value.isascii() and value.isdecimal() and len(value) < 11


def _number(manifest: Manifest, path: str, otherwise: int) -> int:
    found = at(manifest, path)
    return found if isinstance(found, int) else otherwise
