"""Waiting workloads whose pods request devices: what they count, and when they are tried again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.amounts.devices import ClaimTemplate, DeviceClass, DeviceRequest, DeviceSettings
from policies.amounts.limit_ranges import Summary, summarize
from policies.model.pools import Terms
from policies.mutation.pod_defaults import Surroundings
from reconciler.core.lifecycles import lifecycle_of
from scheduling.objects.queue_settings import BEST_EFFORT_FIFO, STRICT_FIFO
from scheduling.objects.requests import Counting
from scheduling.objects.times import SECOND, rfc3339
from scheduling.objects.workload import QUOTA_RESERVED, REQUEUED, Workload
from scheduling.queues.queues import Blocker
from scheduling.quota.state import Options
from scheduling.status.lifecycle import Lifecycle
from scheduling.status.observability import LEGACY
from scheduling.visibility.explanation import explain
from scheduling.visibility.workloads import waiting
from scheduling.world.claimed_devices import ClaimedDevices
from tests.scheduling.cluster import Cluster, queue_settings
from tests.scheduling.manifests import pod_set, workload

CLASS = "gpu.example.com"
COUNTED = Counting(devices=DeviceSettings({CLASS: "gpu"}))


def template(devices: int) -> ClaimTemplate:
    return ClaimTemplate("ns/t", (DeviceRequest(CLASS, devices, "ExactCount", False, True, False),))


def cluster_with(quota: int = 4, strategy: str = BEST_EFFORT_FIFO, counting: Counting = COUNTED) -> Cluster:
    cluster = Cluster(Options(), counting, now=1000 * SECOND)
    cluster.put_queue(replace(queue_settings("q", None, {"spot": Terms(quota)}), strategy=strategy))
    return cluster


def claiming(name: str = "w", pods: int = 1) -> Workload:
    spec = {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}]}
    return workload(pod_set(count=pods, spec=spec), name=name)


def used(cluster: Cluster) -> int:
    return sum(cluster.world.state.queues["q"].node.usage.values())


def message(cluster: Cluster, key: str = "ns/w") -> str:
    found = explain(cluster.world, key)
    assert found is not None
    return found.message


def test_devices_of_all_pods_are_counted() -> None:
    cluster = cluster_with(quota=6)
    cluster.world.put_claim_template(template(2))
    cluster.put(claiming(pods=3))

    cluster.settle()

    assert used(cluster) == 6
    (assigned,) = cluster.workloads["ns/w"].admission.assignments  # type: ignore[union-attr]
    assert (dict(assigned.usage), dict(assigned.flavors)) == ({"gpu": 6}, {"gpu": "spot"})


def test_more_devices_than_quota_wait() -> None:
    cluster = cluster_with(quota=5)
    cluster.world.put_claim_template(template(2))
    cluster.put(claiming(pods=3))

    cluster.settle()

    assert not cluster.workloads["ns/w"].reserved
    assert "gpu" in message(cluster)


@pytest.mark.parametrize("strategy", [BEST_EFFORT_FIFO, STRICT_FIFO])
def test_a_workload_waits_for_its_template_and_blocks_no_other(strategy: str) -> None:
    cluster = cluster_with(strategy=strategy)
    cluster.put(claiming())
    cluster.put(workload(pod_set(gpu="1"), name="other"))
    cluster.settle()

    assert cluster.running() == ["ns/other"]
    assert message(cluster).endswith('ResourceClaimTemplate.resource.k8s.io "t" not found')
    assert [each.workload for each in waiting(cluster.world, cluster.now)] == ["ns/w"]

    cluster.world.put_claim_template(template(3))
    cluster.settle()

    assert cluster.running() == ["ns/other", "ns/w"]
    assert used(cluster) == 4


def test_a_waiting_workload_counts_the_template_of_now() -> None:
    """A template cannot be edited, but it can be deleted and created again."""
    cluster = cluster_with(quota=4)
    cluster.world.put_claim_template(template(5))
    cluster.put(claiming())
    cluster.settle()
    assert not cluster.running()

    cluster.world.drop_claim_template("ns/t")
    cluster.world.recount(cluster.now)
    assert "not found" in message(cluster)
    cluster.world.put_claim_template(template(4))
    cluster.settle()

    assert used(cluster) == 4


def test_a_template_that_is_replaced_often_before_a_cycle_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, counted = cluster_with(quota=1), list[str]()
    count = ClaimedDevices.count

    def counts(devices: ClaimedDevices, found: Workload, around: Surroundings) -> Blocker | None:
        counted.append(found.name)
        return count(devices, found, around)

    for name in ("first", "second"):
        cluster.put(claiming(name))
    monkeypatch.setattr(ClaimedDevices, "count", counts)
    for _ in range(10):
        cluster.world.drop_claim_template("ns/t")
        cluster.world.put_claim_template(template(5))
    cluster.engine.step(cluster.now)

    assert sorted(counted) == ["first", "second"]


def test_a_claim_by_name_has_a_message_of_its_own_in_requeued() -> None:
    cluster = cluster_with()
    spec = {"resourceClaims": [{"name": "c", "resourceClaimName": "shared"}]}
    cluster.put(workload(pod_set(spec=spec)))

    work = cluster.workloads["ns/w"]
    around = lifecycle_of(cluster.world, work, cluster.now, None, LEGACY, None)
    conditions = around.next(work).conditions

    assert conditions[QUOTA_RESERVED].message == "KueueDRAIntegration feature does not support use of resource claims"
    assert conditions[REQUEUED].message == "DRA resource claims not supported"
    assert conditions[QUOTA_RESERVED].status == conditions[REQUEUED].status == "False"


def test_a_new_template_does_not_queue_a_workload_that_waits_to_be_written_again() -> None:
    cluster = cluster_with()
    cluster.world.put_claim_template(template(5))
    cluster.put(claiming())
    cluster.world.queues.drop("ns/w")  # its write failed

    cluster.world.put_claim_template(template(1))
    cluster.settle()
    assert not cluster.running()

    cluster.put(claiming())
    cluster.settle()
    assert used(cluster) == 1


def test_an_extended_resource_counts_as_devices_while_a_class_serves_it() -> None:
    cluster = cluster_with(quota=2)
    cluster.put(workload({**pod_set(), "template": {"spec": _requesting("2")}}))
    cluster.settle()
    assert not cluster.running()
    assert "example.com/gpu" in message(cluster)

    cluster.world.put_device_class(DeviceClass(CLASS, "example.com/gpu"))
    cluster.settle()

    assert used(cluster) == 2


def test_a_class_that_ends_stops_the_counting_of_its_extended_resource() -> None:
    cluster = cluster_with(quota=0)
    cluster.world.put_device_class(DeviceClass(CLASS, "example.com/gpu"))
    cluster.put(workload({**pod_set(), "template": {"spec": _requesting("2")}}))
    cluster.settle()
    assert "example.com/gpu" not in message(cluster)

    cluster.world.drop_device_class(CLASS)
    cluster.settle()

    assert "example.com/gpu" in message(cluster)


def _requesting(gpus: str) -> dict[str, object]:
    return {"containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": gpus}}}]}


def test_equal_pods_with_other_devices_are_not_treated_alike() -> None:
    """The template is replaced while one workload waits, and a second equal one comes."""
    cluster = cluster_with(quota=4)
    cluster.world.put_claim_template(template(5))
    cluster.put(claiming("a"))
    cluster.settle()
    cluster.put(replace(claiming("b"), queue="q"))
    cluster.world.put_claim_template(template(2))
    cluster.settle()

    assert cluster.running() == ["ns/a", "ns/b"]
    assert used(cluster) == 4


def test_without_mappings_a_claim_is_refused_with_the_key_to_set() -> None:
    cluster = cluster_with(counting=Counting())
    cluster.put(claiming())
    cluster.settle()

    assert not cluster.running()
    assert "deviceClassMappings" in message(cluster)


def test_without_the_refusal_claims_of_an_engine_without_devices_are_ignored() -> None:
    cluster = cluster_with(counting=Counting(devices=DeviceSettings({CLASS: "gpu"}, enabled=False, refuses=False)))
    cluster.put(claiming())
    cluster.settle()

    assert cluster.running() == ["ns/w"]
    assert used(cluster) == 0


def test_quota_stays_with_an_admitted_workload_whose_template_is_gone() -> None:
    cluster = cluster_with()
    cluster.world.put_claim_template(template(3))
    cluster.put(claiming())
    cluster.settle()

    cluster.world.drop_claim_template("ns/t")
    cluster.settle()

    assert used(cluster) == 3
    assert cluster.running() == ["ns/w"]


@pytest.mark.parametrize(
    ("before", "devices", "evicted"), [(0, 4, True), (0, 3, False), (0, 2, False), (-60, 4, False)]
)
def test_a_template_that_is_created_again_larger_takes_the_quota_of_its_users(
    before: int, devices: int, evicted: bool
) -> None:
    """Pods that are created from then on would get more devices than are counted."""
    cluster = cluster_with()
    cluster.world.put_claim_template(template(3))
    cluster.put(claiming())
    cluster.settle()
    reserved = cluster.workloads["ns/w"].holding("QuotaReserved")
    assert reserved is not None

    again = replace(template(devices), created=rfc3339(reserved.since + before * SECOND))
    cluster.world.put_claim_template(again)
    cluster.world.put_claim_template(replace(again, requests=template(3).requests))

    message = cluster.world.outgrown("ns/w")
    assert bool(message) is evicted
    assert not evicted or message.startswith(
        "Each pod of main requests gpu=4 since its ResourceClaimTemplate was created"
    )


def test_the_next_reservation_after_a_larger_template_counts_it() -> None:
    cluster = cluster_with(quota=5)
    cluster.world.put_claim_template(template(3))
    cluster.put(claiming())
    cluster.settle()
    cluster.world.put_claim_template(replace(template(5), created=rfc3339(cluster.now)))

    work = cluster.workloads["ns/w"]
    cluster.write(Lifecycle(cluster.now, outgrown=cluster.world.outgrown("ns/w")).next(work))
    evicted = cluster.workloads["ns/w"].holding("Evicted")
    assert evicted is not None
    assert evicted.reason == "DevicesChanged"
    cluster.settle()

    assert used(cluster) == 5
    assert not cluster.world.outgrown("ns/w")


def test_devices_that_the_queue_does_not_count_take_no_quota() -> None:
    """With IgnoreUndeclared, the admission says nothing of resources that the queue does not cover."""
    counting = Counting(devices=DeviceSettings({CLASS: "tpu"}))
    cluster = Cluster(Options(ignore_undeclared=True), counting, now=1000 * SECOND)
    cluster.put_queue(queue_settings("q", None, {"spot": Terms(4)}))
    cluster.world.put_claim_template(replace(template(3), created=rfc3339(cluster.now)))
    cluster.put(claiming())
    cluster.settle()
    cluster.world.put_claim_template(replace(template(5), created=rfc3339(cluster.now)))

    assert cluster.running() == ["ns/w"]
    assert not cluster.world.outgrown("ns/w")


def test_a_limit_range_that_asks_for_a_part_of_a_device_keeps_the_workload_out_until_it_is_mended() -> None:
    def requests_by_default(amount: str) -> Summary:
        limits = {"type": "Container", "defaultRequest": {"example.com/gpu": amount}}
        return summarize([{"spec": {"limits": [limits]}}])

    cluster = cluster_with()
    cluster.world.put_device_class(DeviceClass(CLASS, "example.com/gpu"))
    cluster.put(workload({**pod_set(), "template": {"spec": {"containers": [{"name": "c"}]}}}))

    cluster.world.put_limit_ranges("ns", requests_by_default("500m"))
    cluster.settle()
    assert message(cluster).endswith("extended resource quantity must be an integer")

    cluster.world.put_limit_ranges("ns", requests_by_default("2"))
    cluster.settle()
    assert used(cluster) == 2


def test_a_class_that_is_not_counted_takes_the_quota_too() -> None:
    cluster = cluster_with()
    cluster.world.put_claim_template(template(3))
    cluster.put(claiming())
    cluster.settle()

    other = DeviceRequest("other.example.com", 9, "ExactCount", False, True, False)
    cluster.world.put_claim_template(ClaimTemplate("ns/t", (other,), rfc3339(cluster.now)))

    assert "other.example.com is not mapped" in cluster.world.outgrown("ns/w")


def test_workloads_that_end_leave_nothing_behind() -> None:
    def concerned(devices: int) -> list[str]:
        cluster.world.put_claim_template(template(devices))
        cluster.world.recount(cluster.now)
        found, cluster.world.recounted = [*cluster.world.recounted], {}
        return found

    cluster = cluster_with()
    for name in ("a", "b", "c"):
        cluster.put(claiming(name))
    assert concerned(9) == ["ns/a", "ns/b", "ns/c"]

    cluster.finish("ns/a")
    cluster.drop("ns/b")
    cluster.put(replace(claiming("c"), active=False))
    assert concerned(8) == ["ns/c"]

    cluster.drop("ns/c")
    assert concerned(7) == []
