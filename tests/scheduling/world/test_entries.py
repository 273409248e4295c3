"""A pending entry that is kept during a status change equals the entry of a new world of the same objects."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.amounts.limit_ranges import summarize
from policies.model.pools import Terms
from policies.model.quantity import Quantity
from scheduling.objects.queue_settings import LocalQueueSettings
from scheduling.objects.template import template
from scheduling.objects.workload import ALLOWED_FLAVORS, PodSet, RequeueState, Workload
from scheduling.queues.entry import PendingEntry
from scheduling.status.conditions import with_condition
from scheduling.world.world import World
from tests.scheduling.cluster import NAMESPACE, Cluster, queue_settings
from tests.scheduling.manifests import pod_set, workload

_DEFAULTS = summarize([{"spec": {"limits": [{"type": "Container", "defaultRequest": {"gpu": "2"}}]}}])
_OTHERS = summarize([{"spec": {"limits": [{"type": "Container", "defaultRequest": {"gpu": "3"}}]}}])
_JOB = workload(pod_set(count=3, cpu="1"), name="job", uid="job")
_CHANGES = {
    "told why it waits": with_condition(_JOB, "QuotaReserved", "False", "Pending", "", 7),
    "read again": workload(pod_set(count=3, cpu="1"), name="job", uid="job"),
    "evicted": with_condition(_JOB, "Evicted", "True", "PodsReadyTimeout", "", 7),
    "in backoff": replace(_JOB, requeue=RequeueState(1, at=10**18)),
    "priority": replace(_JOB, base=5),
    "boosted": replace(_JOB, boost=5),
    "pods": replace(_JOB, pod_sets=workload(pod_set(count=4, cpu="1")).pod_sets),
    "template": replace(_JOB, pod_sets=workload(pod_set(count=3, cpu="2")).pod_sets),
    "topology": replace(_JOB, pod_sets=(replace(_JOB.pod_sets[0], topology={"required": "rack"}),)),
    "done": replace(_JOB, reclaimable={"main": 1}),
    "flavors": replace(_JOB, annotations={ALLOWED_FLAVORS: "spot"}),
    "queue": replace(_JOB, queue="other"),
    "uid": replace(_JOB, uid="anew"),
}


def _cluster() -> Cluster:
    cluster = Cluster()
    for name in ("q", "other"):
        cluster.put_queue(queue_settings(name, None, {"spot": Terms(1)}))
    cluster.world.put_limit_ranges(NAMESPACE, _DEFAULTS)
    cluster.put(_JOB)
    return cluster


def _entry(world: World, key: str) -> PendingEntry:
    (found,) = filter(None, (queue.get(key) for queue in world.queues.pending.values()))
    return found


def _parts(world: World) -> tuple[object, ...]:
    entry = _entry(world, _JOB.key)
    return entry.workload, entry.scheduling_hash, entry.timestamp, entry.order, entry.group


@pytest.mark.parametrize("changed", _CHANGES.values(), ids=_CHANGES)
@pytest.mark.parametrize("tried", [False, True])
def test_a_kept_entry_equals_a_new_one_after_a_change_of_the_workload(changed: Workload, tried: bool) -> None:
    cluster = _cluster()
    if tried:
        cluster.step()

    cluster.put(changed)

    fresh = cluster.fresh()
    fresh.put_limit_ranges(NAMESPACE, _DEFAULTS)
    fresh.recount(cluster.now)
    assert _parts(cluster.world) == _parts(fresh)
    kept = _entry(cluster.world, _JOB.key)
    assert kept.requests is None or kept.requests == _tried(fresh).requests


def _tried(world: World) -> PendingEntry:
    """As it is once a cycle has counted what it requests."""
    cluster = Cluster()
    cluster.world.put_limit_ranges(NAMESPACE, world.around(NAMESPACE).limit_ranges)
    cluster.put_queue(queue_settings("q", None, {"spot": Terms(1)}))
    cluster.put(replace(world.workloads[_JOB.key], queue="q", requeue=None, conditions={}))
    cluster.step()
    return _entry(cluster.world, _JOB.key)


def test_a_kept_entry_equals_a_new_one_after_a_change_of_the_limit_ranges() -> None:
    cluster = _cluster()
    cluster.step()

    cluster.world.put_limit_ranges(NAMESPACE, _OTHERS)
    cluster.world.recount(cluster.now)
    cluster.put(_CHANGES["told why it waits"])

    fresh = cluster.fresh()
    fresh.put_limit_ranges(NAMESPACE, _OTHERS)
    fresh.recount(cluster.now)
    assert _parts(cluster.world) == _parts(fresh)


def test_a_namespace_that_is_created_after_a_runtime_class_has_its_overhead() -> None:
    cluster = Cluster()
    cluster.world.put_overheads({"kata": {"cpu": Quantity.of_nano(10**9)}})
    cluster.world.put_namespace("new", {})
    job = replace(_JOB, namespace="new")

    complete = cluster.world.entry(replace(job, pod_sets=_in_kata(job))).workload

    assert complete.pod_sets[0].template.spec["overhead"] == {"cpu": "1"}


def _in_kata(job: Workload) -> tuple[PodSet, ...]:
    (only,) = job.pod_sets
    return (replace(only, template=template({**only.template.spec, "runtimeClassName": "kata"})),)


def test_a_new_weight_of_a_local_queue_keeps_its_queued_workloads() -> None:
    """One of them may be the preemptor for which others were evicted."""
    cluster = _cluster()
    cluster.step()
    before = _entry(cluster.world, _JOB.key)

    cluster.world.put_local_queue(LocalQueueSettings(NAMESPACE, "q", "q", weight=1), cluster.now)

    assert _entry(cluster.world, _JOB.key) is before
    assert cluster.world.queues.local_queues["ns/q"].weight == 1
