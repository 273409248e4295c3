"""Metrics that the configuration leaves out."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from policies.model.pools import Terms
from reconciler.left_out import Chosen
from reconciler.metrics import read
from scheduling.objects.queue_settings import CohortSettings, LocalQueueSettings
from scheduling.objects.times import SECOND
from scheduling.world.world import World
from tests.scheduling.cluster import PAIRS, queue_settings


class Everything(Collector):
    """All metrics of a world with one queue of each kind."""

    def collect(self) -> Iterator[Metric]:
        world = World()
        world.put_cohort(CohortSettings("org", None, {PAIRS[0]: Terms(1, None, None)}), SECOND)
        world.put_queue(queue_settings("cq", "org", {"spot": Terms(10, None, None)}), SECOND)
        world.put_local_queue(LocalQueueSettings("ns", "lq", "cq"), SECOND)
        yield from read(world)


def families(**chosen: bool) -> set[str]:
    registry = Chosen(**chosen)
    registry.register(Everything())
    shown = generate_latest(registry).decode().splitlines()
    return {line.split()[2].removeprefix("kueue_") for line in shown if line.startswith("# TYPE")}


def test_all_is_shown_where_nothing_is_left_out() -> None:
    assert {"cluster_queue_nominal_quota", "local_queue_pending_workloads", "pending_workloads"} <= families()


def test_quota_and_usage_by_flavor_can_be_left_out() -> None:
    left_out = families() - families(resources=False)

    assert left_out == {
        *(f"cluster_queue_{kind}" for kind in ("nominal_quota", "borrowing_limit", "lending_limit")),
        *("cluster_queue_resource_reservation", "cluster_queue_resource_usage"),
        *("cohort_subtree_quota", "cohort_subtree_resource_reservations"),
    }


def test_local_queues_can_be_left_out() -> None:
    left_out = families() - families(local_queues=False)

    assert left_out
    assert all(name.startswith("local_queue_") for name in left_out)
