"""What a scrape reads of the gates of YuniKorn's quota and of Volcano's, and of Volcano's queues."""

from __future__ import annotations

from math import inf

import pytest
from prometheus_client import CollectorRegistry

from policies.configuration.settings import Dialect
from reconciler.controllers.volcano.queues import VolcanoQueuesController
from reconciler.metrics.catalogue import register_other_queues
from reconciler.metrics.collector import Scraped
from reconciler.metrics.occasions import QuotaGates
from reconciler.metrics.passing import PassingObserver
from scheduling.volcano_queues.tree import VolcanoQueueTree
from scheduling.yunikorn.gates.gatekeeper import YuniKornGatekeeper
from tests.builders import manifest, pod_group
from tests.builders import pod as plain_pod
from tests.builders import queue as volcano_queue
from tests.reconciler.controllers.volcano.queue_cluster import QueueCluster
from tests.reconciler.controllers.yunikorn.gate_cluster import GateCluster
from tests.reconciler.controllers.yunikorn.gated_objects import DEV, TEAMS, member, pod
from tests.reconciler.metrics.scraping import Series, scraped
from tests.scheduling.yunikorn.manifests import namespace


def gates(cluster: GateCluster, name: str) -> Series:
    register_other_queues()
    registry = CollectorRegistry()
    keeper = cluster.controller.keeper
    registry.register(Scraped(YuniKornGatekeeper, lambda read: read(keeper)))
    registry.register(Scraped(QuotaGates, lambda read: read(QuotaGates({Dialect.YUNIKORN: keeper.counts}))))
    return scraped(registry, name)


def full() -> GateCluster:
    """Three Pods of two applications pass in `dev`, which has room for 3 of `team`; one of each waits."""
    spaces = (namespace("dev", parentqueue="root.team", namespace_quota='{"cpu":"2","memory":"1G"}'),)
    cluster = GateCluster(TEAMS, *spaces)
    for name, app in (("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b")):
        cluster.add(pod(name, app))
    cluster.settle()
    return cluster


def test_waiting_pods_are_counted_by_reason() -> None:
    cluster = full()
    assert gates(cluster, "quotree_gates_waiting_pods") == {("yunikorn", "dev", "NotEnoughQueueQuota"): 2}

    cluster.end("a1")
    cluster.settle()
    assert gates(cluster, "quotree_gates_waiting_pods") == {("yunikorn", "dev", "NotEnoughQueueQuota"): 1}

    for name in ("a2", "a3", "b1"):
        cluster.delete(name)
    cluster.settle()
    assert gates(cluster, "quotree_gates_waiting_pods") == {}


def test_a_reason_written_by_a_user_creates_no_series() -> None:
    cluster = full()
    for number, text in enumerate(("", "x: y", "NotEnoughQueueQuotas: ", "\x00", "Mine in root: 1")):
        cluster.edit(("Pod", "dev/a3"), {"metadata": {"annotations": {"quotree.dev/quota-waits": text}}})
        cluster._handle(cluster._news.pop())
        found = gates(cluster, "quotree_gates_waiting_pods")
        assert {key[1:]: count for key, count in found.items()} == {
            ("dev", "NotEnoughQueueQuota"): 1,
            ("dev", "Undecided"): 1,
        }, number


def test_namespace_usage_counts_the_pods_that_have_passed() -> None:
    cluster = full()
    assert gates(cluster, "quotree_gates_namespace_quota") == {("dev", "cpu"): 2, ("dev", "memory"): 10**9}
    assert gates(cluster, "quotree_gates_namespace_usage") == {("dev", "cpu"): 2, ("dev", "memory"): 0}

    cluster.end("a1")
    cluster.delete("b1")
    cluster.delete("a3")
    cluster.settle()
    assert gates(cluster, "quotree_gates_namespace_usage")["dev", "cpu"] == 1


def test_namespace_usage_equals_the_condition_of_the_namespace() -> None:
    cluster = full()
    keeper = cluster.controller.keeper
    for step in (lambda: cluster.end("a1"), lambda: cluster.delete("a2"), lambda: cluster.add(pod("c1", "c"))):
        step()
        cluster.settle(30)
        used = {name: used for name, (used, _) in (keeper.usage("dev") or {}).items()}
        assert used == {name: keeper.counts.used("dev", name) for name in used}


def test_counts_are_the_same_after_a_restart() -> None:
    cluster = full()
    before = [gates(cluster, f"quotree_gates_{each}") for each in ("waiting_pods", "namespace_usage")]
    cluster.start()
    cluster.settle()
    assert before == [gates(cluster, f"quotree_gates_{each}") for each in ("waiting_pods", "namespace_usage")]


def test_queues_have_yunikorns_names_and_units() -> None:
    cluster = full()

    found = gates(cluster, "yunikorn_queue_resource")

    assert {key[1:]: value for key, value in found.items() if key[0] == "root.team"} == {
        ("pods", "allocated"): 2,
        ("pods", "pending"): 2,
        ("vcore", "allocated"): 2000,
        ("vcore", "pending"): 2000,
        ("vcore", "max"): 3000,
    }
    assert gates(cluster, "yunikorn_queue_app") == {("root.team.dev", "accepted"): 1, ("root.team.dev", "running"): 1}


def test_resources_that_only_pods_name_have_no_series() -> None:
    cluster = GateCluster(DEV)
    for number in range(20):
        made = pod(f"p{number}", f"a{number}")
        made["spec"]["containers"][0]["resources"]["requests"][f"example.com/r{number}"] = "1"
        cluster.add(made)
    cluster.settle()

    found = gates(cluster, "yunikorn_queue_resource")

    assert {resource for _, resource, _ in found} == {"vcore", "pods"}
    assert {resource for _, resource in gates(cluster, "quotree_gates_namespace_usage")} == {"cpu"}


def test_a_scrape_reads_no_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = full()
    cluster.add(member("m1"))
    cluster.settle()
    keeper = cluster.controller.keeper
    names = (
        "quotree_gates_waiting_pods",
        "quotree_gates_namespace_usage",
        "yunikorn_queue_app",
        "yunikorn_queue_resource",
    )
    expected = [gates(cluster, name) for name in names]
    monkeypatch.setattr(keeper, "_pods", None)
    monkeypatch.setattr(keeper, "_entered", None)
    monkeypatch.setattr(keeper, "_in_namespace", None)
    monkeypatch.setattr(keeper.scheduler, "owners", None)

    assert [gates(cluster, name) for name in names] == expected


class Watched(GateCluster):
    """With what counts Pods that pass."""

    def __init__(self) -> None:
        self.registry, self.leads = CollectorRegistry(), True
        super().__init__(DEV)

    def start(self) -> None:
        super().start()
        self.core.informer._observer = PassingObserver(lambda: self.leads, self.registry)

    @property
    def count(self) -> Series:
        return scraped(self.registry, "quotree_gates_passed_pods_total")


def test_passed_pods_are_counted_once_by_the_leader() -> None:
    cluster = Watched()
    for name in ("a1", "a2", "a3"):
        cluster.add(pod(name))
    cluster.settle()
    assert cluster.count == {("yunikorn", "dev"): 2}

    cluster.edit(("Pod", "dev/a1"), {"metadata": {"labels": {"x": "y"}}})
    cluster.edit(("Pod", "dev/a3"), {"spec": {"schedulingGates": []}})  # not by the reconciler
    cluster.settle()
    assert cluster.count == {("yunikorn", "dev"): 2}

    cluster.leads = False
    cluster.add(pod("a4"))
    cluster.end("a1")
    cluster.settle()
    assert cluster.passed() == ["a1", "a2", "a4"]
    assert cluster.count == {("yunikorn", "dev"): 2}

    cluster.drop(("Namespace", "dev"))
    cluster.settle()
    assert cluster.count == {}


def volcano(*names: str, capability: str = "") -> tuple[QueueCluster, CollectorRegistry]:
    """Queue `a` above `b`, with a PodGroup and a Pod of 500m cpu, 1Gi and `names` on a node in `b`."""
    cluster = QueueCluster()
    for name, parent in {"root": None, "a": "root", "b": "a"}.items():
        limited = {"capability": capability} if capability and name == "a" else {}
        cluster.add(volcano_queue(name, parent, **limited))
    cluster.add(pod_group("g", "b", phase="Running"))
    requests = {"cpu": "500m", "memory": "1Gi", **dict.fromkeys(names, "2")}
    spec = {"nodeName": "n", "containers": [{"name": "c", "resources": {"requests": requests}}]}
    bound = plain_pod("p", spec=spec, annotations={"scheduling.k8s.io/group-name": "g"})
    cluster.add(bound, "BoundPod")
    cluster.settle()
    registry = CollectorRegistry()
    (controller,) = cluster.core.controllers
    assert isinstance(controller, VolcanoQueuesController)
    registry.register(Scraped(VolcanoQueueTree, lambda read: read(controller.tree)))
    return cluster, registry


def test_queue_metrics_have_volcanos_names_and_units() -> None:
    _, registry = volcano("example.com/gpu", capability="example.com/gpu:4,cpu:1500m")

    assert scraped(registry, "volcano_queue_allocated_milli_cpu") == {("root",): 500, ("a",): 500, ("b",): 500}
    assert scraped(registry, "volcano_queue_allocated_memory_bytes")["a",] == 2**30
    assert scraped(registry, "volcano_queue_allocated_scalar_resources")["a", "example.com/gpu"] == 2000
    assert scraped(registry, "volcano_queue_allocated_scalar_resources")["a", "pods"] == 1
    assert scraped(registry, "volcano_queue_pod_group_running_count") == {("root",): 0, ("a",): 0, ("b",): 1}
    assert scraped(registry, "quotree_volcano_queue_quota") == {
        ("capability", "a", "cpu"): 1.5,
        ("capability", "a", "example.com/gpu"): 4,
    }


def test_resources_that_no_queue_names_have_no_series() -> None:
    _, registry = volcano("example.com/a", "example.com/b")

    found = scraped(registry, "volcano_queue_allocated_scalar_resources")

    assert {resource for _, resource in found} == {"pods"}


def test_a_quota_beyond_float_range_does_not_break_a_scrape() -> None:
    _, registry = volcano(capability="cpu:1e400")

    assert scraped(registry, "quotree_volcano_queue_quota") == {("capability", "a", "cpu"): inf}


def test_an_unknown_phase_creates_no_series() -> None:
    cluster, registry = volcano()
    cluster.add(manifest("scheduling.volcano.sh/v1beta1", "PodGroup", "h", {"queue": "b"}, namespace="ns"))
    cluster.objects["PodGroup", "ns/h"]["status"] = {"phase": "Mine"}
    cluster.settle()

    names = {each.name for metric in registry.collect() for each in metric.samples if "pod_group" in each.name}
    assert len(names) == 5
