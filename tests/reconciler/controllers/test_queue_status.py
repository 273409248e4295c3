"""Statuses of queues and Cohorts, field by field."""

from __future__ import annotations

from typing import Any

from reconciler.controllers.local_usage import remember, sample
from reconciler.controllers.queue_status import (
    RESOURCES,
    change,
    status_of_cluster_queue,
    status_of_cohort,
    status_of_local_queue,
)
from reconciler.objects.stored import Stored, read_stored
from scheduling.objects.queue_settings import CohortSettings, LocalQueueSettings
from scheduling.objects.times import SECOND, rfc3339
from scheduling.quota.state import Options
from scheduling.quota.touched import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE
from tests.reconciler.two_queues import MINUTE, NOW, fading, running, world
from tests.scheduling.manifests import pod_set, workload


def reported(status: dict[str, Any], kind: str = "Active") -> tuple[str, str]:
    (found,) = [each for each in status["conditions"] if each["type"] == kind]
    return found["status"], found["reason"]


def test_a_cluster_queue_status_has_reserved_admitted_borrowed_and_pending() -> None:
    made = world()
    made.put_workload(running("a", "1"), NOW)
    made.put_workload(running("b", "2", admitted=False), NOW)
    made.put_workload(workload(pod_set(gpu="1"), name="c", uid="c", spec={"queueName": "q"}), NOW)

    assert status_of_cluster_queue(made, "q", Stored(generation=4), NOW) == {
        "conditions": [
            {
                "type": "Active",
                "status": "True",
                "reason": "Ready",
                "message": "Can admit new workloads",
                "lastTransitionTime": rfc3339(NOW),
                "observedGeneration": 4,
            }
        ],
        "flavorsReservation": [{"name": "spot", "resources": [{"name": "gpu", "total": "3", "borrowed": "1"}]}],
        "flavorsUsage": [{"name": "spot", "resources": [{"name": "gpu", "total": "1", "borrowed": "0"}]}],
        "pendingWorkloads": 1,
        "reservingWorkloads": 2,
        "admittedWorkloads": 1,
    }


def test_status_has_weighted_shares_with_fair_sharing() -> None:
    made = world(Options(fair_sharing=True))
    made.put_workload(running(gpu="3"), NOW)
    assert status_of_cluster_queue(made, "q")["fairSharing"] == {"weightedShare": 250}
    assert status_of_cohort(made, "c")["fairSharing"] == {"weightedShare": 0}


def test_a_local_queue_status_has_only_its_own_usage() -> None:
    made = world()
    made.put_local_queue(LocalQueueSettings("ns", "other", "q"), NOW)
    made.put_workload(running(), NOW)
    assert status_of_local_queue(made, "ns/q", now=NOW)["flavorsUsage"] == [
        {"name": "spot", "resources": [{"name": "gpu", "total": "3"}]}
    ]
    assert status_of_local_queue(made, "ns/other", now=NOW)["admittedWorkloads"] == 0


def test_a_local_queue_reports_why_it_is_not_active() -> None:
    made = world()
    status = status_of_local_queue(made, "ns/q")
    assert reported(status) == ("True", "Ready")
    assert status["conditions"][0]["message"] == "Can submit new workloads to localQueue"
    made.drop_flavor("spot")
    status = status_of_local_queue(made, "ns/q")
    assert reported(status) == ("False", "ClusterQueueIsInactive")
    assert status["conditions"][0]["message"] == "Can't submit new workloads to clusterQueue"
    made.drop_queue("q", NOW)
    assert reported(status_of_local_queue(made, "ns/q")) == ("False", "ClusterQueueDoesNotExist")
    made.put_local_queue(LocalQueueSettings("ns", "q", "q", stop_policy="Hold"), NOW)
    status = status_of_local_queue(made, "ns/q")
    assert reported(status) == ("False", "Stopped")
    assert status["conditions"][0]["message"] == "LocalQueue is stopped"


def test_a_cohort_status_has_usage_and_borrowing_of_its_subtree() -> None:
    made = world()
    made.put_cohort(CohortSettings("top", None, {}), NOW)
    made.put_workload(running(gpu="5"), NOW)
    status = status_of_cohort(made, "c", Stored(), NOW)
    assert status["flavorsReservation"] == [
        {"name": "spot", "resources": [{"name": "gpu", "total": "5", "borrowed": "1"}]}
    ]
    assert reported(status, "CohortActive") == ("True", "Ready")
    assert status_of_cohort(made, "c", Stored(), NOW, own_schema=False) == {}


def test_nodes_on_and_below_a_cycle_are_not_active() -> None:
    made = world()
    made.put_cohort(CohortSettings("top", "c", {}), NOW)
    assert reported(status_of_cluster_queue(made, "q")) == ("False", "CohortCycleDetected")
    for name in ("c", "top"):
        assert reported(status_of_cohort(made, name), "CohortActive") == ("False", "CohortCycleDetected")
    assert "c -> top -> c" in status_of_cohort(made, "c")["conditions"][0]["message"]


def test_a_condition_keeps_its_transition_time_and_other_conditions_are_kept() -> None:
    other = {"type": "MultiKueueManagerQuotaAutomation", "status": "True"}
    old = {"type": "Active", "status": "False", "reason": "Stopped", "message": "m", "lastTransitionTime": "then"}
    made = world()
    made.drop_flavor("spot")
    still, active = (
        status_of_cluster_queue(each, "q", Stored(status={"conditions": [old, other]}), NOW)["conditions"]
        for each in (made, world())
    )
    assert still[1] == active[1] == other
    assert (still[0]["lastTransitionTime"], still[0]["reason"]) == ("then", "FlavorNotFound")
    assert active[0]["lastTransitionTime"] == rfc3339(NOW)


def test_a_status_patch_has_changed_fields_and_removes_obsolete_ones() -> None:
    made = world()
    before = status_of_cluster_queue(made, "q", Stored(), NOW)
    stored = Stored("7", status={**before, "pendingWorkloads": 5, "fairSharing": {"weightedShare": 3}})
    patch = change(made, (CLUSTER_QUEUE, "q"), stored, NOW)
    assert patch is not None
    assert (patch.name, patch.resource_version, patch.subresource) == ("q", "7", "status")
    assert patch.body == {"status": {"pendingWorkloads": 0, "fairSharing": None}}


def test_a_deleted_object_or_an_unchanged_status_is_not_written() -> None:
    made = world()
    stored = Stored("7", status=status_of_cluster_queue(made, "q", Stored(), NOW))
    assert change(made, (CLUSTER_QUEUE, "q"), stored, NOW + SECOND) is None
    for unknown in ((CLUSTER_QUEUE, "x"), (LOCAL_QUEUE, "ns/x"), (COHORT, "x"), ("Job", "x")):
        assert change(made, unknown, stored, NOW) is None
    assert change(made, (CLUSTER_QUEUE, "q"), None, NOW) is None


def test_an_admission_touches_only_its_queues_and_ancestors() -> None:
    made = world()
    made.put_cohort(CohortSettings("top", None, {}), NOW)
    made.take_touched()
    made.put_workload(running(), NOW)
    assert sorted(made.take_touched()) == [
        (CLUSTER_QUEUE, "q"),
        (COHORT, "c"),
        (COHORT, "top"),
        (LOCAL_QUEUE, "ns/q"),
    ]


def test_a_local_queue_is_patched_in_its_namespace() -> None:
    patch = change(world(), (LOCAL_QUEUE, "ns/q"), Stored("7"), NOW)
    assert patch is not None
    assert (patch.namespace, patch.name, patch.resource) == ("ns", "q", RESOURCES[LOCAL_QUEUE])


# -- admission fair sharing


def test_usage_is_sampled_on_time_and_continues_from_the_stored_status() -> None:
    made = world(consumption=fading())
    made.put_workload(running(gpu="3"), NOW)
    assert sample(made, "ns/q", NOW) == 5 * MINUTE
    assert sample(made, "ns/q", NOW + 10 * MINUTE) == 5 * MINUTE
    status = status_of_local_queue(made, "ns/q", now=NOW)
    assert status["fairSharing"] == {
        "weightedShare": 0,
        "admissionFairSharingStatus": {
            "consumedResources": {"gpu": "1500m"},
            "lastUpdate": rfc3339(NOW + 10 * MINUTE),
        },
    }

    again = world(consumption=fading())
    remember(again, "ns/q", status)
    assert sample(again, "ns/q", NOW + 12 * MINUTE) == 3 * MINUTE
    assert status_of_local_queue(again, "ns/q", now=NOW)["fairSharing"] == status["fairSharing"]


def test_a_stored_status_does_not_replace_a_later_sample() -> None:
    made = world(consumption=fading())
    sample(made, "ns/q", NOW)
    shown = status_of_local_queue(made, "ns/q")["fairSharing"]
    reported = {"consumedResources": {"gpu": "no"}, "lastUpdate": rfc3339(NOW - MINUTE)}
    remember(made, "ns/q", {"fairSharing": {"admissionFairSharingStatus": reported}})
    assert status_of_local_queue(made, "ns/q")["fairSharing"] == shown


def test_a_recreated_local_queue_starts_without_usage() -> None:
    made = world(consumption=fading())
    sample(made, "ns/q", NOW)
    made.drop_local_queue("ns/q")
    made.put_local_queue(LocalQueueSettings("ns", "q", "q"), NOW)
    assert "fairSharing" not in status_of_local_queue(made, "ns/q")


def test_without_admission_fair_sharing_nothing_is_sampled_or_shown() -> None:
    made = world()
    remember(made, "ns/q", {"fairSharing": {"admissionFairSharingStatus": {"lastUpdate": rfc3339(NOW)}}})
    assert sample(made, "ns/q", NOW) is None
    assert "fairSharing" not in status_of_local_queue(made, "ns/q")


def test_a_stored_object_keeps_the_fields_that_writes_need() -> None:
    meta = {"resourceVersion": "7", "generation": 2, "finalizers": ["f"], "deletionTimestamp": "2025-01-01T00:00:00Z"}
    assert read_stored({"metadata": meta, "status": {"a": 1}}) == Stored("7", 2, {"a": 1}, ("f",), True)
    assert read_stored({"metadata": {"generation": "x"}}) == Stored()
