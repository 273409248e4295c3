"""The watched views of jobs. They select jobs with a queue label, and keep manifests packed to save memory."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from cluster.decoding import deeper
from cluster.resource import Manifest
from policies.dialects.reading import mapping, metadata, text
from reconciler.jobs.described import JobKind
from reconciler.objects.packed import Packed
from reconciler.objects.watched import QUEUE_NAME, WatchedKind

log = logging.getLogger(__name__)

_DEEPEST = 100


def packed(job: Manifest) -> Packed | None:
    """The packed job; None if it is nested too deeply to be copied and compared. Such a job is ignored."""
    if deeper(job, _DEEPEST):
        meta = metadata(job)
        what = (text(job.get("kind")), text(meta.get("namespace")), text(meta.get("name")))
        log.warning("%s %s/%s is nested deeper than %d levels, and is left out", *what, _DEEPEST)
        return None
    return Packed.of(job)


def watched_jobs(kinds: Iterable[JobKind], *, every: bool = False) -> tuple[WatchedKind[Packed], ...]:
    """The watched views of these kinds. `every`: whether jobs without a queue label are watched, too.

    A new leader lists jobs again. Otherwise it might mistake a job that the previous leader has started for a stopped
    one.
    """
    label, selects = (None, _any) if every else (QUEUE_NAME, _names_a_queue)
    return tuple(
        WatchedKind(kind.name, kind.resource, packed, label_selector=label, relist=True, selects=selects)
        for kind in kinds
    )


def _any(_: Packed) -> bool:
    return True


def _names_a_queue(job: Packed) -> bool:
    """Whether the job has a queue label. Other jobs are not stored, because no watch would report their deletion."""
    return QUEUE_NAME in mapping(metadata(job.manifest()).get("labels"))
