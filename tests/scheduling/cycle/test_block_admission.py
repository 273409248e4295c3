"""Under waitForPodsReady.blockAdmission no other workload gets quota while pods are not ready."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.dialects.kueue_flavor import Flavor
from policies.model.pools import Terms
from scheduling.cycle.engine import AdmissionEngine
from scheduling.objects.queue_settings import BEST_EFFORT_FIFO, STRICT_FIFO
from scheduling.objects.workload import QUOTA_RESERVED
from scheduling.status.deadlines import pods_ready, release
from scheduling.status.eviction import evict
from scheduling.world.decisions import Reserve
from tests.scheduling.cluster import Cluster, queue_settings
from tests.scheduling.cycle.topology_cluster import FLAVOR, TopologyCluster, asks, gpu_node, hosts
from tests.scheduling.manifests import pod_set, workload

GPUS = {"spot": Terms(10, None, None)}


class Held(Cluster):
    """A cluster whose engine admits one at a time."""

    def __post_init__(self) -> None:
        self.world = self.fresh()
        self.engine = AdmissionEngine(self.world, block_admission=True)

    def submit(self, name: str, queue: str) -> None:
        self.put(self.aged(workload(pod_set(gpu="1"), name=name, spec={"queueName": queue})))

    def ready(self, key: str, ready: bool = True) -> None:
        self.tick()
        self.write(pods_ready(self.workloads[key], ready, self.now))
        self.settle()

    def why(self, key: str) -> str:
        return self.workloads[key].conditions[QUOTA_RESERVED].reason


@pytest.fixture(params=[BEST_EFFORT_FIFO, STRICT_FIFO])
def cluster(request: pytest.FixtureRequest) -> Held:
    held = Held()
    for name in ("a", "b"):
        held.put_queue(queue_settings(name, "all", GPUS, strategy=request.param))
    return held


def test_one_workload_at_a_time_is_admitted_across_several_queues(cluster: Held) -> None:
    cluster.submit("first", "a")
    cluster.submit("second", "b")
    cluster.settle()

    assert len(cluster.running()) == 1
    (waiting,) = cluster.pending()
    waits = cluster.workloads[waiting].conditions[QUOTA_RESERVED]
    assert waits[1:3] == ("Waiting", "waiting for all admitted workloads to be in PodsReady condition")
    assert cluster.workloads[waiting].resource_requests == {}, "it was not refused quota"


def test_the_next_workload_is_admitted_in_queue_order_when_all_pods_are_ready(cluster: Held) -> None:
    for name in ("one", "two", "three"):
        cluster.submit(name, "a")
    cluster.settle()
    assert cluster.running() == ["ns/one"]

    cluster.ready("ns/one")
    assert cluster.running() == ["ns/one", "ns/two"]

    cluster.ready("ns/one", ready=False)
    cluster.ready("ns/two")
    assert cluster.running() == ["ns/one", "ns/two"], "the pods of the first were lost meanwhile"

    cluster.ready("ns/one")
    assert cluster.running() == ["ns/one", "ns/three", "ns/two"]


def test_blocked_workloads_are_admitted_when_the_unready_one_finishes_or_is_deleted(cluster: Held) -> None:
    for name in ("one", "two", "three"):
        cluster.submit(name, "a")
    cluster.settle()

    cluster.finish("ns/one")
    cluster.settle()
    assert cluster.running() == ["ns/two"]

    cluster.drop("ns/two")
    cluster.settle()
    assert cluster.running() == ["ns/three"]


def test_blocked_workloads_are_admitted_when_an_evicted_one_releases_its_quota(cluster: Held) -> None:
    cluster.submit("one", "a")
    cluster.submit("two", "b")
    cluster.settle()
    (running,), (waiting,) = cluster.running(), cluster.pending()

    cluster.write(evict(cluster.workloads[running], "PodsReadyTimeout", "too long", cluster.now))
    assert cluster.step() == []
    cluster.write(release(cluster.workloads[running], cluster.now))
    cluster.settle()

    assert waiting in cluster.running()


def test_a_blocked_workload_stays_blocked_after_a_restart(cluster: Held) -> None:
    cluster.submit("one", "a")
    cluster.settle()
    cluster.submit("two", "a")
    cluster.world = cluster.fresh()
    cluster.engine = AdmissionEngine(cluster.world, block_admission=True)
    cluster.settle()

    assert (cluster.running(), cluster.why("ns/two")) == (["ns/one"], "Waiting")


def test_a_blocked_workload_is_not_reserved_twice(cluster: Held) -> None:
    cluster.submit("one", "a")
    cluster.submit("two", "a")
    cluster.settle()

    assert cluster.step() == []
    assert sum(isinstance(each, Reserve) for each in cluster.decided) == 1


def test_no_other_workload_is_tried_while_the_head_is_blocked(cluster: Held) -> None:
    """No workload is preempted, and no condition is written."""
    cluster.submit("one", "a")
    cluster.settle()
    cluster.submit("two", "a")
    cluster.settle()
    cluster.submit("huge", "b")
    cluster.put(replace(cluster.workloads["ns/huge"], base=100))

    assert cluster.step() == []
    assert "QuotaReserved" not in cluster.workloads["ns/huge"].conditions


def test_a_blocked_head_gets_the_flavor_that_was_decided_before(cluster: Held) -> None:
    cluster.put_queue(queue_settings("a", None, {"spot": Terms(1, None, None), "on-demand": Terms(1, None, None)}))
    cluster.submit("one", "a")
    cluster.settle()
    cluster.submit("two", "a")
    cluster.settle()
    cluster.finish("ns/one")
    cluster.settle()

    admission = cluster.workloads["ns/two"].admission
    assert admission is not None
    assert admission.assignments[0].flavors == {"gpu": "on-demand"}


def test_a_blocked_head_is_evaluated_again_when_its_quota_shrinks(cluster: Held) -> None:
    for name in ("one", "two"):
        cluster.submit(name, "a")
    cluster.settle()
    cluster.put_queue(queue_settings("a", None, {"spot": Terms(1, None, None)}))
    cluster.ready("ns/one")
    assert cluster.running() == ["ns/one"]

    cluster.put_queue(queue_settings("a", None, GPUS))
    cluster.submit("three", "a")
    cluster.settle()
    cluster.ready("ns/two")
    cluster.settle()
    assert cluster.running() == ["ns/one", "ns/three", "ns/two"]


class HeldInTopology(Held, TopologyCluster):
    """The same, with a flavor that has a topology."""


@pytest.fixture
def hosted() -> HeldInTopology:
    """Room for three pods, each on another host."""
    cluster = HeldInTopology()
    cluster.put_queue(queue_settings("a", None, {FLAVOR: Terms(10)}))
    for name in ("n1", "n2", "n3"):
        cluster.put_node(gpu_node(name, 1))
    return cluster


def test_a_blocked_head_is_evaluated_again_when_its_node_fails(hosted: HeldInTopology) -> None:
    cluster = hosted
    for name in ("one", "two"):
        cluster.put(asks(name, "a", 1, required="rack"))
    cluster.settle()
    assert hosts(cluster.workloads["ns/one"]) == {"n1": 1}

    cluster.fail_node("n2")
    cluster.ready("ns/one")
    assert hosts(cluster.workloads["ns/two"]) == {"n3": 1}


def test_a_blocked_head_is_evaluated_again_when_its_flavor_loses_its_topology(hosted: HeldInTopology) -> None:
    cluster = hosted
    for name in ("one", "two"):
        cluster.put(asks(name, "a", 1, required="rack"))
    cluster.settle()

    cluster.world.drop_flavor(FLAVOR)
    cluster.world.put_flavor(Flavor(FLAVOR, {}))
    cluster.ready("ns/one")
    assert cluster.running() == ["ns/one"]


def test_a_blocked_head_is_evaluated_again_when_its_flavor_gets_a_topology(hosted: HeldInTopology) -> None:
    cluster = hosted
    cluster.world.put_flavor(Flavor(FLAVOR, {}))
    for name in ("one", "two"):
        cluster.submit(name, "a")
    cluster.settle()

    cluster.world.drop_flavor(FLAVOR)
    cluster.world.put_flavor(Flavor(FLAVOR, {}, topology="default"))
    cluster.ready("ns/one")
    assert hosts(cluster.workloads["ns/two"]) == {"n1": 1}


def test_deleting_a_blocked_workload_lets_the_next_one_be_admitted(cluster: Held) -> None:
    for name in ("one", "two", "three"):
        cluster.submit(name, "a")
    cluster.settle()
    cluster.drop("ns/two")
    cluster.ready("ns/one")

    assert cluster.running() == ["ns/one", "ns/three"]


def test_heads_after_a_blocked_one_are_admitted_in_turn(cluster: Held) -> None:
    cluster.put_queue(queue_settings("c", "all", GPUS))
    for name, queue in (("one", "a"), ("two", "b"), ("three", "c")):
        cluster.submit(name, queue)
    cluster.settle()
    (first,) = cluster.running()
    assert len([key for key in cluster.pending() if cluster.workloads[key].conditions]) == 1

    cluster.ready(first)
    (second,) = set(cluster.running()) - {first}
    cluster.ready(second)
    assert len(cluster.running()) == 3
