"""What /metrics of the reconciler shows, and that the documents tell of it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from cluster.client import Cluster
from reconciler import families
from reconciler.exported import Counting, asking, export
from reconciler.feed import Seen
from reconciler.loop import Loop
from reconciler.metrics import WorldCollector
from reconciler.process import Reconciler, Settings
from reconciler.tally import Tally
from scheduling.cycle.cycle import OVERLAPPING
from scheduling.queues.pending import Requeue
from scheduling.quota.state import Options
from scheduling.world.decisions import Wait
from tests.reconciler.test_queue_status import running, world

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"
ROW = re.compile(r"^\| `([a-z_]+)` \| (\w+) \| ([^|]*) \|", re.MULTILINE)


@contextmanager
def reconciler(registry: CollectorRegistry, *, kueue: bool) -> Iterator[Reconciler]:
    """One whose loop runs and that follows nothing."""
    made = Reconciler(
        cast("Cluster", None),
        Settings(Options(fair_sharing=True)),
        witness=lambda made: Counting(made, lambda: True, registry, kueue=kueue),
    )
    export(registry, made, lambda: True, kueue=kueue)
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            made.loop.round(0.05)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield made
    finally:
        ended.set()
        thread.join(5)
        made._writer.close()


def loop() -> Loop:
    """One that writes nothing."""
    return Loop(world(), lambda key, action: None, lambda key, path: None, lambda: False)


def shown(registry: CollectorRegistry) -> dict[str, tuple[str, set[str]]]:
    """By name of each metric as a scrape has it: its type and its labels."""
    found: dict[str, tuple[str, set[str]]] = {}
    for metric in registry.collect():
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        labels = {label for sample in metric.samples for label in sample.labels} - {"le"}
        found[name] = (metric.type, labels | found.get(name, ("", set()))[1])
    return found


def declared() -> dict[str, tuple[str, set[str]]]:
    """The families that have no sample before something happens."""
    every = [each for each in vars(families).values() if isinstance(each, families.Family)]
    twins = [each.local() for each in every if each.twin]
    return {
        f"kueue_{each.name}" + ("" if each.buckets else "_total"): (
            "histogram" if each.buckets else "counter",
            {*each.labels, families.ROLE},
        )
        for each in (*every, *twins)
    }


def documented() -> dict[str, tuple[str, set[str]]]:
    rows = ROW.findall(DOCUMENT.read_text())
    return {name: (type_, set(labels.replace("`", "").split(", ")) - {""}) for name, type_, labels in rows}


def test_the_document_tells_of_each_metric_and_of_no_other() -> None:
    registry, observing = CollectorRegistry(), CollectorRegistry()
    Counting(loop(), lambda: False, observing, kueue=False)
    beside = {name: type_ for name, (type_, _) in shown(observing).items()}
    with reconciler(registry, kueue=True):
        found = beside | {
            name: type_ for name, (type_, _) in shown(registry).items() if not name.startswith(("process", "python"))
        }
    assert found == {name: type_ for name, (type_, _) in documented().items()}


def test_the_document_has_the_labels_of_what_is_counted() -> None:
    told = documented()
    for name, expected in declared().items():
        assert told[name] == expected, name


def test_the_document_has_the_labels_of_what_the_world_shows() -> None:
    made, registry = world(Options(fair_sharing=True)), CollectorRegistry()
    made.put_workload(running(), 0)
    registry.register(WorldCollector(lambda reads: reads(made)))
    tally = Tally(made, lambda: True, registry)
    tally.changing(None, Seen(("Workload", "ns/w"), "", running(admitted=False)), 0)
    tally.decided([Wait(running(), "q", Requeue.GENERIC, "Pending", OVERLAPPING)], 0)
    named = {name: labels for name, (_, labels) in shown(registry).items() if labels}
    assert len(named) > 20
    assert {name: documented()[name][1] for name in named} == named


def test_beside_kueue_nothing_is_shown_under_its_name() -> None:
    registry = CollectorRegistry()
    with reconciler(registry, kueue=False):
        text = generate_latest(registry).decode()
    assert "kueue_" not in text
    assert "quotree_reconciler_writes 1.0" in text


def test_a_loop_without_time_costs_a_scrape_the_world_alone(caplog: pytest.LogCaptureFixture) -> None:
    made = Reconciler(cast("Cluster", None))
    assert asking(made, patience=0.01)(lambda _: [next(iter(CollectorRegistry().collect()))]) == []
    assert "no time for a scrape" in caplog.text


def test_rounds_are_timed() -> None:
    registry = CollectorRegistry()
    Counting(loop(), lambda: True, registry, kueue=False).passed(0, 0.3)
    assert registry.get_sample_value("quotree_reconciler_round_seconds_bucket", {"le": "0.5"}) == 1
    assert registry.get_sample_value("quotree_reconciler_round_seconds_bucket", {"le": "0.25"}) == 0


def test_counting_passes_on_what_happens() -> None:
    registry = CollectorRegistry()
    counting = Counting(loop(), lambda: True, registry, kueue=True)
    counting.changing(None, Seen(("Workload", "ns/w"), "", running(admitted=False)), 0)
    labels = {"cluster_queue": "q", "reason": "NoReservation", "underlying_cause": "", "replica_role": "leader"}
    assert registry.get_sample_value("kueue_unadmitted_workloads", labels) == 1
