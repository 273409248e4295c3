"""The recent usage of LocalQueues is sampled on time, and continues from their status after a restart."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from policies.dialects.kueue_flavor import Flavor
from policies.model.pools import Terms
from reconciler.controllers.local_usage import UsageController, admission_share
from reconciler.jobs.step import JobInputs
from reconciler.objects.observed import Observed
from reconciler.objects.watched import by_kind
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND, parse
from scheduling.queues.consumption import Consumption, ConsumptionRecord, UsageDecay
from scheduling.world.world import World
from tests.reconciler.driver import never
from tests.scheduling.cluster import queue_settings
from tests.scheduling.manifests import condition, manifest, pod_set

START = parse("2026-01-01T00:00:00Z")
LOCAL = by_kind()["LocalQueue"]


def local_queue(status: dict[str, Any] | None = None, stop: str = "None") -> dict[str, Any]:
    return {
        "metadata": {"name": "lq", "namespace": "ns", "resourceVersion": "1"},
        "spec": {"clusterQueue": "cq", "stopPolicy": stop},
        "status": status or {},
    }


def running() -> Any:
    admission = {
        "clusterQueue": "cq",
        "podSetAssignments": [{"name": "main", "flavors": {"gpu": "spot"}, "resourceUsage": {"gpu": "4"}, "count": 1}],
    }
    status = {"admission": admission, "conditions": [condition("QuotaReserved"), condition("Admitted")]}
    return read_workload(manifest(pod_set(gpu="4"), spec={"queueName": "lq"}, status=status))


class Sampled:
    """A world with admission fair sharing, one LocalQueue and its controller."""

    def __init__(
        self, status: dict[str, Any] | None = None, consumption: bool = True, half_life: int = 60 * SECOND
    ) -> None:
        fading = UsageDecay(half_life=half_life, sampling=10 * SECOND)
        self.world = World(consumption=Consumption(fading) if consumption else None)
        self.world.put_flavor(Flavor("spot", {}))
        self.world.put_namespace("ns", {})
        self.world.put_queue(queue_settings("cq", None, {"spot": Terms(10, None, None)}), START)
        self.controller = UsageController(self.world)
        self.observe(status)

    def observe(self, status: dict[str, Any] | None = None, stop: str = "None") -> None:
        observed = LOCAL.observed(local_queue(status, stop))
        LOCAL.put(self.world, observed.value, START)
        self.controller.observe(observed)

    def at(self, seconds: int) -> Decimal | None:
        """The recorded usage after all samples that were due."""
        assert [*self.controller.reconcile(never, START + seconds * SECOND)] == []
        record = self.world.consumption.record("ns/lq") if self.world.consumption else None
        return record.consumed.get("gpu", Decimal(0)) if record is not None else None


def test_samples_are_taken_in_time_and_shown() -> None:
    sampled = Sampled()
    sampled.world.put_workload(running(), START)

    assert sampled.at(0) == 0
    assert sampled.at(9) == 0
    once = sampled.at(10)
    assert once is not None
    assert 0 < once < 4
    assert sampled.at(19) == once
    assert ("LocalQueue", "ns/lq") in sampled.world.take_touched()
    twice = sampled.at(20)
    assert twice is not None
    assert once < twice < 4


def test_a_recreated_queue_has_one_sample_due() -> None:
    sampled = Sampled()
    for _ in range(3):
        sampled.at(0)
        sampled.controller.observe(Observed(("LocalQueue", "ns/lq"), "1", None))
        sampled.observe()

    assert len(sampled.controller._moments) == 1


def test_a_new_process_continues_from_the_stored_status() -> None:
    before = Sampled()
    before.world.put_workload(running(), START)
    for seconds in (0, 10, 20):
        before.at(seconds)
    share = admission_share(before.world, "ns/lq")

    after = Sampled({"fairSharing": share})
    after.world.put_workload(running(), START)

    kept = before.at(20)
    assert kept is not None
    assert after.at(500) == kept, "the downtime decays nothing, and what ran meanwhile is not counted"
    assert after.world.consumption is not None
    assert after.world.consumption.record("ns/lq") == ConsumptionRecord({"gpu": kept}, START + 500 * SECOND)
    assert after.at(509) == kept
    assert after.at(510) == before.at(30)


def test_samples_continue_after_a_leader_whose_clock_was_ahead() -> None:
    share = {"consumedResources": {"gpu": "8"}, "lastUpdate": "2026-01-01T01:00:00Z"}
    status = {"fairSharing": {"admissionFairSharingStatus": share}}
    sampled = Sampled(status)
    assert sampled.at(0) == 8
    sampled.observe(status)  # the LocalQueue changes before its new status is written

    sampled.at(10)
    later = sampled.at(20)

    assert later is not None
    assert 0 < later < 8


def test_an_unused_queue_shows_each_of_its_resources() -> None:
    sampled = Sampled()
    sampled.at(0)
    assert consumed(sampled) == {}
    sampled.at(10)
    assert consumed(sampled) == {"gpu": "0"}


def test_without_a_half_life_no_usage_is_recorded() -> None:
    sampled = Sampled(half_life=0)
    sampled.world.put_workload(running(), START)
    for seconds in (0, 10, 20):
        sampled.at(seconds)
        assert consumed(sampled) == {}


def consumed(sampled: Sampled) -> Any:
    share = admission_share(sampled.world, "ns/lq")
    assert share is not None
    assert share["weightedShare"] == 0
    return share["admissionFairSharingStatus"]["consumedResources"]


@pytest.mark.parametrize("stopped", ["local", "queue"])
def test_the_usage_of_an_inactive_queue_is_not_written(stopped: str) -> None:
    sampled = Sampled()
    sampled.world.put_workload(running(), START)
    sampled.at(0)
    stored = {"weightedShare": 0}
    if stopped == "local":
        sampled.observe(stop="Hold")
    else:
        sampled.world.drop_flavor("spot")

    assert sampled.at(30) == 0
    assert admission_share(sampled.world, "ns/lq", stored) is stored

    sampled.world.put_flavor(Flavor("spot", {}))
    sampled.observe()
    later = sampled.at(31)
    assert later is not None
    assert later > 0


def test_a_standby_reads_the_usage_that_the_leader_wrote() -> None:
    standby = Sampled()
    reported = {"consumedResources": {"gpu": "3"}, "lastUpdate": "2026-01-01T00:05:00Z"}
    standby.observe({"fairSharing": {"weightedShare": 0, "admissionFairSharingStatus": reported}})

    assert standby.at(300) == 3


def test_a_deleted_queue_is_not_sampled_and_a_recreated_one_starts_at_zero() -> None:
    sampled = Sampled()
    sampled.at(0)
    LOCAL.drop(sampled.world, "ns/lq", START)
    sampled.controller.observe(type(LOCAL.observed(local_queue()))(("LocalQueue", "ns/lq"), "2", None))
    assert sampled.at(10) is None

    sampled.observe()
    assert sampled.at(20) == 0


def test_without_admission_fair_sharing_usage_is_not_recorded() -> None:
    sampled = Sampled(consumption=False)
    sampled.controller.inputs_changed(JobInputs())
    sampled.controller.workload_changed("ns/w")

    assert sampled.at(0) is None


@pytest.mark.parametrize("status", [None, {"fairSharing": "x"}, {"fairSharing": {"admissionFairSharingStatus": []}}])
def test_an_unreadable_status_starts_at_zero(status: dict[str, Any] | None) -> None:
    assert Sampled(status).at(0) == 0
