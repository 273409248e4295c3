"""Quota reserved and given back, and the condition Admitted that follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduling.objects import times
from scheduling.objects.workload import Admission, Condition, PodSetAdmission, Workload
from scheduling.status.conditions import shortened, with_condition
from scheduling.status.eviction import preempt
from scheduling.status.observability import LEGACY, Observability
from scheduling.status.progress import finish
from scheduling.status.reservation import reserve, sync_admitted, unreserve
from scheduling.status.writing import written_condition
from tests.scheduling.cluster import GRANULAR
from tests.scheduling.manifests import CREATED, condition, workload

THEN = times.parse(CREATED)
NOW = THEN + 90 * times.SECOND
GRANTED = Admission("cq", (PodSetAdmission("main", {"cpu": "spot"}, {"cpu": 1000}, 1),))


def admitted(*checks: str) -> Workload:
    held = workload(
        status={
            "conditions": [condition("QuotaReserved"), condition("Admitted")],
            "admissionChecks": [{"name": f"check-{state}", "state": state} for state in checks],
        }
    )
    return replace(held, admission=GRANTED)


def test_a_reservation_is_written_with_its_queue() -> None:
    held = reserve(replace(workload(), generation=3), GRANTED, NOW)

    assert held.admission == GRANTED
    assert held.conditions == {
        "QuotaReserved": Condition("True", "QuotaReserved", "Quota reserved in ClusterQueue cq", NOW, 3)
    }


def test_a_reservation_ends_what_an_eviction_said() -> None:
    gone = [{**condition(kind, reason="R"), "message": "m"} for kind in ("Evicted", "Preempted")]
    over = {**condition("BlockedOnPreemptionGates", "False"), "message": "m"}

    held = reserve(workload(status={"conditions": [*gone, over]}), GRANTED, NOW)

    assert held.conditions["Evicted"] == Condition("False", "QuotaReserved", "Previously: m", NOW)
    assert held.conditions["Preempted"] == Condition("False", "QuotaReserved", "Previously: m", NOW)
    assert held.conditions["BlockedOnPreemptionGates"] == Condition("False", "", "m", THEN)


def test_the_same_reservation_again_changes_nothing() -> None:
    held = reserve(workload(), GRANTED, NOW)

    assert reserve(held, GRANTED, NOW + 5) is held


def test_a_condition_moves_in_time_only_where_its_status_does() -> None:
    first = with_condition(workload(), "QuotaReserved", "False", "Pending", "a", NOW)
    second = with_condition(first, "QuotaReserved", "False", "Pending", "b", NOW + 5)

    assert second.conditions["QuotaReserved"] == Condition("False", "Pending", "b", NOW)
    assert with_condition(second, "QuotaReserved", "False", "Pending", "b", NOW + 9) is second
    assert with_condition(second, "QuotaReserved", "True", "", "", NOW + 9).conditions["QuotaReserved"].since == NOW + 9


def test_a_message_keeps_to_the_length_that_is_taken() -> None:
    assert shortened("x" * 32768) == "x" * 32768
    assert shortened("x" * 32769) == "x" * 32765 + "..."
    assert len(shortened("ä" * 32768).encode()) <= 32768


def test_reserved_and_ready_is_admitted() -> None:
    held = reserve(workload(), GRANTED, NOW)

    ready = sync_admitted(held, NOW)

    assert ready.conditions["Admitted"] == Condition("True", "Admitted", "The workload is admitted", NOW)
    assert sync_admitted(ready, NOW + 1) is ready


def test_losing_the_reservation_adds_whole_seconds_to_the_past() -> None:
    lost = unreserve(replace(admitted(), past_seconds=10), "Pending", "waits", NOW + times.SECOND // 2)

    assert (lost.admission, lost.past_seconds) == (None, 100)
    assert lost.conditions["QuotaReserved"].reason == "Pending"
    assert lost.conditions["Admitted"][:2] == ("False", "NoReservation")


NO_QUOTA, NO_CHECKS = "The workload has no reservation", "The workload has not all checks ready"


@pytest.mark.parametrize(
    ("checks", "lost", "legacy", "granular", "message"),
    [
        ([], True, "NoReservation", "NoReservation", NO_QUOTA),
        (["Ready"], True, "NoReservation", "NoReservation", NO_QUOTA),
        (
            ["Pending"],
            False,
            "UnsatisfiedChecks",
            "UnsatisfiedAdmissionChecks",
            "The workload has not all checks ready",
        ),
    ],
)
def test_an_admission_that_ends_says_why(
    checks: list[str], lost: bool, legacy: str, granular: str, message: str
) -> None:
    for observability, reason in ((LEGACY, legacy), (GRANULAR, granular)):
        before = admitted(*checks)
        after = unreserve(before, "R", "", NOW, observability) if lost else sync_admitted(before, NOW, observability)
        assert after.conditions["Admitted"][:3] == ("False", reason, message)


def test_a_loss_of_quota_and_of_checks_has_a_reason_of_its_own_without_granular_reasons() -> None:
    both = "The workload has no reservation and not all checks ready"

    lost = unreserve(admitted("Pending"), "R", "", NOW).conditions["Admitted"]
    reported = unreserve(admitted("Pending"), "R", "", NOW, GRANULAR).conditions["Admitted"]

    assert (lost.reason, lost.message) == ("NoReservationUnsatisfiedChecks", both)
    assert (reported.reason, reported.message) == ("NoReservation", NO_QUOTA)


def test_what_was_never_admitted_says_nothing_of_that() -> None:
    waits = unreserve(workload(), "Pending", "m", NOW)
    held = reserve(replace(workload(), checks=admitted("Pending").checks), GRANTED, NOW)

    assert waits.conditions.keys() == {"QuotaReserved"}
    assert sync_admitted(held, NOW) is held


def test_granular_reasons_follow_the_condition_of_quota_and_explicit_ones_do_not_wait_for_it() -> None:
    bare = workload()
    held = reserve(replace(bare, checks=admitted("Pending").checks), GRANTED, NOW)

    assert sync_admitted(bare, NOW, GRANULAR) is bare
    assert unreserve(bare, "R", "m", NOW, GRANULAR).conditions["Admitted"].reason == "NoReservation"
    assert sync_admitted(held, NOW, GRANULAR).conditions["Admitted"].reason == "UnsatisfiedAdmissionChecks"
    assert sync_admitted(bare, NOW, Observability(True, explicit=True)).conditions["Admitted"].reason == "NoReservation"


def test_a_finished_workload_keeps_quota_and_admission() -> None:
    done = finish(admitted("Ready"), "Succeeded", "m", NOW)

    assert sync_admitted(replace(done, checks=admitted("Pending").checks), NOW).conditions == done.conditions
    assert (done.reserved, done.admitted, done.admission) == (True, True, GRANTED)


def test_requests_are_shown_until_the_admission_has_them() -> None:
    waits = replace(workload(), resource_requests={"main": {"cpu": 1000}})

    assert reserve(waits, GRANTED, NOW).resource_requests == {}


def test_every_condition_but_preempted_while_it_holds_says_of_which_generation_it_speaks() -> None:
    gone = preempt(replace(admitted(), generation=7), "InClusterQueue", "m", NOW)

    assert gone.conditions["Evicted"].generation == 7
    assert gone.conditions["Preempted"].generation == 0
    assert "observedGeneration" not in written_condition("Preempted", gone.conditions["Preempted"])
    back = reserve(replace(gone, generation=8), GRANTED, NOW)
    assert [back.conditions[kind].generation for kind in ("Evicted", "Preempted")] == [8, 8]


def test_a_topology_that_is_still_to_be_made_keeps_from_admission() -> None:
    waiting = Admission("cq", (replace(GRANTED.assignments[0], delayed="Pending"),))

    held = sync_admitted(reserve(workload(), waiting, NOW), NOW, GRANULAR)

    pending = ("False", "PendingDelayedTopologyRequests", "There are pending delayed topology requests")
    assert held.conditions["Admitted"][:3] == pending
