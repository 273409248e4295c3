"""Workloads that ask for gpus, and what was decided about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from policies.model.pools import Terms
from scheduling.objects.workload import Workload
from scheduling.quota.state import Options
from scheduling.world.decisions import Decision, Preempt, Reserve, Wait
from tests.scheduling.cluster import FLAVORS, Cluster, queue_settings
from tests.scheduling.manifests import pod_set, workload

ON_DEMAND = FLAVORS[0]


def cluster(*queues: tuple[str, str | None, int], options: Options | None = None, **fields: Any) -> Cluster:
    """ClusterQueues with so much of the flavor on-demand."""
    made = Cluster(options or Options())
    for name, cohort, nominal in queues:
        made.put_queue(queue_settings(name, cohort, {ON_DEMAND: Terms(nominal)}, **fields))
    return made


def asks(name: str, queue: str, gpus: int, priority: int = 0, at: int = 0, **pod_spec: Any) -> Workload:
    spec = {"queueName": queue, "priority": priority}
    made = workload(pod_set(gpu=str(gpus), spec=pod_spec), spec=spec, name=name, uid=name)
    return replace(made, created=at or made.created)


def running(made: Cluster, *workloads: Workload) -> None:
    """These are admitted first."""
    for each in workloads:
        made.put(each)
        made.settle()
    assert made.running() == sorted(each.key for each in workloads)
    made.decided.clear()


def reported(decisions: list[Decision]) -> dict[str, str]:
    """By workload what was decided: its queue, who must leave, or the reason of waiting."""
    found = {}
    for decision in decisions:
        if isinstance(decision, Reserve):
            found[decision.workload.name] = f"in {decision.queue}"
        elif isinstance(decision, Preempt):
            found[decision.target.reservation.workload.name] = f"leaves for {decision.preemptor.name}"
        else:
            found[decision.workload.name] = decision.reason
    return found


def waits(decisions: list[Decision]) -> dict[str, Wait]:
    return {decision.workload.name: decision for decision in decisions if isinstance(decision, Wait)}
