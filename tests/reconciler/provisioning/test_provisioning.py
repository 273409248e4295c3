"""AdmissionChecks that ask an autoscaler for new nodes, from the reservation of quota to the start of pods.

Source: Kueue v0.19, pkg/controller/admissionchecks/provisioning.
"""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.controllers import provisioning
from reconciler.controllers.provisioning import ProvisioningController
from scheduling.objects.times import SECOND
from tests import builders
from tests.copies import copied
from tests.reconciler.failing import backoffs_end, fail_for_bad, internal_errors
from tests.reconciler.provisioning.autoscaled import CLASS, REQUEST, TEMPLATE, Autoscaled, check, config, queue


@pytest.fixture
def world() -> Autoscaled:
    made = Autoscaled()
    made.put(("ProvisioningRequestConfig", "new-nodes"), config())
    made.rounds(5)
    return made


# --- the check


def test_the_check_is_active_if_its_config_exists(world: Autoscaled) -> None:
    assert world.active() == ("True", "Active", "The admission check is active")
    world.drop(("ProvisioningRequestConfig", "new-nodes"))
    world.rounds(5)
    missing = 'ProvisioningRequestConfig.kueue.x-k8s.io "new-nodes" not found'
    assert world.active() == ("False", "BadParametersRef", missing)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"apiGroup": "a.b"}, 'wrong group "a.b", expecting "kueue.x-k8s.io": bad parameters reference'),
        (
            {"kind": "MultiKueueConfig"},
            'wrong kind "MultiKueueConfig", expecting "ProvisioningRequestConfig": bad parameters reference',
        ),
    ],
)
def test_a_check_with_a_wrong_reference_reports_it(world: Autoscaled, parameters: dict[str, str], said: str) -> None:
    world.put(("AdmissionCheck", "nodes"), check(**parameters))
    world.rounds(5)
    assert world.active() == ("False", "BadParametersRef", said)


def test_checks_of_other_controllers_are_ignored() -> None:
    world = Autoscaled()
    world.put(("AdmissionCheck", "nodes"), builders.kueue("AdmissionCheck", "nodes", {"controllerName": "a.b/c"}))
    world.writes.clear()
    world.rounds(5)
    assert [key for key, action in world.writes if getattr(action, "subresource", None) == "status"] == []


# --- the objects


def test_a_request_has_the_admitted_pod_sets(world: Autoscaled) -> None:
    world.submit(parallelism=2, completions=2)
    name = f"{world.name}-nodes-1"

    request = world.request()
    assert request["spec"] == {
        "provisioningClassName": CLASS,
        "podSets": [{"podTemplateRef": {"name": f"ppt-{name}-main"}, "count": 2}],
    }
    assert request["metadata"]["labels"] == {"kueue.x-k8s.io/managed": "true"}
    (owner,) = request["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Workload", world.name, True)

    template = world.objects[TEMPLATE, f"ns/ppt-{name}-main"]
    assert template["metadata"]["labels"] == {"kueue.x-k8s.io/managed": "true"}
    assert template["template"]["spec"]["nodeSelector"] == {"pool": "new"}
    (owner,) = template["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == (REQUEST, name)
    assert ("Normal", "ProvisioningRequestCreated", "Workload", f'Created ProvisioningRequest: "{name}"') in (
        world.events
    )
    assert world.state() == ("Pending", "")


def test_templates_are_created_first_and_owned_by_the_request_later(world: Autoscaled) -> None:
    world.submit()
    first = [action for key, action in world.writes if key[0] in (TEMPLATE, REQUEST)]
    kinds = [type(action).__name__ + " " + action.resource.plural for action in first]  # type: ignore[union-attr]
    assert kinds == ["Create podtemplates", "Create provisioningrequests", "Patch podtemplates"]


def test_parameters_of_the_config_and_of_the_workload_are_joined(world: Autoscaled) -> None:
    world.put(("ProvisioningRequestConfig", "new-nodes"), config(parameters={"a": "config", "b": "config"}))
    made = builders.workload("alone", "q0", "1")
    made["metadata"]["annotations"] = {"provreq.kueue.x-k8s.io/b": "workload"}
    made["metadata"]["uid"] = "uid-ns/alone"
    world.put(("Workload", "ns/alone"), made)
    world.rounds(15)
    assert world.request()["spec"]["parameters"] == {"a": "config", "b": "workload"}


def test_no_request_is_created_before_quota_is_reserved(world: Autoscaled) -> None:
    world.submit(parallelism=4, completions=4)
    assert world.all(REQUEST) == []
    assert world.all(TEMPLATE) == []


def test_pods_without_managed_resources_need_no_request(world: Autoscaled) -> None:
    world.put(("ProvisioningRequestConfig", "new-nodes"), config(managedResources=["example.com/gpu"]))
    world.submit()
    assert world.state() == ("Ready", "the provisioning request is not needed")
    assert world.all(REQUEST) == []
    assert world.condition("Admitted") == ("True", "Admitted")


def test_a_check_without_its_config_waits_until_it_is_created() -> None:
    world = Autoscaled()
    world.put(("ProvisioningRequestConfig", "new-nodes"), config())
    world.rounds(5)
    world.submit()
    world.drop(("ProvisioningRequestConfig", "new-nodes"))
    world.rounds(10)
    assert world.state() == ("Pending", "the check is not active")

    world.put(("ProvisioningRequestConfig", "new-nodes"), config())
    world.rounds(10)
    world.say("Provisioned", message="here they are")
    assert world.state() == ("Ready", "here they are")


@pytest.mark.parametrize("edited", [False, True])
def test_a_deleted_or_edited_config_leaves_running_work_and_its_request_alone(world: Autoscaled, edited: bool) -> None:
    world.submit()
    world.say("Provisioned")
    before = world.request()["metadata"]["uid"]
    if edited:
        world.put(("ProvisioningRequestConfig", "new-nodes"), config(provisioningClassName="check-capacity"))
    else:
        world.drop(("ProvisioningRequestConfig", "new-nodes"))
    world.rounds(20)
    assert world.condition("Admitted") == ("True", "Admitted")
    assert world.request()["metadata"]["uid"] == before


def test_a_deleted_config_deletes_requests_and_a_new_one_creates_them_again(world: Autoscaled) -> None:
    world.submit()
    world.drop(("ProvisioningRequestConfig", "new-nodes"))
    world.rounds(20)
    assert (world.all(REQUEST), world.all(TEMPLATE)) == ([], [])
    assert world.state() == ("Pending", "the check is not active")
    world.put(("ProvisioningRequestConfig", "new-nodes"), config())
    world.rounds(20)
    assert world.all(REQUEST) == [f"{world.name}-nodes-1"]


def test_a_request_of_another_class_is_replaced(world: Autoscaled) -> None:
    world.submit()
    before = world.request()["metadata"]["uid"]
    world.put(("ProvisioningRequestConfig", "new-nodes"), config(provisioningClassName="check-capacity"))
    world.rounds(20)
    assert world.request()["spec"]["provisioningClassName"] == "check-capacity"
    assert world.request()["metadata"]["uid"] != before
    assert world.all(TEMPLATE) == [f"ppt-{world.name}-nodes-1-main"]


def test_a_request_is_replaced_without_garbage_collection_of_its_templates() -> None:
    world = Autoscaled(collects=False)
    world.put(("ProvisioningRequestConfig", "new-nodes"), config())
    world.rounds(5)
    world.submit()
    world.put(("ProvisioningRequestConfig", "new-nodes"), config(parameters={"a": "b"}))
    world.rounds(20)
    request, template = world.request(), world.objects[TEMPLATE, f"ns/ppt-{world.name}-nodes-1-main"]
    assert request["spec"]["parameters"] == {"a": "b"}
    assert template["metadata"]["ownerReferences"][0]["uid"] == request["metadata"]["uid"]


def test_a_request_of_another_owner_is_ignored_and_reported(world: Autoscaled) -> None:
    world.put(("AdmissionCheck", "nodes"), check(name="later"))
    world.submit()
    name = f"{world.name}-nodes-1"
    provisioned = {"type": "Provisioned", "status": "True"}
    stranger = {"metadata": {"name": name, "namespace": "ns", "uid": "s"}, "status": {"conditions": [provisioned]}}
    world.put((REQUEST, f"ns/{name}"), stranger)
    world.put(("AdmissionCheck", "nodes"), check())
    world.rounds(20)
    assert world.state() == ("Pending", f'ProvisioningRequest "{name}" exists and belongs to another object')
    assert [each[1] for each in world.events].count("FailedCreate") == 1

    world.drop((REQUEST, f"ns/{name}"))
    world.rounds(20)
    assert world.request()["metadata"]["uid"] != "s"
    assert world.state() == ("Pending", "")


def test_a_refused_request_is_reported_and_tried_again(world: Autoscaled) -> None:
    world.refused = {REQUEST}
    world.submit()
    reported = [each for each in world.events if each[1] == "FailedCreate"]
    assert reported
    assert "a policy says no" in reported[0][3]
    assert len(world.of(REQUEST)) < 5

    world.refused = set()
    world.rounds(20, apart=SECOND)
    assert world.all(REQUEST) == [f"{world.name}-nodes-1"]


# --- what comes of a request


def test_provisioned_nodes_admit_the_job_with_their_node_selector(world: Autoscaled) -> None:
    selectors = [
        {"key": "example.com/group", "valueFromProvisioningClassDetail": "Group"},
        {"key": "example.com/none", "valueFromProvisioningClassDetail": "Missing"},
    ]
    world.put(("ProvisioningRequestConfig", "new-nodes"), config(podSetUpdates={"nodeSelector": selectors}))
    world.submit()
    world.say("Accepted")
    world.say("Provisioned", message="done", provisioningClassDetails={"Group": "pool-7"})
    name = f"{world.name}-nodes-1"
    wanted = {
        "autoscaling.x-k8s.io/consume-provisioning-request": name,
        "autoscaling.x-k8s.io/provisioning-class-name": CLASS,
    }
    assert world.state() == ("Ready", "done")
    assert world.entry()["podSetUpdates"] == [
        {"name": "main", "annotations": wanted, "nodeSelector": {"example.com/group": "pool-7"}}
    ]
    template = world.objects["Job", "ns/train"]["spec"]["template"]
    assert world.objects["Job", "ns/train"]["spec"]["suspend"] is False
    assert wanted.items() <= template["metadata"]["annotations"].items()
    assert template["spec"]["nodeSelector"] == {"pool": "new", "example.com/group": "pool-7"}


def test_the_expected_time_of_provisioning_is_shown(world: Autoscaled) -> None:
    world.submit()
    world.say("Provisioned", "False", "in 20 minutes")
    assert world.state() == ("Pending", "")
    world.say("Accepted")
    assert world.state() == ("Pending", "in 20 minutes")
    world.say("Provisioned", "False", "in 10 minutes")
    assert world.state() == ("Pending", "in 10 minutes")


def test_each_change_of_the_check_state_is_an_event(world: Autoscaled) -> None:
    world.submit()
    world.say("Provisioned", message="done")
    message = "Admission check nodes updated state from Pending to Ready with message: done"
    assert ("Normal", "AdmissionCheckUpdated", "Workload", message) in world.events


@pytest.mark.parametrize(("kind", "what"), [("Failed", "failure"), ("BookingExpired", "booking expired")])
def test_a_failed_request_is_retried_later_with_the_next_number(world: Autoscaled, kind: str, what: str) -> None:
    world.submit()
    retried = len(world.of("Workload"))
    world.say(kind, message="no stock")
    assert world.all(REQUEST) == []
    assert world.all(TEMPLATE) == []
    entry = world.entry()
    assert (entry["state"], entry["retryCount"], entry["requeueAfterSeconds"]) == ("Pending", 1, 60)
    reported = (
        f"Admission check nodes updated state from Pending to Retry with message: Retrying after {what}: no stock"
    )
    assert reported in [each[3] for each in world.events]
    assert world.condition("Evicted") == ("True", "AdmissionCheck")
    assert world.condition("QuotaReserved") is not None
    assert world.condition("QuotaReserved")[0] == "False"  # type: ignore[index]
    assert len(world.of("Workload")) > retried

    world.rounds(70, apart=SECOND)
    assert world.all(REQUEST) == [f"{world.name}-nodes-2"]
    world.say("Provisioned", attempt=2)
    assert world.state()[0] == "Ready"


def test_each_wait_doubles_up_to_the_maximum(world: Autoscaled) -> None:
    world.put(
        ("ProvisioningRequestConfig", "new-nodes"),
        config(retryStrategy={"backoffLimitCount": 3, "backoffBaseSeconds": 10, "backoffMaxSeconds": 25}),
    )
    world.submit()
    waits = []
    for attempt in (1, 2, 3):
        world.say("Failed", attempt=attempt)
        waits.append(world.entry()["requeueAfterSeconds"])
        world.rounds(40, apart=SECOND)
    assert waits == [10, 20, 25]
    world.say("Failed", message="still no stock", attempt=4)
    assert world.workload["spec"]["active"] is False
    assert world.condition("Evicted") == ("True", "DeactivatedDueToAdmissionCheck")
    assert world.all(REQUEST) == []
    reported = "Admission check nodes updated state from Pending to Rejected with message: still no stock"
    assert reported in [each[3] for each in world.events]


def test_without_retries_the_first_failure_rejects_the_workload(world: Autoscaled) -> None:
    world.put(("ProvisioningRequestConfig", "new-nodes"), config(retryStrategy={"backoffLimitCount": 0}))
    world.submit()
    world.say("Failed", message="no stock")
    assert world.workload["spec"]["active"] is False


def test_an_expired_booking_does_not_stop_running_work(world: Autoscaled) -> None:
    world.submit()
    world.say("Provisioned")
    world.say("BookingExpired")
    assert world.state()[0] == "Ready"
    assert world.condition("Admitted") == ("True", "Admitted")


def test_revoked_capacity_deactivates_running_work(world: Autoscaled) -> None:
    world.submit()
    world.say("Provisioned")
    world.say("CapacityRevoked", message="the nodes are gone")
    assert world.workload["spec"]["active"] is False
    assert world.objects["Job", "ns/train"]["spec"]["suspend"] is True
    assert world.condition("Evicted") == ("True", "DeactivatedDueToAdmissionCheck")


def test_failed_wins_over_other_conditions(world: Autoscaled) -> None:
    world.submit()
    request = world.request()
    both = [{"type": kind, "status": "True", "message": kind} for kind in ("Provisioned", "CapacityRevoked", "Failed")]
    world.put((REQUEST, f"ns/{request['metadata']['name']}"), {**request, "status": {"conditions": both}})
    world.rounds(15)
    assert world.entry()["retryCount"] == 1


def test_running_work_keeps_running_without_its_request(world: Autoscaled) -> None:
    world.submit()
    world.say("Provisioned")
    world.drop((REQUEST, f"ns/{world.name}-nodes-1"))
    world.rounds(20)
    assert world.all(REQUEST) == []
    assert world.condition("Admitted") == ("True", "Admitted")


def test_an_evicted_workload_requests_nodes_again_from_the_first_attempt(world: Autoscaled) -> None:
    world.submit()
    world.say("Provisioned")
    first = world.request()["metadata"]["uid"]
    world.put(
        ("ClusterQueue", "q0"), {**queue("nodes"), "spec": {**queue("nodes")["spec"], "stopPolicy": "HoldAndDrain"}}
    )
    world.rounds(20)
    assert world.all(REQUEST) == []
    world.put(("ClusterQueue", "q0"), queue("nodes"))
    world.rounds(20)
    assert world.request()["metadata"]["uid"] != first
    assert world.state() == ("Pending", "")


def test_a_deleted_request_that_the_watch_still_shows_does_not_admit_work(world: Autoscaled) -> None:
    """The request of the previous reservation is Provisioned, and its nodes are used by other work by now."""
    world.submit()
    world.say("Provisioned")
    world.put(
        ("ClusterQueue", "q0"), {**queue("nodes"), "spec": {**queue("nodes")["spec"], "stopPolicy": "HoldAndDrain"}}
    )
    unheard = world.drop
    world.drop = world.drop_unheard  # type: ignore[method-assign]
    world.rounds(20)
    world.drop = unheard  # type: ignore[method-assign]
    world.put(("ClusterQueue", "q0"), queue("nodes"))
    world.rounds(20)
    assert world.condition("QuotaReserved") == ("True", "QuotaReserved")
    assert world.state()[0] == "Pending"


def test_a_workload_requeued_at_once_requests_nodes_again(world: Autoscaled) -> None:
    world.put(("ProvisioningRequestConfig", "new-nodes"), config(retryStrategy={"backoffBaseSeconds": 0}))
    world.submit()
    world.say("Failed")
    assert world.all(REQUEST) == [f"{world.name}-nodes-2"]


@pytest.mark.parametrize("plays", ["before a restart", "while it runs"])
def test_a_request_of_an_earlier_reservation_does_not_admit_work(world: Autoscaled, plays: str) -> None:
    """It was evicted and got quota again between two observations."""
    world.submit()
    old = world.request()
    done = {"type": "Provisioned", "status": "True", "reason": "", "message": "", "lastTransitionTime": None}
    workload = world.workload
    stats = {"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]}
    after = {**workload, "status": {**workload["status"], "schedulingStats": stats}}
    new = Autoscaled() if plays == "before a restart" else world
    for key, manifest in world.objects.items():
        new.put(key, manifest)
    new.put(("Workload", f"ns/{world.name}"), after)
    new.put((REQUEST, f"ns/{old['metadata']['name']}"), {**old, "status": {"conditions": [done]}})
    new.rounds(20)
    assert new.state() == ("Pending", "")
    assert new.request()["metadata"]["annotations"] == {"quotree.dev/evictions": "1"}
    assert new.request()["metadata"]["uid"] != old["metadata"]["uid"]


def test_a_request_created_by_kueue_counts_and_is_deleted_with_the_eviction(world: Autoscaled) -> None:
    world.submit()
    request = world.request()
    del request["metadata"]["annotations"]
    world.put((REQUEST, f"ns/{request['metadata']['name']}"), {**request, "metadata": {**request["metadata"]}})
    world.say("Provisioned")
    assert world.state()[0] == "Ready"
    world.say("CapacityRevoked")
    assert world.all(REQUEST) == []


@pytest.mark.parametrize("cleanup", [True, False])
def test_requests_are_deleted_with_the_eviction_or_at_the_end(cleanup: bool) -> None:
    world = Autoscaled(cleanup=cleanup)
    world.put(("ProvisioningRequestConfig", "new-nodes"), config())
    world.rounds(5)
    world.submit()
    name = f"{world.name}-nodes-1"
    world.say("Failed")
    assert world.all(REQUEST) == ([] if cleanup else [name])
    world.rounds(70, apart=SECOND)
    second = f"{world.name}-nodes-2"
    assert world.all(REQUEST) == ([second] if cleanup else [name, second])
    world.say("Provisioned", attempt=2)
    done: dict[str, Any] = {"conditions": [{"type": "Complete", "status": "True"}]}
    world.put(("Job", "ns/train"), {**world.objects["Job", "ns/train"], "status": done})
    world.rounds(20)
    assert world.condition("Finished") is not None
    assert world.all(REQUEST) == []


def test_a_removed_check_deletes_its_request(world: Autoscaled) -> None:
    world.submit()
    assert len(world.all(REQUEST)) == 1
    world.put(("ClusterQueue", "q0"), queue())
    world.rounds(20)
    assert world.condition("Admitted") == ("True", "Admitted")
    assert world.all(REQUEST) == []


# --- concurrent changes


def test_a_new_process_continues_with_the_existing_request(world: Autoscaled) -> None:
    world.submit()
    world.say("Accepted")
    other = Autoscaled()
    for key, manifest in world.objects.items():
        other.put(key, manifest)
    other.writes.clear()
    other.rounds(10)
    assert other.of(REQUEST, TEMPLATE) == []
    other.say("Provisioned")
    assert other.state()[0] == "Ready"


def test_a_new_process_creates_the_request_for_an_existing_template(
    world: Autoscaled,
) -> None:
    world.refused = {REQUEST}
    world.submit()
    other = Autoscaled()
    for key, manifest in world.objects.items():
        other.put(key, manifest)
    other.rounds(15)
    assert other.all(REQUEST) == [f"{other.name}-nodes-1"]
    (template,) = other.all(TEMPLATE)
    assert other.objects[TEMPLATE, f"ns/{template}"]["metadata"]["ownerReferences"][0]["kind"] == REQUEST


def test_requests_and_templates_are_not_written_repeatedly(world: Autoscaled) -> None:
    world.submit()
    world.rounds(3, apart=SECOND)
    world.writes.clear()
    world.rounds(30, apart=SECOND)
    assert world.of(REQUEST, TEMPLATE, "Workload", "AdmissionCheck") == []


@pytest.mark.parametrize("managed", [True, False], ids=["with a request", "that needs none"])
def test_a_deleted_workload_is_not_kept(managed: bool) -> None:
    world = Autoscaled()
    spec = {} if managed else {"managedResources": ["example.com/gpu"]}
    world.put(("ProvisioningRequestConfig", "new-nodes"), config(**spec))
    world.submit()
    assert world.all(REQUEST) == ([f"{world.name}-nodes-1"] if managed else [])
    world.drop(("Job", "ns/train"))
    world.rounds(5)

    assert world.all("Workload") == []
    controller = next(each for each in world.loop.core.controllers if isinstance(each, ProvisioningController))
    assert not any(vars(controller._waiting).values())


def test_a_workload_with_a_wrong_admission_gets_no_request_and_a_message(world: Autoscaled) -> None:
    world.refused = {TEMPLATE}
    world.submit()
    odd = copied(world.workload)
    odd["status"]["admission"]["podSetAssignments"][0]["name"] = "another"
    world.refused = set()
    world.put(("Workload", f"ns/{world.name}"), odd)
    world.rounds(15, apart=SECOND)

    assert world.all(REQUEST) == []
    assert "no quota is assigned to pod set main" in world.state()[1]


def test_a_workload_that_fails_does_not_block_other_requests(
    world: Autoscaled, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_for_bad(monkeypatch, provisioning, "ProvisioningCase")
    for name in ("bad", "good"):
        world.submit(name)

    assert [each[:8] for each in world.all(REQUEST)] == ["job-good"]
    assert internal_errors(world) == 1
    monkeypatch.undo()
    backoffs_end(world)
    assert [each[:8] for each in world.all(REQUEST)] == ["job-bad-", "job-good"]
