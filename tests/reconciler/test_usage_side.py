"""What LocalQueues used of late is sampled in time, and goes on from their status after a restart."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from policies.model.pools import Terms
from reconciler.feed import by_kind
from reconciler.jobs.step import JobSurroundings
from reconciler.local_usage import admission_share
from reconciler.usage_side import UsageSide
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND, parse
from scheduling.queues.consumption import Consumption, UsageDecay
from scheduling.world.world import World
from tests.scheduling.cluster import queue_settings
from tests.scheduling.manifests import condition, manifest, pod_set

START = parse("2026-01-01T00:00:00Z")
LOCAL = by_kind()["LocalQueue"]


def local_queue(status: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "metadata": {"name": "lq", "namespace": "ns", "resourceVersion": "1"},
        "spec": {"clusterQueue": "cq"},
        "status": status or {},
    }


def running() -> Any:
    admission = {
        "clusterQueue": "cq",
        "podSetAssignments": [{"name": "main", "flavors": {"gpu": "spot"}, "resourceUsage": {"gpu": "4"}, "count": 1}],
    }
    status = {"admission": admission, "conditions": [condition("QuotaReserved"), condition("Admitted")]}
    return read_workload(manifest(pod_set(gpu="4"), spec={"queueName": "lq"}, status=status))


class Followed:
    """A world under admission fair sharing, with one LocalQueue and its side."""

    def __init__(self, status: dict[str, Any] | None = None, consumption: bool = True) -> None:
        fading = UsageDecay(half_life=60 * SECOND, sampling=10 * SECOND)
        self.world = World(consumption=Consumption(fading) if consumption else None)
        self.world.put_namespace("ns", {})
        self.world.put_queue(queue_settings("cq", None, {"spot": Terms(10, None, None)}), START)
        self.side = UsageSide(self.world)
        self.see(status)

    def see(self, status: dict[str, Any] | None = None) -> None:
        seen = LOCAL.seen(local_queue(status))
        LOCAL.put(self.world, seen.value, START)
        self.side.see(seen)

    def at(self, seconds: int) -> Decimal | None:
        """What counts as used after all samples that were due."""
        assert [*self.side.due(lambda *_: False, START + seconds * SECOND)] == []
        record = self.world.consumption.record("ns/lq") if self.world.consumption else None
        return record.consumed.get("gpu", Decimal(0)) if record is not None else None


def test_samples_are_taken_in_time_and_shown() -> None:
    followed = Followed()
    followed.world.put_workload(running(), START)

    assert followed.at(0) == 0
    assert followed.at(9) == 0
    once = followed.at(10)
    assert once is not None
    assert 0 < once < 4
    assert followed.at(19) == once
    assert ("LocalQueue", "ns/lq") in followed.world.take_touched()
    twice = followed.at(20)
    assert twice is not None
    assert once < twice < 4


def test_a_new_process_goes_on_from_the_status() -> None:
    before = Followed()
    before.world.put_workload(running(), START)
    for seconds in (0, 10, 20):
        before.at(seconds)
    share = admission_share(before.world, "ns/lq")

    after = Followed({"fairSharing": share})
    after.world.put_workload(running(), START)

    assert after.at(29) == before.at(29)
    assert after.at(30) == before.at(30)


def test_a_standby_learns_what_the_other_wrote() -> None:
    standby = Followed()
    told = {"consumedResources": {"gpu": "3"}, "lastUpdate": "2026-01-01T00:05:00Z"}
    standby.see({"fairSharing": {"weightedShare": 0, "admissionFairSharingStatus": told}})

    assert standby.at(300) == 3


def test_nothing_is_sampled_of_a_queue_that_is_gone_and_of_one_that_came_back_again() -> None:
    followed = Followed()
    followed.at(0)
    LOCAL.drop(followed.world, "ns/lq", START)
    followed.side.see(type(LOCAL.seen(local_queue()))(("LocalQueue", "ns/lq"), "2", None))
    assert followed.at(10) is None

    followed.see()
    assert followed.at(20) == 0


def test_without_admission_fair_sharing_nothing_is_done() -> None:
    followed = Followed(consumption=False)
    followed.side.renew(JobSurroundings())
    followed.side.touch("ns/w")

    assert followed.at(0) is None


@pytest.mark.parametrize("status", [None, {"fairSharing": "x"}, {"fairSharing": {"admissionFairSharingStatus": []}}])
def test_a_status_that_tells_nothing_begins_anew(status: dict[str, Any] | None) -> None:
    assert Followed(status).at(0) == 0
