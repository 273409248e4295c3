"""An inadmissible workload is not tried again when other workloads change, only when it could be admissible."""

from __future__ import annotations

from policies.amounts.limit_ranges import summarize
from policies.model.pools import Terms
from scheduling.objects.workload import Workload
from scheduling.world.decisions import Wait
from tests.scheduling.cluster import NAMESPACE, Cluster, queue_settings
from tests.scheduling.manifests import pod_set, workload

_AT_MOST_ONE = summarize([{"spec": {"limits": [{"type": "Container", "max": {"gpu": "1"}}]}}])


def _job(name: str, asks: int) -> Workload:
    return workload(pod_set(gpu=str(asks)), spec={"queueName": "q"}, name=name, uid=name)


def _cluster() -> Cluster:
    """`wide` asks for more than its namespace allows, and was told so."""
    cluster = Cluster()
    cluster.put_queue(queue_settings("q", None, {"spot": Terms(4)}))
    cluster.world.put_limit_ranges(NAMESPACE, _AT_MOST_ONE)
    cluster.put(_job("wide", 2))
    (reported,) = cluster.step()
    assert isinstance(reported, Wait)
    assert reported.reason == "Misconfigured"
    return cluster


def test_a_misfit_is_not_tried_again_when_other_work_finishes() -> None:
    cluster = _cluster()
    cluster.put(_job("narrow", 1))
    cluster.settle()
    cluster.decided.clear()

    cluster.finish("ns/narrow")
    cluster.settle()

    assert cluster.decided == []
    assert cluster.pending() == ["ns/wide"]


def test_a_misfit_runs_once_the_limit_ranges_of_its_namespace_allow_it() -> None:
    cluster = _cluster()

    cluster.world.put_limit_ranges(NAMESPACE, summarize([]))
    cluster.settle()

    assert cluster.running() == ["ns/wide"]


def test_a_misfit_runs_once_it_requests_less() -> None:
    cluster = _cluster()

    changed = workload(pod_set(gpu="1"), spec={"queueName": "q"}, name="wide", uid="wide", generation=2)
    cluster.put(changed)
    cluster.settle()

    assert cluster.running() == ["ns/wide"]
