"""The worker clusters of MultiKueue: their connections and their workloads."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Family, Sample
from reconciler.metrics.occasions import WorkerScrape
from reconciler.metrics.source import source
from scheduling.objects import times
from scheduling.objects.times import SECOND

_STATES = ("connected", "connecting", "lost", "misconfigured")


def _gauge(name: str, help: str, *labels: str) -> Family:
    return Family(f"quotree_multikueue_{name}", help, ("cluster", *labels))


CONNECTION = _gauge(
    "connection", "1 for the state of the worker: connected, connecting, lost or misconfigured.", "state"
)
PLACED = _gauge("placed_workloads", "Workloads that run on the worker.")
LAST_SEEN = _gauge("last_seen_timestamp_seconds", "Time of the worker's last answer.")
CREDENTIALS_END = _gauge("credentials_end_timestamp_seconds", "Time at which the worker's credentials expire.")
LOSSES = Family("quotree_multikueue_connection_losses_total", "Lost connections to the worker.", ("cluster",))


@source(WorkerScrape, CONNECTION, PLACED, LAST_SEEN, CREDENTIALS_END, LOSSES)
def workers(found: WorkerScrape) -> Iterator[Sample]:
    for item in found.items:
        name = item["name"]
        for state in _STATES:
            yield CONNECTION.sample(item["connection"] == state, name, state)
        yield PLACED.sample(item["placed"], name)
        yield LOSSES.sample(item["losses"], name)
        for family, key in ((LAST_SEEN, "lastSeen"), (CREDENTIALS_END, "credentialsEnd")):
            if item[key] is not None:
                yield family.sample(times.parse(item[key]) / SECOND, name)
