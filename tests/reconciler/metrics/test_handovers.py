"""How soon a Workload follows its job, the removal of gates follows the admission, and what worker clusters get."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from policies.configuration.kueue.values import CREATION_LATENCY
from policies.dialects.kueue_jobs import STARTED_FOR
from policies.dialects.kueue_kinds import PREFIX
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE, GATE, TOPOLOGY_GATE
from reconciler.api.clusters import dispatched, evicted_there, worker_statuses
from reconciler.controllers.jobs.started_pods import STARTED_PODS
from reconciler.controllers.pods import WATCHED_PODS
from reconciler.core.state import ClusterState
from reconciler.metrics.families.dispatches import statuses
from reconciler.metrics.observer import KueueObserver
from reconciler.metrics.occasions import Dispatches
from reconciler.metrics.registry import ChosenRegistry
from reconciler.objects.observed import Observed
from reconciler.objects.packed import Packed
from reconciler.objects.topology_views import PLACED_PODS
from scheduling.objects.times import SECOND, rfc3339
from scheduling.objects.workload import IS_GROUP_WORKLOAD, Owner, Workload
from tests import builders
from tests.reconciler.jobs.pod_world import pod
from tests.reconciler.multikueue.three_clusters import World3, queues
from tests.reconciler.two_queues import NOW, running, world

Manifest = dict[str, Any]


class Watched:
    """What an observer counts of watch events."""

    def __init__(self, registry: CollectorRegistry | None = None, *, leads: bool = True) -> None:
        self.state = ClusterState(world())
        self.registry = registry or CollectorRegistry()
        self.observer = KueueObserver(self.state, lambda: leads, self.registry)

    def see(self, observed: Observed, now: int = NOW) -> None:
        before = self.state.records.at(observed.key)
        self.state.records.keep(observed)
        self.observer.changing(before, observed, now)
        if isinstance(observed.value, Workload):
            self.state.world.put_workload(observed.value, now)

    def value(self, metric: str, **labels: str) -> float | None:
        name = metric if metric.startswith("multikueue_") else f"kueue_{metric}"
        return self.registry.get_sample_value(name, {**labels, "replica_role": "leader"})

    def latency(self, kind: str = "Job") -> float | None:
        return self.value("workload_creation_latency_seconds_sum", job_kind=kind)

    def removal(self, gate: str, *, in_group: bool) -> float | None:
        labels = {"cluster_queue": "q", "name": gate, "is_group": str(in_group).lower()}
        return self.value("pod_scheduling_gate_removal_seconds_sum", **labels)


def job(generation: int = 1) -> Observed:
    made = builders.manifest("batch/v1", "Job", "j", {}, uid="job-uid", generation=generation)
    made["metadata"]["creationTimestamp"] = rfc3339(NOW - 3 * SECOND)
    return Observed(("Job", "ns/j"), "1", Packed.of(made))


def workload_of(uid: str = "job-uid") -> Observed:
    made = replace(running(admitted=False), created=NOW, owners=(Owner("batch/v1", "Job", "j", uid),))
    return Observed(("Workload", "ns/w"), "1", made)


def test_creation_latency_counts_from_the_creation_of_the_job() -> None:
    watched = Watched()
    watched.see(job())
    watched.see(workload_of())
    assert watched.latency() == 3
    watched.see(replace(workload_of(), version="2"))
    assert watched.value("workload_creation_latency_seconds_count", job_kind="Job") == 1


@pytest.mark.parametrize(
    ("owner", "made"),
    [(job(generation=2), workload_of()), (job(), workload_of("another")), (None, workload_of())],
    ids=["the job was changed since", "a job of another uid", "no such job"],
)
def test_workloads_of_changed_or_unknown_jobs_have_no_creation_latency(owner: Observed | None, made: Observed) -> None:
    watched = Watched()
    if owner is not None:
        watched.see(owner)
    watched.see(made)
    assert watched.latency() is None


def test_objects_from_before_this_process_have_no_creation_latency() -> None:
    watched = Watched()
    watched.state.records.track("Job")
    watched.see(job())
    watched.see(workload_of())
    assert watched.latency() is None


def test_a_standby_counts_no_creation_latency() -> None:
    watched = Watched(leads=False)
    watched.see(job())
    watched.see(workload_of())
    assert (
        watched.registry.get_sample_value("kueue_workload_creation_latency_seconds_count", {"job_kind": "Job"}) is None
    )


def test_creation_latency_can_be_disabled() -> None:
    watched = Watched(ChosenRegistry((CREATION_LATENCY,)))
    watched.see(job())
    watched.see(workload_of())
    assert "kueue_workload_creation_latency_seconds" not in {each.name for each in watched.registry.collect()}


def member(manifest: Manifest, *, gated: bool) -> Observed:
    gates = [{"name": GATE}] if gated else []
    spec = {**manifest["spec"], "schedulingGates": gates}
    meta = {**manifest["metadata"], "resourceVersion": str(gated)}
    return WATCHED_PODS.observed({**manifest, "metadata": meta, "spec": spec})


def admitted(name: str, at: int = NOW, **changes: Any) -> Observed:
    found = running(name)
    conditions = {**found.conditions, "Admitted": found.conditions["Admitted"]._replace(since=at)}
    return Observed(("Workload", found.key), "1", replace(found, conditions=conditions, **changes))


def test_gate_removal_counts_from_the_admission_of_the_workload() -> None:
    watched = Watched()
    watched.see(admitted("team"))
    one = pod("one", group="team", size=1)
    watched.see(member(one, gated=True), NOW + SECOND)
    watched.see(member(one, gated=False), NOW + 2 * SECOND)
    watched.see(replace(member(one, gated=False), version="3"), NOW + 9 * SECOND)
    assert watched.removal(GATE, in_group=True) == 2
    watched.see(Observed(("ClusterQueue", "q"), "", None))
    assert watched.removal(GATE, in_group=True) is None


def test_a_pod_ungated_without_quota_is_not_counted() -> None:
    watched = Watched()
    one = pod("one", group="team", size=1)
    watched.see(member(one, gated=True))
    watched.see(member(one, gated=False))
    assert watched.removal(GATE, in_group=True) is None


def started(gates: list[dict[str, str]]) -> Observed:
    notes, labels = {f"{PREFIX}workload-slice-name": "first"}, {f"{PREFIX}podset": "main"}
    spec = {"schedulingGates": gates}
    version = str(len(gates))
    meta = {"namespace": "ns", "annotations": notes, "labels": labels, "resourceVersion": version}
    made = builders.manifest("v1", "Pod", "p", spec, **meta)
    return STARTED_PODS.observed(made)


def test_gate_removal_of_an_elastic_job_counts_from_the_admission_of_its_last_slice() -> None:
    watched = Watched()
    watched.see(admitted("first"))
    chain = {f"{PREFIX}workload-slice-name": "first"}
    watched.see(admitted("second", NOW + 5 * SECOND, annotations=chain))
    watched.see(started([{"name": ELASTIC_GATE}]))
    watched.see(started([]), NOW + 7 * SECOND)
    assert watched.removal(ELASTIC_GATE, in_group=False) == 2


@pytest.mark.parametrize("in_group", [False, True])
def test_topology_gate_removal_counts_from_the_admission_of_the_workload(in_group: bool) -> None:
    watched = Watched()
    watched.see(admitted("train", annotations={IS_GROUP_WORKLOAD: str(in_group).lower()}))
    for gates in ([{"name": TOPOLOGY_GATE}], []):
        notes = {STARTED_FOR: "train", f"{PREFIX}podset-required-topology": "rack"}
        meta = {"namespace": "ns", "annotations": notes, "resourceVersion": str(len(gates))}
        watched.see(PLACED_PODS.observed(builders.manifest("v1", "Pod", "p", {"schedulingGates": gates}, **meta)), NOW)
    assert watched.removal(TOPOLOGY_GATE, in_group=in_group) == 0
    assert watched.removal(TOPOLOGY_GATE, in_group=not in_group) is None


def test_each_worker_of_a_queue_is_exported_with_its_condition() -> None:
    clusters = World3()
    active = {"conditions": [{"type": "Active", "status": "True"}]}
    clusters.manager.server.add("MultiKueueCluster", {"metadata": {"name": "east"}, "spec": {}, "status": active})
    clusters.settle()
    assert worker_statuses(clusters.manager.core) == {("cq", "east"): "True", ("cq", "west"): "Unknown"}

    clusters.manager.server.remove(("MultiKueueCluster", "west"))
    clusters.settle()
    assert worker_statuses(clusters.manager.core) == {("cq", "east"): "True"}
    queues(clusters.manager.server)
    clusters.settle()
    assert worker_statuses(clusters.manager.core) == {}


@pytest.mark.parametrize("status", ["True", "False", "Unknown"])
def test_a_worker_has_a_series_for_each_status_with_one_at_1(status: str) -> None:
    found = {sample.labels[-1]: sample.value for sample in statuses(Dispatches({}, {}, {("cq", "east"): status}))}

    assert found == {each: float(each == status) for each in ("True", "False", "Unknown")}


def test_an_eviction_by_a_worker_is_counted_once_after_a_reconnection() -> None:
    clusters = World3()
    clusters.submit("train")
    (cluster,) = clusters.runs_on()
    server = clusters.workers[cluster].server
    queue = server.objects["ClusterQueue", "cq"]
    server.add("ClusterQueue", {**queue, "spec": {**queue["spec"], "stopPolicy": "HoldAndDrain"}})
    clusters.settle()
    clusters.links.lose(cluster)
    clusters.settle(seconds=1)
    clusters.links.connect(cluster)
    clusters.settle(seconds=70)

    assert clusters.runs_on() != [cluster]
    assert evicted_there(clusters.manager.core) == {("cq", cluster, "ClusterQueueStopped"): 1}


def test_an_eviction_on_the_manager_does_not_count_as_one_by_the_worker() -> None:
    clusters = World3()
    clusters.submit("train")
    assert clusters.runs_on()
    local = clusters.workload()
    assert local is not None
    clusters.manager.server.add("Workload", {**local, "spec": {**local["spec"], "active": False}})
    clusters.settle(seconds=70)

    assert clusters.runs_on() == []
    assert evicted_there(clusters.manager.core) == {}


def test_dispatched_and_admitted_workloads_of_workers_are_counted() -> None:
    clusters = World3()
    clusters.submit("train")
    (cluster,) = clusters.runs_on()
    assert dispatched(clusters.manager.core) == {("cq", "east"): 1, ("cq", "west"): 1}

    watched = Watched()
    here = replace(running(admitted=False), cluster="")
    watched.see(Observed(("Workload", "ns/w"), "1", here))
    for version in ("2", "3"):
        watched.see(Observed(("Workload", "ns/w"), version, replace(here, cluster=cluster)))
    assert watched.value("multikueue_workloads_admitted_total", cluster_queue="q", cluster=cluster) == 1
