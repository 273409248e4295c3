"""Changes of queues, Cohorts and checks take effect at once: the reconciler on a real API server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from cluster.client import MERGE_PATCH, ClusterClient
from cluster.endpoint import from_kubeconfig
from cluster.errors import NotFound
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND
from scheduling.status.deadlines import release
from scheduling.status.writing import written_status
from tests.apiserver.harness import ControlPlane
from tests.apiserver.kueue_world import KUEUE, following, install, queue, workload
from tests.builders import batch_job, kueue, queued, template
from tests.waiting import eventually

NAMES = ("acts-a", "acts-b")
COHORTS = ("acts-left", "acts-right")
CHECK = "acts-check"


class Stage:
    """Two ClusterQueues with 2 cpus each in Cohorts of their own, and a reconciler."""

    def __init__(self, cluster: ClusterClient, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace

    def set_up(self) -> None:
        self.make("resourceflavors", kueue("ResourceFlavor", "plain", {}))
        for cohort, name in zip(COHORTS, NAMES, strict=True):
            self.make("cohorts", kueue("Cohort", cohort, {}))
            self.make("clusterqueues", kueue("ClusterQueue", name, queue(cohort, "2")))
            self.make(self.inside("localqueues"), kueue("LocalQueue", name, {"clusterQueue": name}))

    def tear_down(self) -> None:
        plurals = {
            "clusterqueues": NAMES,
            "cohorts": COHORTS,
            "resourceflavors": ("plain",),
            "admissionchecks": (CHECK,),
        }
        for plural, names in plurals.items():
            there = {each["metadata"]["name"] for each in self.cluster.get(f"{KUEUE}/{plural}")["items"]}
            for name in there & set(names):
                with suppress(NotFound):  # it was deleted meanwhile
                    self.cluster.delete(f"{KUEUE}/{plural}/{name}")
                    # Only now: before, a reconciler's last request could still add its finalizer again.
                    self.patch(f"{plural}/{name}", {"metadata": {"finalizers": None}})

    def inside(self, plural: str) -> str:
        return f"namespaces/{self.namespace}/{plural}"

    def make(self, path: str, manifest: dict[str, Any]) -> None:
        self.cluster.create(f"{KUEUE}/{path}", manifest)

    def patch(self, path: str, body: dict[str, Any]) -> None:
        self.cluster.patch(f"{KUEUE}/{path}", body, MERGE_PATCH)

    def set_queue(self, **spec: Any) -> None:
        """Change the first ClusterQueue and stop it meanwhile; when this returns, the reconciler knows the change."""
        path = f"clusterqueues/{NAMES[0]}"
        self.patch(path, {"spec": {**spec, "stopPolicy": "Hold"}})
        eventually(lambda: active(self, path)[1] == "Stopped")
        self.patch(path, {"spec": {"stopPolicy": "None"}})
        eventually(lambda: active(self, path)[1] == "Ready")

    def submit(self, name: str, cpu: str = "1", to: str = NAMES[0], priority: int = 0) -> None:
        """Two of the same second are ordered by uid, so a test that needs a certain head gives it a priority."""
        self.make(self.inside("workloads"), workload(name, cpu, priority, queue_name=to))

    def get(self, name: str) -> dict[str, Any]:
        return self.cluster.get(f"{KUEUE}/{self.inside('workloads')}/{name}")

    def is_(self, name: str, kind: str, status: str, reason: str) -> bool:
        conditions = self.get(name).get("status", {}).get("conditions", ())
        return (kind, status, reason) in {(each["type"], each["status"], each["reason"]) for each in conditions}

    def says(self, name: str) -> dict[str, tuple[str, str, str]]:
        """Status, reason and message of each condition."""
        conditions = self.get(name).get("status", {}).get("conditions", ())
        return {each["type"]: (each["status"], each["reason"], each["message"]) for each in conditions}

    def admitted(self, name: str) -> bool:
        return self.is_(name, "Admitted", "True", "Admitted")

    def check(self, name: str, **state: Any) -> None:
        """Write the state that the controller of the check would write."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        entry = {"name": CHECK, "message": "", "lastTransitionTime": moment, **state}
        self.patch(f"{self.inside('workloads')}/{name}/status", {"status": {"admissionChecks": [entry]}})

    def stop_job(self, name: str) -> None:
        """As its job does after the eviction."""
        manifest = self.get(name)
        status = written_status(release(read_workload(manifest), time.time_ns() // SECOND * SECOND))
        gone = {key: None for key in manifest["status"] if key not in status}
        self.patch(f"{self.inside('workloads')}/{name}/status", {"status": status | gone})


@pytest.fixture
def stage(control_plane: ControlPlane, namespace: str) -> Iterator[Stage]:
    install(control_plane)
    with ClusterClient(from_kubeconfig(None, str(control_plane.kubeconfig))) as cluster:
        stage = Stage(cluster, namespace)
        try:
            stage.set_up()
            with following(control_plane):
                yield stage
        finally:
            stage.tear_down()


def test_a_cycle_of_cohorts_stops_its_tree_until_it_is_resolved(stage: Stage) -> None:
    stage.patch("cohorts/acts-left", {"spec": {"parentName": "acts-right"}})
    stage.patch("cohorts/acts-right", {"spec": {"parentName": "acts-left"}})
    eventually(lambda: active(stage, "clusterqueues/acts-a")[0] == "False")
    stage.submit("waits")
    eventually(lambda: stage.is_("waits", "QuotaReserved", "False", "Inadmissible"))

    stage.patch("cohorts/acts-right", {"spec": {"parentName": None}})

    assert eventually(lambda: stage.admitted("waits"))


def test_a_waiting_workload_reports_a_later_cycle_of_cohorts(stage: Stage) -> None:
    stage.submit("large", "9")
    eventually(lambda: stage.is_("large", "QuotaReserved", "False", "NoFlavorFits") or stage.get("large").get("status"))

    stage.patch("cohorts/acts-left", {"spec": {"parentName": "acts-left"}})

    assert eventually(lambda: stage.is_("large", "QuotaReserved", "False", "Inadmissible"))


def test_a_waiting_workload_is_admitted_at_once_after_a_quota_increase(stage: Stage) -> None:
    stage.submit("large", "5")
    eventually(lambda: stage.get("large").get("status"))

    stage.patch("clusterqueues/acts-a", {"spec": {"resourceGroups": queue("", "6")["resourceGroups"]}})

    assert eventually(lambda: stage.admitted("large"))


def test_a_backoff_continues_after_changes_of_the_spec_and_the_quota(stage: Stage) -> None:
    stage.submit("back", "4")
    eventually(lambda: stage.is_("back", "QuotaReserved", "False", "Pending"))
    path = f"{stage.inside('workloads')}/back"
    stage.patch(f"{path}/status", {"status": {"requeueState": {"count": 1, "requeueAt": "2100-01-01T00:00:00Z"}}})
    stage.patch(path, {"spec": {"priority": 5}})
    stage.submit("next", "4")
    eventually(lambda: stage.is_("next", "QuotaReserved", "False", "Pending"))  # so it knows the backoff as well
    stage.patch("clusterqueues/acts-a", {"spec": {"resourceGroups": queue("", "6")["resourceGroups"]}})
    assert eventually(lambda: stage.admitted("next")), "the other has the priority, and there is room for one"
    assert not stage.admitted("back")


def test_a_cluster_queue_admits_at_once_after_it_moves_to_a_cohort_with_free_quota(stage: Stage) -> None:
    stage.submit("large", "4")
    eventually(lambda: stage.get("large").get("status"))

    stage.patch("clusterqueues/acts-a", {"spec": {"cohortName": "acts-right"}})

    assert eventually(lambda: stage.admitted("large"))


def test_a_workload_that_moves_to_another_queue_is_admitted_there(stage: Stage) -> None:
    stage.submit("first", "2")
    eventually(lambda: stage.admitted("first"))
    stage.submit("second", "2")
    eventually(lambda: stage.is_("second", "QuotaReserved", "False", "Pending"))

    stage.patch(f"{stage.inside('workloads')}/second", {"spec": {"queueName": "acts-b"}})

    eventually(lambda: stage.admitted("second"))
    assert stage.get("second")["status"]["admission"]["clusterQueue"] == "acts-b"


def test_hold_admits_no_new_workload_and_evicts_none(stage: Stage) -> None:
    stage.submit("runs")
    eventually(lambda: stage.admitted("runs"))
    stage.patch("clusterqueues/acts-a", {"spec": {"stopPolicy": "Hold"}})
    eventually(lambda: active(stage, "clusterqueues/acts-a")[1] == "Stopped")
    stage.submit("waits")
    eventually(lambda: stage.is_("waits", "QuotaReserved", "False", "Inadmissible"))
    assert stage.admitted("runs")

    stage.patch("clusterqueues/acts-a", {"spec": {"stopPolicy": "None"}})

    eventually(lambda: stage.admitted("waits"))


def test_hold_and_drain_evicts_workloads_until_the_queue_resumes(stage: Stage) -> None:
    stage.submit("runs")
    eventually(lambda: stage.admitted("runs"))

    stage.patch("clusterqueues/acts-a", {"spec": {"stopPolicy": "HoldAndDrain"}})
    eventually(lambda: stage.is_("runs", "Evicted", "True", "ClusterQueueStopped"))
    stage.stop_job("runs")
    stage.patch("clusterqueues/acts-a", {"spec": {"stopPolicy": "None"}})

    assert eventually(lambda: stage.admitted("runs"))


def test_a_workload_waits_for_its_admission_check_and_follows_retry_and_rejected(stage: Stage) -> None:
    stage.make("admissionchecks", kueue("AdmissionCheck", CHECK, {"controllerName": "example.dev/check"}))
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    works = {"type": "Active", "status": "True", "reason": "Works", "message": "", "lastTransitionTime": now}
    stage.patch(f"admissionchecks/{CHECK}/status", {"status": {"conditions": [works]}})
    strategy = {"admissionChecks": [{"name": CHECK}]}
    stage.set_queue(admissionChecksStrategy=strategy)
    for name in ("ready", "rejected"):
        stage.submit(name)
        eventually(lambda name=name: stage.is_(name, "QuotaReserved", "True", "QuotaReserved"))
    assert not stage.admitted("ready")

    stage.check("ready", state="Ready")
    stage.check("rejected", state="Rejected")

    eventually(lambda: stage.admitted("ready"))
    eventually(lambda: stage.get("rejected")["spec"].get("active") is False)

    stage.check("ready", state="Retry", requeueAfterSeconds=2)
    eventually(lambda: stage.is_("ready", "Evicted", "True", "AdmissionCheck"))
    stage.stop_job("ready")
    eventually(lambda: stage.is_("ready", "Requeued", "True", "BackoffFinished"))
    eventually(lambda: stage.is_("ready", "QuotaReserved", "True", "QuotaReserved"))


# --- the conditions of a Workload that waits

LACKING = (
    "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor plain, "
    "previously considered podsets requests (0) + current podset request (9) > maximum capacity (2)"
)


def test_the_head_of_a_strict_queue_reports_its_reason_and_workloads_behind_it_do_not(stage: Stage) -> None:
    stage.set_queue(queueingStrategy="StrictFIFO")
    stage.submit("large", "9", priority=1)
    eventually(lambda: stage.says("large") == {"QuotaReserved": ("False", "Pending", LACKING)})
    stage.submit("behind", "1")
    stage.submit("elsewhere", "1", to=NAMES[1])
    eventually(lambda: stage.admitted("elsewhere"))

    large = stage.get("large")
    assert large["status"]["conditions"][0]["observedGeneration"] == large["metadata"]["generation"]
    assert large["status"]["resourceRequests"] == [{"name": "main", "resources": {"cpu": "9"}}]
    assert stage.get("behind").get("status", {}) == {}

    stage.patch("clusterqueues/acts-a", {"spec": {"resourceGroups": queue("", "9")["resourceGroups"]}})
    eventually(lambda: stage.admitted("large"))
    assert "resourceRequests" not in stage.get("large")["status"]


def test_a_missing_or_stopped_local_queue_is_the_reason_until_an_attempt(stage: Stage) -> None:
    stage.submit("w", "9", to="later")
    missing = ("False", "Inadmissible", "LocalQueue later doesn't exist")
    eventually(lambda: stage.says("w") == {"QuotaReserved": missing})
    stopped = {"clusterQueue": NAMES[0], "stopPolicy": "Hold"}
    stage.make(stage.inside("localqueues"), kueue("LocalQueue", "later", stopped))
    eventually(lambda: stage.says("w")["QuotaReserved"][1:] == ("Inadmissible", "LocalQueue later is inactive"))
    stage.patch(f"{stage.inside('localqueues')}/later", {"spec": {"stopPolicy": "None"}})

    assert eventually(lambda: stage.says("w") == {"QuotaReserved": ("False", "Pending", LACKING)})


def test_every_waiting_job_is_reported_as_pending(stage: Stage) -> None:
    """The watch reports its Workload before or after the response to its creation. Each Job has other requests, so
    that each is tried.
    """
    jobs = f"/apis/batch/v1/{stage.inside('jobs')}"
    for number in range(12):
        labels = queued(NAMES[number % 2])
        made = batch_job(
            f"large-{number}", {"suspend": True, "template": template(str(9 + number))}, None, labels=labels
        )
        stage.cluster.create(jobs, made)

    def reported() -> list[tuple[str, str, str]]:
        items = stage.cluster.get(f"{KUEUE}/{stage.inside('workloads')}")["items"]
        return [stage.says(each["metadata"]["name"]).get("QuotaReserved", ("", "", "")) for each in items]

    eventually(lambda: len(reported()) == 12)
    assert eventually(lambda: {each[:2] for each in reported()} == {("False", "Pending")}, lambda: str(reported()))


def test_granular_reasons_are_reported_with_their_feature_gate(control_plane: ControlPlane, namespace: str) -> None:
    install(control_plane)
    gates = {"UnadmittedWorkloadsObservability": True, "UnadmittedWorkloadsExplicitStatus": True}
    with (
        ClusterClient(from_kubeconfig(None, str(control_plane.kubeconfig))) as cluster,
        following(control_plane, featureGates=gates),
    ):
        stage = Stage(cluster, namespace)
        stage.set_up()
        try:
            _granular(stage)
        finally:
            stage.tear_down()


def _granular(stage: Stage) -> None:
    bypassed = "Bypassed scheduling evaluation because an equivalent workload recently failed"
    waits = ("False", "NoReservation", "The workload has no reservation")
    stage.submit("large", "9")
    eventually(
        lambda: stage.says("large") == {"QuotaReserved": ("False", "ExceedsMaxQuota", LACKING), "Admitted": waits}
    )
    stage.submit("alike", "9")
    eventually(lambda: stage.says("alike").get("QuotaReserved") == ("False", "ExceedsMaxQuota", bypassed))
    stage.submit("lost", to="nowhere")
    eventually(lambda: stage.says("lost").get("QuotaReserved", ("", ""))[1] == "Misconfigured")
    stage.patch(f"{stage.inside('workloads')}/lost", {"spec": {"active": False}})
    deactivated = ("False", "Deactivated", "The workload is deactivated")
    eventually(lambda: stage.says("lost").get("QuotaReserved") == deactivated)


def test_an_inactive_cluster_queue_reports_the_first_reason_and_all_messages(stage: Stage) -> None:
    stage.make(stage.inside("localqueues"), kueue("LocalQueue", "through", {"clusterQueue": NAMES[0]}))
    groups = queue("", "2")["resourceGroups"]
    groups[0]["flavors"][0]["name"] = "acts-gone"
    checks = {"admissionChecks": [{"name": "acts-nobody"}]}
    stage.patch(
        f"clusterqueues/{NAMES[0]}",
        {"spec": {"resourceGroups": groups, "admissionChecksStrategy": checks, "stopPolicy": "Hold"}},
    )

    missing = "references missing ResourceFlavor(s): acts-gone, references missing AdmissionCheck(s): acts-nobody"
    inactive = ("False", "Stopped", f"Can't admit new workloads: is stopped, {missing}.")
    eventually(lambda: active(stage, f"clusterqueues/{NAMES[0]}") == inactive)
    through = ("False", "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue")
    assert eventually(lambda: active(stage, f"{stage.inside('localqueues')}/through") == through)


def active(stage: Stage, path: str) -> tuple[str, str, str]:
    found = stage.cluster.get(f"{KUEUE}/{path}").get("status", {}).get("conditions", ())
    return next(((each["status"], each["reason"], each["message"]) for each in found), ("", "", ""))


def put(stage: Stage, name: str, pods: dict[str, Any], spec: dict[str, Any], **whole: Any) -> None:
    """A Workload of 1 cpu with these fields in its pod set, in the spec of its Pods, and in its own spec."""
    made = workload(name, "1", whole.pop("priority", 0), queue_name=NAMES[0])
    (pod_set,) = made["spec"]["podSets"]
    inner = pod_set["template"]["spec"] | spec
    made["spec"] |= {**whole, "podSets": [{**pod_set, **pods, "template": {"spec": inner}}]}
    stage.make(stage.inside("workloads"), made)


def test_requests_above_limits_are_invalid_for_containers_and_for_the_pod(stage: Stage) -> None:
    too_much = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    put(stage, "container", {}, {"containers": [{"name": "c", "image": "i", "resources": too_much}]})
    put(stage, "pod", {}, {"resources": too_much})
    put(stage, "sound", {}, {})

    eventually(lambda: stage.admitted("sound"))
    for name in ("container", "pod"):
        status, reason, message = eventually(lambda name=name: stage.says(name).get("QuotaReserved"))
        assert (status, reason) == ("False", "Pending")
        assert message.startswith("resources validation failed: "), message


def test_a_closed_preemption_gate_is_ignored_without_its_feature_gate(stage: Stage) -> None:
    preempts = {"queueingStrategy": "StrictFIFO", "preemption": {"withinClusterQueue": "LowerPriority"}}
    stage.patch(f"clusterqueues/{NAMES[0]}", {"spec": preempts})
    stage.submit("runs", "2")
    eventually(lambda: stage.admitted("runs"))
    put(stage, "urgent", {}, {}, priority=1, preemptionGates=[{"name": "kueue.x-k8s.io/multikueue"}])

    eventually(lambda: stage.is_("runs", "Preempted", "True", "InClusterQueue"))
    stage.stop_job("runs")
    eventually(lambda: stage.admitted("urgent"))
    assert "BlockedOnPreemptionGates" not in stage.says("urgent")


def test_a_workload_with_an_unsupported_topology_or_uncounted_claim_is_pending(stage: Stage) -> None:
    """A podIndexLabel alone is not a topology request: Kueue writes it for every Job."""
    put(stage, "placed", {"topologyRequest": {"required": "rack"}}, {})
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    put(stage, "claims", {}, {"resourceClaims": claims})
    put(stage, "numbered", {"topologyRequest": {"podIndexLabel": "batch.kubernetes.io/job-completion-index"}}, {})

    eventually(lambda: stage.admitted("numbered"))
    for name, expected, why in (
        ("placed", "Pending", "does not support TopologyAwareScheduling"),
        ("claims", "Inadmissible", "claims devices by a ResourceClaimTemplate"),
    ):
        status, reason, message = eventually(lambda name=name: stage.says(name).get("QuotaReserved"))
        assert (status, reason) == ("False", expected)
        assert why in message


def test_a_deleted_cluster_queue_is_removed_without_waiting_for_its_next_status_write(
    control_plane: ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pause between two writes of a status is set to an hour, longer than the test."""
    monkeypatch.setattr("reconciler.controllers.status.PERIOD", 3600 * SECOND)
    install(control_plane)
    with ClusterClient(from_kubeconfig(None, str(control_plane.kubeconfig))) as cluster, following(control_plane):
        stage = Stage(cluster, namespace)
        stage.set_up()
        try:
            eventually(lambda: active(stage, f"clusterqueues/{NAMES[1]}")[1] == "Ready")
            cluster.delete(f"{KUEUE}/clusterqueues/{NAMES[1]}")
            left = f"{KUEUE}/clusterqueues"
            assert eventually(lambda: NAMES[1] not in {each["metadata"]["name"] for each in cluster.get(left)["items"]})
        finally:
            stage.tear_down()
