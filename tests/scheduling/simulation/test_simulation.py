"""The simulation: what it simulates, in what order, and what it reports about unsupported input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from policies.configuration.kueue.gates import FeatureGates
from policies.model.errors import BadConfiguration
from policies.model.objects import Ref
from scheduling.objects import times
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.times import SECOND
from scheduling.simulation.settings import SimulationSettings, read_settings
from scheduling.simulation.simulation import START, KueueSimulation, UnknownWorkload, begin
from scheduling.simulation.trace import Admitted, Evicted, Finished, Loan, Preempted, Reserved, TraceEvent
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.lifecycle import Lifecycle
from scheduling.visibility.workloads import running, waiting
from scheduling.world.nodes import below, nodes
from scheduling.world.world import World
from tests.builders import FLAVOR, cohort, queued_job, queued_pod, template, workload
from tests.cli.organisations import KUEUE, local, org_queue
from tests.scheduling.calls import calls

CPU = FlavorResource("spot", "cpu")
SHARING = (
    FLAVOR,
    org_queue("a", 4, "org", preemption={"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}),
    org_queue("b", 4, "org"),
    local("a"),
    local("b"),
)


def simulated(*manifests: dict[str, Any], settings: SimulationSettings | None = None) -> KueueSimulation:
    simulation = KueueSimulation(settings)
    simulation.add(manifests)
    return simulation


def names(simulation: KueueSimulation, keys: Iterable[str]) -> list[str]:
    return [simulation.names[key].name for key in keys]


def runs(simulation: KueueSimulation) -> list[str]:
    return sorted(names(simulation, (each.workload for each in running(simulation.world))))


def waits(simulation: KueueSimulation) -> dict[str, str]:
    """The message by the name of the job."""
    return {simulation.names[each.workload].name: each.message for each in waiting(simulation.world, simulation.now)}


def of(simulation: KueueSimulation, *kinds: type[TraceEvent]) -> list[tuple[str, str]]:  # type: ignore[valid-type]
    return [
        (type(each).__name__, simulation.names[each.workload].name)  # type: ignore[union-attr]
        for each in simulation.trace
        if isinstance(each, kinds)
    ]


# --- who runs


def test_a_loan_is_reported_with_the_lending_cohort() -> None:
    simulation = simulated(*SHARING, queued_job("big", "b", 2, pods=3))

    (reserved,) = simulation.trace

    assert isinstance(reserved, Reserved)
    assert (reserved.queue, reserved.loans) == ("b", (Loan(CPU, 2000, "org"),))


def test_a_loan_comes_from_the_lowest_cohort_that_has_the_quota() -> None:
    tree = (
        FLAVOR,
        cohort("team", "org"),
        org_queue("a", 4, "team"),
        org_queue("b", 4, "team"),
        org_queue("c", 9, "org"),
    )
    work = (local("a"), local("b"), queued_job("near", "a", 8), queued_job("far", "b", 5))

    loans = [each.loans for each in simulated(*tree, *work).trace if isinstance(each, Reserved)]

    assert loans == [(Loan(CPU, 4000, "team"),), (Loan(CPU, 1000, "org"),)]


def test_a_queue_reclaims_its_quota_and_the_victim_is_requeued() -> None:
    simulation = simulated(*SHARING, queued_job("first", "b", 8))
    simulation.add([queued_job("second", "a", 4)])

    assert of(simulation, Reserved, Preempted) == [
        ("Reserved", "first"),
        ("Preempted", "first"),
        ("Reserved", "second"),
    ]
    assert runs(simulation) == ["second"]
    assert list(waits(simulation)) == ["first"]


def test_a_finished_job_frees_quota() -> None:
    simulation = simulated(*SHARING, queued_job("first", "b", 8))
    simulation.add([queued_job("later", "b", 8)])
    simulation.finish("ns/first")

    assert runs(simulation) == ["later"]


def test_a_job_that_is_added_again_as_complete_frees_quota() -> None:
    first, second = (queued_job(name, "a", 4) for name in ("first", "second"))
    simulation = simulated(FLAVOR, org_queue("a", 4), local("a"), first, second)
    assert runs(simulation) == ["first"]

    simulation.add([{**first, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}])

    assert runs(simulation) == ["second"]
    assert of(simulation, Finished) == [("Finished", "first")]


def test_the_cost_of_one_more_job_does_not_depend_on_their_number() -> None:
    def cost(jobs: int) -> int:
        held = [queued_job(f"j{number}", "a", 1) for number in range(jobs)]
        simulation = simulated(FLAVOR, org_queue("a", 4), local("a"), *held)
        return calls(lambda: simulation.add([queued_job("one-more", "a", 1)]), of=Lifecycle.next)

    assert cost(40) == cost(10)


def test_usage_is_summed_up_the_tree() -> None:
    found = below(nodes(simulated(*SHARING, queued_job("big", "b", 6)).world))
    queues, cohorts = found.queues, found.cohorts

    assert (queues["b"][CPU].used, queues["b"][CPU].borrowed) == (6000, 2000)
    assert (cohorts["org"][CPU].used, cohorts["org"][CPU].borrowed) == (6000, 0)


def test_pods_groups_jobs_and_workloads_are_all_simulated() -> None:
    simulation = simulated(
        *SHARING,
        queued_job("job", "a", 1),
        queued_pod("alone", "a", 1),
        queued_pod("p1", "b", 1, "duo", 2),
        queued_pod("p2", "b", 1, "duo", 2),
        workload("given", "b", 1),
    )

    assert runs(simulation) == ["alone", "duo", "given", "job"]


def test_a_workload_in_the_input_with_its_job_is_not_queued_twice() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "1", "controller": True}
    given = workload("of-job", "a", 1)
    given["metadata"]["ownerReferences"] = [owner]

    simulation = simulated(*SHARING, queued_job("job", "a", 1), given)

    assert runs(simulation) == ["of-job"]
    assert simulation.key_of("ns/job") == simulation.key_of("ns/of-job") == "ns/of-job"


def test_an_admitted_workload_in_the_input_counts() -> None:
    held = workload("old", "a", 4)
    held["status"] = {
        "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": ""}],
        "admission": {
            "clusterQueue": "a",
            "podSetAssignments": [
                {"name": "main", "count": 1, "flavors": {"cpu": "spot"}, "resourceUsage": {"cpu": "4"}}
            ],
        },
    }

    simulation = simulated(FLAVOR, org_queue("a", 4), local("a"), held, queued_job("new", "a", 1))

    assert (runs(simulation), list(waits(simulation))) == (["old"], ["new"])


def test_a_job_with_a_higher_priority_class_goes_first() -> None:
    high = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 10}

    simulation = simulated(
        FLAVOR,
        org_queue("a", 4),
        local("a"),
        queued_job("low", "a", 4),
        queued_job("urgent", "a", 4, priority_class="high"),
        high,
    )

    assert runs(simulation) == ["urgent"]


KATA = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "kata"},
    "handler": "kata",
    "overhead": {"podFixed": {"cpu": "1"}},
}
RANGE = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "l", "namespace": "ns"},
    "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "3"}}]},
}


def in_kata(name: str, pods: int = 1) -> dict[str, Any]:
    job = queued_job(name, "a", 1, pods=pods)
    job["spec"]["template"]["spec"] = {"runtimeClassName": "kata", "containers": [{"name": "c"}]}
    return job


def test_limit_ranges_and_runtime_classes_apply_to_the_pods() -> None:
    simulation = simulated(FLAVOR, org_queue("a", 4), local("a"), in_kata("job"), KATA, RANGE)

    assert below(nodes(simulation.world)).queues["a"][CPU].used == 4000


@pytest.mark.parametrize("gone", [Ref("", "LimitRange", "ns", "l"), Ref("node.k8s.io", "RuntimeClass", "", "kata")])
def test_a_deleted_limit_range_or_runtime_class_no_longer_applies(gone: Ref) -> None:
    simulation = simulated(FLAVOR, org_queue("a", 7), local("a"), in_kata("job", pods=2), KATA, RANGE)
    assert runs(simulation) == []

    simulation.change([], [gone])
    simulation.settle()

    assert runs(simulation) == ["job"]


def test_a_deleted_job_is_unknown() -> None:
    simulation = simulated(*SHARING, queued_job("job", "a", 1))
    simulation.change([], [Ref("batch", "Job", "ns", "job")])

    with pytest.raises(UnknownWorkload):
        simulation.finish("ns/job")


def test_a_deleted_group_is_no_longer_left_out() -> None:
    simulation = simulated(*SHARING, queued_pod("p1", "a", 1, "duo", 2))
    assert [name.name for name in simulation.left_out] == ["duo"]

    simulation.change([], [Ref("", "Pod", "ns", "p1")])

    assert simulation.left_out == {}


def test_a_group_is_deleted_with_its_last_pod() -> None:
    simulation = simulated(*SHARING, *(queued_pod(name, "a", 1, "duo", 2) for name in ("p1", "p2")))
    assert runs(simulation) == ["duo"]

    for name, left in (("p1", ["duo"]), ("p2", [])):
        simulation.change([], [Ref("", "Pod", "ns", name)])
        simulation.settle()
        assert runs(simulation) == left


def test_the_same_input_gives_the_same_outcome_and_the_order_of_queues_does_not_matter() -> None:
    work = [queued_job(f"j{number}", "ab"[number % 2], 3) for number in range(6)]

    one = simulated(*SHARING, *work)

    assert one.trace == simulated(*SHARING, *work).trace
    assert one.trace == simulated(*work, *reversed(SHARING)).trace


# --- who waits


def test_structural_defects_are_reported_as_reasons_for_waiting() -> None:
    simulation = simulated(
        FLAVOR,
        cohort("x", "y"),
        cohort("y", "x"),
        org_queue("round", 4, "x"),
        local("round"),
        org_queue("bare", 4, resourceGroups=[]),
        local("bare"),
        org_queue(
            "lost", 4, resourceGroups=[{"coveredResources": ["cpu"], "flavors": [{"name": "gone", "resources": []}]}]
        ),
        local("lost"),
        local("dangling", queue="nowhere"),
        *(queued_job(f"in-{queue}", queue, 1) for queue in ("round", "bare", "lost", "dangling", "unknown")),
    )

    found = waits(simulation)

    assert "its cohorts form a cycle: x -> y -> x" in found["in-round"]
    assert "resource cpu unavailable in ClusterQueue" in found["in-bare"]
    assert "references missing ResourceFlavor(s): gone" in found["in-lost"]
    assert found["in-dangling"] == "ClusterQueue nowhere doesn't exist"
    assert found["in-unknown"] == "LocalQueue unknown doesn't exist"


def test_a_later_fix_lets_waiting_jobs_run() -> None:
    simulation = simulated(cohort("x", "x"), org_queue("a", 4, "x"), local("a"), queued_job("job", "a", 1))
    assert runs(simulation) == []

    simulation.add([cohort("x"), FLAVOR])

    assert runs(simulation) == ["job"]


def test_work_without_a_workload_is_left_out_with_a_reason() -> None:
    deployment = queued_job("web", "a", 1) | {"apiVersion": "apps/v1", "kind": "Deployment"}
    job_set = queued_job("set", "a", 1) | {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    train = queued_job("train", "a", 1) | {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"}
    simulation = simulated(
        *SHARING,
        train,
        queued_job("free", None, 1),
        queued_job("classy", "a", 1, priority_class="gone"),
        queued_pod("p1", "a", 1, "duo", 2),
        deployment,
        job_set,
    )

    found = {str(each.name): each.reason for each in simulation.left_out.values()}

    jobs = {"Job ns/free", "Job ns/classy", "TrainJob ns/train", "JobSet ns/set"}
    assert found.keys() == {*jobs, "PodGroup ns/duo", "Deployment ns/web"}
    assert "describes the kind; add its Workload to the input" in found["TrainJob ns/train"]
    assert "names no queue" in found["Job ns/free"]
    assert found["Job ns/classy"] == "WorkloadPriorityClass gone does not exist; create it or name another"
    assert found["PodGroup ns/duo"] == "Pod group duo has 1 of 2 Pods; create the others"
    assert "add the Pods to the input" in found["Deployment ns/web"]
    assert found["JobSet ns/set"] == "it has no pod template where its kind has one"


def test_a_ray_job_in_an_existing_cluster_is_left_out() -> None:
    spec = {"submissionMode": "K8sJobMode", "clusterSelector": {"ray.io/cluster": "big"}}
    ray = {**queued_job("ray", "a", 1), "apiVersion": "ray.io/v1", "kind": "RayJob", "spec": spec}
    simulation = simulated(*SHARING, ray)

    (left,) = simulation.left_out.values()
    assert left.reason == "it has spec.clusterSelector, so Kueue ignores it"


def test_work_that_was_left_out_runs_once_the_missing_objects_exist() -> None:
    simulation = simulated(
        *SHARING, queued_pod("p1", "a", 1, "duo", 2), queued_job("classy", "a", 1, priority_class="high")
    )

    high = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 10}
    simulation.add([queued_pod("p2", "a", 1, "duo", 2), high])

    assert (runs(simulation), simulation.left_out) == (["classy", "duo"], {})


def test_a_missing_namespace_is_assumed_to_have_no_labels() -> None:
    picky = org_queue("picky", 4, namespaceSelector={"matchLabels": {"team": "ml"}})

    simulation = simulated(FLAVOR, picky, local("picky"), queued_job("job", "picky", 1))

    assert waits(simulation) == {"job": "workload namespace doesn't match ClusterQueue selector"}
    assert simulation.intake.assumptions() == ["Namespace ns is not in the input; it is assumed to have no labels"]
    assert simulated(*SHARING, queued_job("job", "a", 1)).intake.assumptions() == []


# --- checks and time


CHECKED = (
    FLAVOR,
    org_queue("a", 4, admissionChecksStrategy={"admissionChecks": [{"name": "budget"}]}),
    local("a"),
    {"apiVersion": KUEUE, "kind": "AdmissionCheck", "metadata": {"name": "budget"}, "spec": {"controllerName": "x/y"}},
)


def test_admission_checks_are_assumed_to_be_ready() -> None:
    simulation = simulated(*CHECKED, queued_job("job", "a", 1))

    assert [each.admitted for each in running(simulation.world)] == [True]
    assert of(simulation, Reserved, Admitted) == [("Reserved", "job")]
    assert simulation.intake.assumptions() == [
        "AdmissionChecks are assumed to be Ready unless an event sets another state"
    ]


def test_a_workload_with_a_pending_check_has_quota_without_admission() -> None:
    simulation = simulated(*CHECKED)
    simulation.check("budget", "Pending")
    simulation.add([queued_job("job", "a", 1)])
    assert [(each.admitted, each.checks) for each in running(simulation.world)] == [(False, ("budget",))]

    simulation.check("budget", "Ready")

    assert of(simulation, Reserved, Admitted) == [("Reserved", "job"), ("Admitted", "job")]


def test_a_rejected_check_evicts_the_workload() -> None:
    simulation = simulated(*CHECKED, queued_job("job", "a", 1))
    simulation.check("budget", "Rejected")

    assert of(simulation, Evicted) == [("Evicted", "job")]
    assert 'AdmissionCheck in Rejected state: "budget"' in waits(simulation)["job"]


def test_a_job_is_stopped_after_its_maximum_execution_time() -> None:
    simulation = simulated(
        FLAVOR,
        org_queue("a", 4),
        local("a"),
        queued_job("job", "a", 4, max_exec_time_seconds="3600"),
        queued_job("next", "a", 4),
    )
    simulation.at(simulation.start + 3599 * SECOND)
    assert runs(simulation) == ["job"]

    simulation.at(simulation.start + 3601 * SECOND)

    assert runs(simulation) == ["next"]
    assert "exceeding the maximum execution time" in waits(simulation)["job"]


def test_pods_that_are_never_ready_time_out_and_are_requeued_after_a_backoff() -> None:
    settings = read_settings({"waitForPodsReady": {"timeout": "5m"}}, FeatureGates())
    simulation = simulated(FLAVOR, org_queue("a", 4), local("a"), queued_job("job", "a", 1), settings=settings)
    simulation.lose_pods("ns/job")
    simulation.at(simulation.start + 3000 * SECOND)

    evicted = [each for each in simulation.trace if isinstance(each, Evicted)]
    reserved = [each for each in simulation.trace if isinstance(each, Reserved)]

    assert [each.reason for each in evicted[:2]] == ["PodsReadyTimeout"] * 2
    assert [(each.at - simulation.start) // SECOND for each in evicted[:3]] == [300, 660, 1080]
    assert [(each.at - simulation.start) // SECOND for each in reserved[:3]] == [0, 360, 780]


def test_endless_timeouts_without_a_delay_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduling.simulation.simulation._MOST_DEADLINES", 200)
    strategy = {"backoffBaseSeconds": 0, "backoffMaxSeconds": 0}
    settings = read_settings({"waitForPodsReady": {"timeout": "1ns", "requeuingStrategy": strategy}}, FeatureGates())
    simulation = simulated(FLAVOR, org_queue("a", 4), local("a"), queued_job("job", "a", 1), settings=settings)

    simulation.lose_pods("ns/job")
    simulation.at(simulation.start + 3600 * SECOND)

    assert simulation.unsettled


def test_the_simulation_begins_at_the_latest_creation_time() -> None:
    old, new = queued_job("old", "a", 1), queued_job("new", "a", 1)
    old["metadata"]["creationTimestamp"] = "2026-03-01T00:00:00Z"
    new["metadata"]["creationTimestamp"] = "2026-03-02T00:00:00Z"

    assert times.rfc3339(begin([new, old])) == "2026-03-02T00:00:00Z"
    assert begin([queued_job("none", "a", 1)]) == START


# --- events and settings


def test_an_event_for_an_unknown_or_ambiguous_job_is_an_error() -> None:
    simulation = simulated(*SHARING, queued_job("twin", "a", 1), queued_pod("twin", "a", 1))

    with pytest.raises(UnknownWorkload, match="no workload or job is called ns/ghost"):
        simulation.finish("ns/ghost")
    with pytest.raises(UnknownWorkload, match="2 jobs are called ns/twin; name one Workload: ns/job-twin-"):
        simulation.finish("ns/twin")


def test_a_waiting_job_that_requests_less_is_admitted() -> None:
    simulation = simulated(FLAVOR, org_queue("a", 4), local("a"), queued_job("job", "a", 5))

    simulation.add([queued_job("job", "a", 4)])

    assert runs(simulation) == ["job"]


def test_a_changed_queue_takes_effect_at_once() -> None:
    simulation = simulated(
        FLAVOR, org_queue("a", 4), local("a"), queued_job("small", "a", 4), queued_job("big", "a", 8)
    )
    simulation.add([org_queue("a", 12)])
    assert runs(simulation) == ["big", "small"]

    simulation.add([org_queue("a", 12, stopPolicy="HoldAndDrain")])
    assert (runs(simulation), of(simulation, Evicted)) == ([], [("Evicted", "small"), ("Evicted", "big")])

    simulation.add([org_queue("a", 12)])
    assert runs(simulation) == ["big", "small"]


def test_older_versions_of_the_kinds_are_read() -> None:
    queue = org_queue("a", 4)
    queue["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    queue["spec"]["cohort"] = "org"
    job = workload("w", "a", 1, priorityClassName="high", priorityClassSource="kueue.x-k8s.io/workloadpriorityclass")
    job["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    high = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}}

    simulation = simulated(FLAVOR, queue, local("a"), job, {**high, "value": 7})

    assert runs(simulation) == ["w"]
    assert [each.priority for each in simulation.world.workloads.values()] == [7]
    assert simulation.world.state.tree.queues["a"].root.name == "org"


def test_the_settings_come_from_the_configuration_of_kueue() -> None:
    found = read_settings(
        {
            "fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]},
            "resources": {"quotaCheckStrategy": "IgnoreUndeclared"},
            "featureGates": {"PartialAdmission": False},
            "admissionFairSharing": {},
        },
        FeatureGates({"PartialAdmission": True, "PriorityBoost": True}),
        compat=True,
    )

    assert found.options.fair_sharing
    assert found.options.strategies == ("LessThanInitialShare",)
    assert (found.options.ignore_undeclared, found.options.partial_admission, found.options.compat) == (
        True,
        False,
        True,
    )
    assert (found.ordering.boosted, found.waiting, found.unplayed) == (
        True,
        WaitForPodsReady(),
        ("admissionFairSharing",),
    )
    excluding = read_settings({"resources": {"excludeResourcePrefixes": ["example.com/"]}}, FeatureGates())
    assert excluding.counting.excluded_prefixes == ("example.com/",)


@pytest.mark.parametrize(
    ("configuration", "at"),
    [
        ({"fairSharing": {"preemptionStrategies": ["Best"]}}, "fairSharing.preemptionStrategies"),
        ({"resources": {"quotaCheckStrategy": "Maybe"}}, "resources.quotaCheckStrategy"),
        ({"featureGates": {"PartialAdmission": "no"}}, "featureGates.PartialAdmission"),
    ],
)
def test_an_invalid_configuration_is_reported_with_its_field(configuration: dict[str, Any], at: str) -> None:
    with pytest.raises(BadConfiguration) as error:
        read_settings(configuration, FeatureGates())

    assert error.value.at == at


def test_the_old_field_of_fair_sharing_is_read() -> None:
    assert not read_settings({"fairSharing": {"enable": False}}, FeatureGates()).options.fair_sharing
    assert not read_settings({}, FeatureGates()).options.fair_sharing


def test_a_job_without_requests_runs_without_quota() -> None:
    job = queued_job("idle", "a", 1)
    job["spec"]["template"] = template(1) | {"spec": {"containers": [{"name": "c"}]}}

    assert runs(simulated(FLAVOR, org_queue("a", 0), local("a"), job)) == ["idle"]


def test_a_workload_that_waits_for_the_same_reason_is_not_written_again() -> None:
    """The end of another job lets it be tried again."""
    simulation = simulated(FLAVOR, org_queue("a", 4), local("a"), queued_job("big", "a", 9), queued_job("ends", "a", 4))
    told = waits(simulation)

    assert calls(lambda: simulation.finish("ns/ends"), of=World.put_workload) == 1, "the job that ends"

    assert {*told} == {"big"}
    assert waits(simulation) == told
