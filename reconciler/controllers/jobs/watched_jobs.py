"""How jobs are watched: by their queue, each kept packed, since only a step needs the whole of it."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from cluster.decoding import deeper
from cluster.stream import Manifest
from policies.dialects.reading import mapping, metadata, text
from reconciler.jobs.kind import JobKind
from reconciler.objects.packed import Packed
from reconciler.objects.watched import QUEUE_NAME, WatchedKind

log = logging.getLogger(__name__)

_DEEPEST = 100


def packed(job: Manifest) -> Packed | None:
    """None for a job that is nested deeper than any that can be copied and compared: it is left out."""
    if deeper(job, _DEEPEST):
        meta = metadata(job)
        what = (text(job.get("kind")), text(meta.get("namespace")), text(meta.get("name")))
        log.warning("%s %s/%s is nested deeper than %d levels, and is left out", *what, _DEEPEST)
        return None
    return Packed.of(job)


def watched_jobs(kinds: Iterable[JobKind], *, every: bool = False) -> tuple[WatchedKind[Packed], ...]:
    """A new leader lists them again: what the leader before it started must not be taken for stopped.

    `every`: also jobs that name no queue.
    """
    label, selects = (None, _any) if every else (QUEUE_NAME, _names_a_queue)
    return tuple(
        WatchedKind(kind.name, kind.resource, packed, label_selector=label, relist=True, selects=selects)
        for kind in kinds
    )


def _any(_: Packed) -> bool:
    return True


def _names_a_queue(job: Packed) -> bool:
    """A job that is read without label is not shown: no watch would say when it goes."""
    return QUEUE_NAME in mapping(metadata(job.manifest()).get("labels"))
