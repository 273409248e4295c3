"""Quota reserved and given back, and the condition Admitted that follows."""

from __future__ import annotations

from dataclasses import replace

from scheduling.objects import times
from scheduling.objects.workload import Admission, Condition, PodSetAdmission, Workload
from scheduling.status.conditions import shortened, with_condition
from scheduling.status.reservation import reserve, sync_admitted, unreserve
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


def test_a_check_that_is_not_ready_any_more_ends_the_admission() -> None:
    assert sync_admitted(admitted("Pending"), NOW).conditions["Admitted"].reason == "UnsatisfiedAdmissionChecks"
    assert sync_admitted(admitted("Pending"), NOW, detailed=False).conditions["Admitted"].reason == "UnsatisfiedChecks"


def test_without_details_what_was_never_admitted_says_nothing() -> None:
    bare = workload()

    assert sync_admitted(bare, NOW, detailed=False) is bare
    assert sync_admitted(bare, NOW).conditions["Admitted"].reason == "NoReservation"


def test_without_details_both_losses_have_one_reason() -> None:
    lost = unreserve(admitted("Retry"), "Pending", "", NOW, detailed=False)

    assert lost.conditions["Admitted"].reason == "NoReservationUnsatisfiedChecks"


def test_a_topology_that_is_still_to_be_made_keeps_from_admission() -> None:
    waiting = Admission("cq", (replace(GRANTED.assignments[0], delayed="Pending"),))

    held = sync_admitted(reserve(workload(), waiting, NOW), NOW)

    assert held.conditions["Admitted"].reason == "PendingDelayedTopologyRequests"
