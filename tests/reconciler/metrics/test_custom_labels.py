"""Labels of an administrator at the metrics of queues and Cohorts."""

from __future__ import annotations

from typing import Any

import pytest

from policies.configuration.kueue.reading import read
from policies.configuration.kueue.values import CustomLabel
from policies.model.errors import BadConfiguration
from reconciler.core.state import ClusterState
from reconciler.core.watched import by_kind
from reconciler.metrics.collector import Scraped
from reconciler.metrics.custom_labels import CustomLabels
from reconciler.metrics.observer import KueueObserver
from reconciler.metrics.occasions import CycleDecided
from reconciler.metrics.registry import ChosenRegistry
from reconciler.objects.observed import Observed
from scheduling.quota.state import Options
from scheduling.world.world import World
from tests.builders import kueue
from tests.reconciler.two_queues import NOW, running, world

LABELS = (
    CustomLabel("team", "ClusterQueue", "team"),
    CustomLabel("budget", "ClusterQueue", "example.com/budget", annotation=True),
    CustomLabel("tier", "LocalQueue", "tier", tracked=frozenset({"gold"})),
    CustomLabel("org", "Cohort", "org"),
)
LEADER = {"replica_role": "leader"}


class Scrape:
    """What is exported of two queues."""

    def __init__(self, *labels: CustomLabel) -> None:
        self.world = world(Options(fair_sharing=True))
        self.labels = CustomLabels(labels)
        self.registry = ChosenRegistry((), self.labels)
        self.observer = KueueObserver(ClusterState(self.world), lambda: True, self.registry, self.labels)
        self.registry.register(Scraped(World, lambda read: read(self.world)))

    def see(self, kind: str, name: str, **metadata: Any) -> None:
        namespace = {"namespace": "ns"} if kind == "LocalQueue" else {}
        manifest = kueue(kind, name, {}, **namespace, **metadata)
        self.observer.changing(None, by_kind()[kind].observed(manifest), NOW)

    def value(self, metric: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"kueue_{metric}", {**labels, **LEADER})


def test_series_have_the_labels_of_the_object_that_they_name() -> None:
    scrape = Scrape(*LABELS)
    scrape.see("ClusterQueue", "q", labels={"team": "vision"}, annotations={"example.com/budget": "ABC"})
    scrape.see("LocalQueue", "q", labels={"tier": "gold"})
    scrape.see("Cohort", "c", labels={"org": "research"})
    queue = {"clusterqueue_custom_team": "vision", "clusterqueue_custom_budget": "ABC"}
    assert scrape.value("reserving_active_workloads", cluster_queue="q", **queue) == 0
    assert scrape.value("cluster_queue_weighted_share", cluster_queue="q", cohort="c", **queue) == 0
    local = {"name": "q", "namespace": "ns", "localqueue_custom_tier": "gold"}
    assert scrape.value("local_queue_reserving_active_workloads", **local) == 0
    assert scrape.value("cohort_weighted_share", cohort="c", cohort_custom_org="research") == 0


def test_what_an_object_does_not_say_or_nobody_tracks_is_empty() -> None:
    scrape = Scrape(*LABELS)
    scrape.see("LocalQueue", "q", labels={"tier": "tin"})
    local = {"name": "q", "namespace": "ns", "localqueue_custom_tier": ""}
    assert scrape.value("local_queue_reserving_active_workloads", **local) == 0
    queue = {"clusterqueue_custom_team": "", "clusterqueue_custom_budget": ""}
    assert scrape.value("reserving_active_workloads", cluster_queue="r", **queue) == 0


def test_a_series_follows_its_object() -> None:
    scrape = Scrape(CustomLabel("team", "ClusterQueue", "team"))
    scrape.see("ClusterQueue", "q", labels={"team": "vision"})
    waiting = Observed(("Workload", "ns/a"), "1", running("a", "1", admitted=False))
    scrape.observer.changing(None, waiting, NOW)
    scrape.observer.changing(waiting, Observed(("Workload", "ns/a"), "2", running("a", "1")), NOW)
    of = {"cluster_queue": "q", "priority_class": ""}
    assert scrape.value("admitted_workloads_total", **of, clusterqueue_custom_team="vision") == 1
    scrape.see("ClusterQueue", "q", labels={"team": "speech"})
    assert scrape.value("admitted_workloads_total", **of, clusterqueue_custom_team="vision") is None
    assert scrape.value("admitted_workloads_total", **of, clusterqueue_custom_team="speech") == 1


def test_metrics_of_no_object_have_none() -> None:
    scrape = Scrape(*LABELS)
    scrape.observer._instruments.count(CycleDecided((), 0.1))
    assert scrape.value("admission_attempts_total", result="inadmissible") == 1


CONFIGURED = [
    {"name": "team"},
    {"name": "budget", "sourceAnnotationKey": "example.com/budget"},
    {"name": "tier", "sourceKind": "LocalQueue", "trackedValues": ["gold"]},
    {"name": "org", "sourceKind": "Cohort", "sourceLabelKey": "org"},
]


def test_they_are_read_where_their_gate_is_on() -> None:
    metrics = {"customLabels": CONFIGURED}
    assert read({"metrics": metrics}).custom_labels == ()
    assert read({"metrics": metrics, "featureGates": {"CustomMetricLabels": True}}).custom_labels == LABELS


def test_those_of_workloads_are_refused() -> None:
    entry = {"name": "kind", "sourceKind": "Workload", "trackedValues": ["training"]}
    with pytest.raises(BadConfiguration, match="labels of Workloads"):
        read({"metrics": {"customLabels": [entry]}, "featureGates": {"CustomMetricLabels": True}})
