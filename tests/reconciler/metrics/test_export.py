"""What /metrics of the reconciler exports: exactly the declared metrics."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import CodeType, FunctionType, ModuleType
from typing import cast

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from cluster.client import ClusterClient
from cluster.metrics import Family, Type
from policies.configuration.settings import Configuration, Dialect, Enforce, VolcanoSettings, YuniKornSettings
from reconciler.core.state import ClusterState
from reconciler.metrics.catalogue import families, register_other_queues
from reconciler.metrics.collector import Scraped
from reconciler.metrics.export import asking, export, export_certificate
from reconciler.metrics.observer import KueueObserver, MetricsObserver
from reconciler.metrics.occasions import CycleDecided, Dispatches, WorkerScrape, WorkloadChange
from reconciler.metrics.source import REGISTERED, MetricSource
from reconciler.objects.observed import Observed
from reconciler.process import DecisionSettings, Reconciler
from reconciler.shell.permit import NeverPermitted
from scheduling.cycle.cycle import OVERLAPPING
from scheduling.queues.consumption import UsageDecay
from scheduling.queues.pending import Requeue
from scheduling.quota.state import Options
from scheduling.world.decisions import Wait
from scheduling.world.world import World
from tests.profiles import each_case
from tests.reconciler.two_queues import running, world
from tests.waiting import eventually


@contextmanager
def reconciler(registry: CollectorRegistry, *, kueue: bool, leads: bool = True) -> Iterator[Reconciler]:
    """A reconciler with all dialects whose loop runs and watches nothing."""
    gates = Configuration(
        volcano=VolcanoSettings(enforce=Enforce.GATES), yunikorn=YuniKornSettings(enforce=Enforce.GATES)
    )
    made = Reconciler(
        cast("ClusterClient", None),
        DecisionSettings(
            Options(fair_sharing=True), usage_decay=UsageDecay(), dialects=frozenset(Dialect), configuration=gates
        ),
        None if leads else NeverPermitted(),
        lambda made: MetricsObserver(made, lambda: True, registry, kueue=kueue),
    )
    export(registry, made, lambda: True, kueue=kueue)
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            made.loop.round(0.05)

    thread = threading.Thread(target=run)
    thread.start()
    eventually(lambda: made.core.leads is leads)
    try:
        yield made
    finally:
        ended.set()
        thread.join(5)
        made._writer.close()


def types(registry: CollectorRegistry) -> dict[str, str]:
    """By the name of each metric its type."""
    found = {
        f"{metric.name}_total" if metric.type == "counter" else metric.name: metric.type
        for metric in registry.collect()
    }
    return {name: type_ for name, type_ in found.items() if not name.startswith(("process", "python"))}


def test_exactly_the_declared_metrics_are_exported() -> None:
    registry, observing = CollectorRegistry(), CollectorRegistry()
    MetricsObserver(ClusterState(world()), lambda: False, observing, kueue=False, gates=True)
    observing.register(Scraped(WorkerScrape, lambda read: read(WorkerScrape([]))))
    observing.register(Scraped(Dispatches, lambda read: read(Dispatches({}, {}, {}))))
    export_certificate(observing, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    with reconciler(registry, kueue=True):
        found = types(observing) | types(registry)

    assert found == {family.name: family.type for family in families()}


def test_every_metric_that_is_declared_is_sampled_by_its_source() -> None:
    """A metric that no function of the source's module reads would be declared and exported, but never counted."""
    register_other_queues()
    unused = [
        family.name
        for sources in REGISTERED.values()
        for each in sources
        for family in each.families
        if not is_read(family, sys.modules[each.read.__module__])
    ]

    assert unused == []


def is_read(family: Family, module: ModuleType) -> bool:
    """Whether a function of the module reads the family, or a table that has it."""
    functions = [each for each in vars(module).values() if isinstance(each, FunctionType)]
    read = {name for each in functions if each.__module__ == module.__name__ for name in names_in(each.__code__)}
    return any(family in members(value) for name, value in vars(module).items() if name in read)


def names_in(code: CodeType) -> set[str]:
    inner = (names_in(each) for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*inner)


def members(value: object) -> list[object]:
    """The value, or all that is in a table of any depth."""
    if isinstance(value, dict):
        return members([*value.values()])
    if isinstance(value, list | tuple):
        return [found for each in value for found in members(each)]
    return [value]


def test_samples_have_the_labels_that_are_declared() -> None:
    made, registry = world(Options(fair_sharing=True)), CollectorRegistry()
    made.put_workload(running(), 0)
    registry.register(Scraped(World, lambda read: read(made)))
    observer = KueueObserver(ClusterState(made), lambda: True, registry)
    observer.changing(None, Observed(("Workload", "ns/w"), "", running(admitted=False)), 0)
    observer.decided([Wait(running(), "q", Requeue.GENERIC, "Pending", OVERLAPPING)], 0)
    declared = {family.name: family for family in families()}
    samples = [sample for metric in registry.collect() for sample in metric.samples if sample.name in declared]

    assert len({sample.name for sample in samples}) > 20
    assert [sample for sample in samples if sample.labels.keys() != set(declared[sample.name].labels)] == []


@each_case("family", families())
def test_every_metric_has_a_help_text_of_sentences(family: Family) -> None:
    assert family.help.endswith(".")
    assert family.help[0].isupper() or family.help[0].isdigit()
    assert len(set(family.labels)) == len(family.labels)


def test_gauges_are_read_at_a_scrape_and_counters_count_events() -> None:
    counted = [each for occasion in (WorkloadChange, CycleDecided) for each in REGISTERED[occasion]]

    assert {family.type for each in counted for family in each.families} == {Type.COUNTER, Type.HISTOGRAM}
    assert {family.type for each in REGISTERED[World] for family in each.families} == {Type.GAUGE}


def test_only_counters_end_in_total_and_only_histograms_have_buckets() -> None:
    assert Family("a", "A.").type is Type.GAUGE
    assert Family("a_total", "A.").type is Type.COUNTER
    assert Family("a", "A.", buckets=(1.0,)).type is Type.HISTOGRAM


def test_two_metrics_of_one_name_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    first = families()[0]
    monkeypatch.setitem(REGISTERED, int, [MetricSource((first,), lambda _: (), lambda _: True)])

    with pytest.raises(ValueError, match=f"declared by two sources: {first.name}"):
        families()


def test_no_kueue_metrics_are_exported_beside_kueue() -> None:
    registry = CollectorRegistry()
    with reconciler(registry, kueue=False):
        text = generate_latest(registry).decode()
    assert "kueue_" not in text
    assert "quotree_reconciler_writes 1.0" in text


def test_comparisons_are_exported_from_the_start() -> None:
    registry = CollectorRegistry()
    MetricsObserver(ClusterState(world()), lambda: True, registry, kueue=False)

    assert registry.get_sample_value("quotree_observe_decisions_total", {"result": "unsure"}) == 0
    assert registry.get_sample_value("quotree_observe_differences_total", {"kind": "other-victim"}) == 0


def test_a_scrape_of_a_busy_loop_omits_the_world_and_logs_it(caplog: pytest.LogCaptureFixture) -> None:
    made = Reconciler(cast("ClusterClient", None))
    assert list(Scraped(World, asking(made, patience=0.01)).collect()) == []
    assert "did not answer a scrape in time" in caplog.text


def test_the_expiry_of_the_api_certificate_is_read_at_each_scrape() -> None:
    registry, ends = CollectorRegistry(), [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)]
    export_certificate(registry, lambda: ends.pop(0))

    found = [registry.get_sample_value("quotree_reconciler_certificate_expiry_timestamp_seconds") for _ in (1, 2)]

    assert found == [1767225600, 1767312000]


def test_the_duration_of_rounds_is_measured() -> None:
    registry = CollectorRegistry()
    MetricsObserver(ClusterState(world()), lambda: True, registry, kueue=False).passed(0, 0.3)
    assert registry.get_sample_value("quotree_reconciler_round_seconds_bucket", {"le": "0.5"}) == 1
    assert registry.get_sample_value("quotree_reconciler_round_seconds_bucket", {"le": "0.25"}) == 0


def test_the_observer_counts_changes_of_workloads() -> None:
    registry = CollectorRegistry()
    observer = MetricsObserver(ClusterState(world()), lambda: True, registry, kueue=True)
    observer.changing(None, Observed(("Workload", "ns/w"), "", running(admitted=False)), 0)
    labels = {"cluster_queue": "q", "reason": "NoReservation", "underlying_cause": "", "replica_role": "leader"}
    assert registry.get_sample_value("kueue_unadmitted_workloads", labels) == 1


def test_a_standby_exports_no_metrics_of_other_queues() -> None:
    leading, following = CollectorRegistry(), CollectorRegistry()
    with reconciler(leading, kueue=True):
        names = {metric.name for metric in leading.collect()}
    with reconciler(following, kueue=True, leads=False):
        standby = {metric.name for metric in following.collect()}

    assert {
        "yunikorn_queue_app",
        "quotree_gates_waiting_pods",
        "quotree_gates_queue_limit",
        "volcano_queue_allocated_milli_cpu",
    } <= names - standby
