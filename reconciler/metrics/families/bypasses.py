"""Changes that bypassed the webhook, and how long it took to undo them."""

from __future__ import annotations

import time
from collections.abc import Iterator

from cluster.metrics import Family, Sample
from reconciler.metrics.occasions import ProcessScrape
from reconciler.metrics.source import source
from scheduling.objects.times import SECOND

_LABELS = ("kind", "way")
UNDONE = Family(
    "quotree_reconciler_bypasses_undone_total", "Changes that bypassed the webhook and were undone.", _LABELS
)
UNDONE_SECONDS = Family(
    "quotree_reconciler_bypasses_undone_seconds_total", "Total time until these changes were undone.", _LABELS
)
STANDING = Family("quotree_reconciler_bypasses", "Changes that bypassed the webhook and are not undone yet.")
AGE = Family("quotree_reconciler_bypass_age_seconds", "Age of the oldest change that is not undone yet; 0 for none.")


@source(ProcessScrape, UNDONE, UNDONE_SECONDS, STANDING, AGE)
def bypasses(process: ProcessScrape) -> Iterator[Sample]:
    found = process.reconciler.core.state.bypasses
    for labels, undone in [*found.undone.items()]:
        yield UNDONE.sample(undone.count, *labels)
        yield UNDONE_SECONDS.sample(undone.nanoseconds / SECOND, *labels)
    oldest = found.oldest()
    yield STANDING.sample(len(found))
    yield AGE.sample(max(0, time.time_ns() - oldest) / SECOND if oldest is not None else 0)
