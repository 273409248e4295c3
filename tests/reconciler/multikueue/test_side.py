"""Workloads that run on other clusters: the scenarios of KEP-693 with three loops in memory."""

from __future__ import annotations

from tests.reconciler.multikueue.three_clusters import World3


def test_a_job_runs_on_one_worker_and_its_status_comes_back() -> None:
    world = World3()
    world.submit("train")

    (cluster,) = world.runs_on()
    assert world.check() == ("Ready", f'The workload was admitted on "{cluster}"')
    local = world.workload()
    assert local is not None
    assert local["status"]["clusterName"] == cluster
    other = "west" if cluster == "east" else "east"
    assert world.workload(other) is None

    world.report(cluster, {"active": 1, "ready": 1})
    here = world.job()
    assert here is not None
    assert not here["spec"]["suspend"]
    assert here["status"] == {"active": 1, "ready": 1}
