"""What a scrape reads of the gates of Volcano's queues."""

from __future__ import annotations

import sys

import pytest
from prometheus_client import CollectorRegistry

from policies.configuration.settings import Dialect
from reconciler.metrics.collector import Scraped
from reconciler.metrics.families.other_queues.volcano_gates import queues
from reconciler.metrics.occasions import QuotaGates
from reconciler.metrics.passing import PassingObserver
from scheduling.volcano.gates.gatekeeper import VolcanoGatekeeper
from tests.reconciler.controllers.gates.both import BothGates
from tests.reconciler.controllers.volcano.gate_cluster import GateCluster, pod
from tests.reconciler.controllers.yunikorn.gated_objects import DEV
from tests.reconciler.controllers.yunikorn.gated_objects import pod as yunikorn_pod
from tests.reconciler.metrics.scraping import Series, scraped
from tests.scheduling.volcano.manifests import pod_group, queue


class Gates(GateCluster):
    """`org` has room for 3 cpu, `ml` below it for 2. With what counts Pods that pass, and what a scrape reads."""

    def __init__(self, **limits: dict[str, str]) -> None:
        self.leads = True
        org = queue("org", "root", capability={"cpu": "3", **limits.get("org", {})})
        ml = queue("ml", "org", capability={"cpu": "2", **limits.get("ml", {})})
        super().__init__(org, ml, queue("web", "org"), pod_group("g", "ml", space="dev"))

    def start(self) -> None:
        super().start()
        self.registry = CollectorRegistry()
        self.core.informer._observer = PassingObserver(lambda: self.leads, self.registry)

    def series(self, name: str) -> Series:
        registry, keeper = CollectorRegistry(), self.controller.keeper
        registry.register(Scraped(VolcanoGatekeeper, lambda read: read(keeper)))
        registry.register(Scraped(QuotaGates, lambda read: read(QuotaGates({Dialect.VOLCANO: keeper.counts}))))
        return scraped(registry, f"quotree_gates_{name}")

    @property
    def count(self) -> Series:
        return scraped(self.registry, "quotree_gates_passed_pods_total")


def gates_with(*pods: str, **limits: dict[str, str]) -> Gates:
    cluster = Gates(**limits)
    for name in pods:
        cluster.add(pod(name))
    cluster.settle()
    return cluster


def test_volcanos_gates_count_waiting_and_passed_pods() -> None:
    cluster = gates_with("a", "b", "c", "d")
    cluster.add(pod("lost", "nowhere", space="other"))
    cluster.settle()
    assert cluster.count == {("volcano", "dev"): 2}
    assert cluster.series("waiting_pods") == {
        ("volcano", "dev", "NotEnoughQueueQuota"): 2,
        ("volcano", "other", "NoPodGroup"): 1,
    }

    cluster.end("a")
    cluster.delete("d")
    cluster.delete("other/lost")
    cluster.settle()
    assert cluster.series("waiting_pods") == {}
    assert cluster.count == {("volcano", "dev"): 3}

    cluster.leads = False
    cluster.end("b")
    cluster.add(pod("e"))
    cluster.settle()
    assert cluster.passed() == ["a", "b", "c", "e"]
    assert cluster.count == {("volcano", "dev"): 3}


def test_counts_are_the_same_after_a_restart() -> None:
    cluster = gates_with("a", "b", "c")
    names = ("waiting_pods", "queue_usage", "queue_limit")
    before = [cluster.series(name) for name in names]
    cluster.start()
    cluster.settle()
    assert [cluster.series(name) for name in names] == before


def test_a_reason_written_by_a_user_creates_no_series() -> None:
    cluster = gates_with("a", "b", "c")
    for text in ("", "x: y", "HasRoom in ml: me", "NotEnoughQueueQuotas: ", "\x00", "Mine in root: 1"):
        cluster.edit(("Pod", "dev/c"), {"metadata": {"annotations": {"quotree.dev/quota-waits": text}}})
        cluster._handle(cluster._news.pop())
        assert cluster.series("waiting_pods") == {("volcano", "dev", "Undecided"): 1}, text


def test_a_pod_ungated_by_a_user_is_not_counted_as_passed() -> None:
    cluster = gates_with("a", "b", "c")
    cluster.edit(("Pod", "dev/c"), {"spec": {"schedulingGates": []}})
    cluster.settle()
    assert cluster.count == {("volcano", "dev"): 2}


def test_with_both_dialects_a_pod_counts_once() -> None:
    cluster, registry = BothGates(queue("a", "root"), pod_group("g", "a", space="dev")), CollectorRegistry()
    cluster.core.informer._observer = PassingObserver(lambda: True, registry)
    cluster.add(pod("v"))
    cluster.settle()
    cluster.add(DEV)
    cluster.add(yunikorn_pod("y"))
    cluster.settle()

    assert cluster.passed() == ["v", "y"]
    assert scraped(registry, "quotree_gates_passed_pods_total") == {("volcano", "dev"): 1, ("yunikorn", "dev"): 1}


def test_queues_have_their_usage_and_inherited_limit() -> None:
    cluster = gates_with("a", "b", "c", org={"example.com/gpu": "4", "memory": "1Gi"})

    usage, limits = cluster.series("queue_usage"), cluster.series("queue_limit")

    assert [usage[name, "cpu"] for name in ("root", "org", "ml", "web")] == [2, 2, 2, 0]
    assert {key: limit for key, limit in limits.items() if key[1] == "cpu"} == {
        ("org", "cpu"): 3,
        ("ml", "cpu"): 2,
        ("web", "cpu"): 3,
    }
    assert {limits[name, "memory"] for name in ("org", "ml", "web")} == {2**30}
    assert {limits[name, "example.com/gpu"] for name in ("org", "ml", "web")} == {4}
    assert {usage[name, "example.com/gpu"] for name in ("org", "ml", "web")} == {0}

    cluster.end("a")
    cluster.take_in()
    assert cluster.series("queue_usage")["ml", "cpu"] == 1


def test_a_resource_without_quota_has_the_limit_0() -> None:
    cluster = gates_with(ml={"example.com/gpu": "0"})
    assert cluster.series("queue_limit")["ml", "example.com/gpu"] == 0
    cluster.add(queue("root", capability={"cpu": "9"}))
    cluster.settle()
    assert cluster.series("queue_limit")["org", "example.com/gpu"] == 0
    assert cluster.series("queue_limit")["root", "cpu"] == 9


def test_resources_that_no_queue_names_have_no_series() -> None:
    cluster = Gates()
    for number in range(20):
        made = pod(f"p{number}", cpu="1m")
        made["spec"]["containers"][0]["resources"]["requests"][f"example.com/r{number}"] = "1"
        cluster.add(made)
    cluster.settle()

    assert len(cluster.passed()) == 20
    assert {resource for _, resource in cluster.series("queue_usage")} == {"cpu", "memory"}


def test_a_limit_beyond_float_range_does_not_break_a_scrape() -> None:
    cluster = gates_with("a", org={"example.com/gpu": "1e400"})
    assert cluster.series("queue_usage")["ml", "cpu"] == 1


def test_a_tree_of_any_depth_can_be_scraped() -> None:
    deep = 2 * sys.getrecursionlimit()
    cluster = GateCluster(*(queue(f"q{n}", f"q{n - 1}" if n else "root") for n in reversed(range(deep))))
    keeper = cluster.controller.keeper
    found = [each for each in queues(keeper) if each.labels == (f"q{deep - 1}", "cpu")]
    assert [each.value for each in found] == [0]


def test_a_scrape_reads_no_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = gates_with("a", "b", "c")
    keeper, names = cluster.controller.keeper, ("waiting_pods", "queue_usage", "queue_limit")
    expected = [cluster.series(name) for name in names]
    for attribute in ("_pods", "_counted", "_waiting", "_gangs", "_lines", "places"):
        monkeypatch.setattr(keeper, attribute, None)

    assert [cluster.series(name) for name in names] == expected
