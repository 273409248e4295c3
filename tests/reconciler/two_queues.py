"""A world of two ClusterQueues in one Cohort, and Workloads that run in them."""

from __future__ import annotations

from typing import Any

from policies.dialects.kueue_flavor import Flavor
from policies.model.pools import Terms
from scheduling.objects.queue_settings import CohortSettings, LocalQueueSettings
from scheduling.objects.times import SECOND
from scheduling.queues.consumption import Consumption, UsageDecay
from scheduling.quota.state import Options
from scheduling.world.world import World
from tests.scheduling.cluster import queue_settings
from tests.scheduling.manifests import condition, pod_set, workload

NOW = 1_700_000_000 * SECOND
MINUTE = 60 * SECOND


def running(name: str = "w", gpu: str = "3", queue: str = "q", admitted: bool = True) -> Any:
    assigned = [{"name": "main", "count": 1, "flavors": {"gpu": "spot"}, "resourceUsage": {"gpu": gpu}}]
    conditions = [condition("QuotaReserved"), *([condition("Admitted")] if admitted else [])]
    status = {"admission": {"clusterQueue": queue, "podSetAssignments": assigned}, "conditions": conditions}
    return workload(pod_set(gpu=gpu), status=status, spec={"queueName": queue}, name=name, uid=name)


def world(options: Options | None = None, consumption: Consumption | None = None) -> World:
    """Two queues, q and r, of 2 gpu each under the Cohort c, which is under top."""
    made = World(options, consumption=consumption)
    made.put_flavor(Flavor("spot", {}))
    made.put_namespace("ns", {})
    made.put_cohort(CohortSettings("c", "top", {}), NOW)
    for name in ("q", "r"):
        made.put_queue(queue_settings(name, "c", {"spot": Terms(2, None, None)}), NOW)
        made.put_local_queue(LocalQueueSettings("ns", name, name), NOW)
    return made


def fading(half_life: int = 10 * MINUTE) -> Consumption:
    return Consumption(UsageDecay(half_life, 5 * MINUTE))
