"""Reasons for waiting are written when there is nothing better to write."""

from __future__ import annotations

from tests.reconciler.core.storm import Storm
from tests.reconciler.plain_queues import workload
from tests.reconciler.recount import holds


def told(storm: Storm, name: str) -> bool:
    conditions = storm.api.objects["Workload", f"ns/{name}"].get("status", {}).get("conditions", [])
    return any(each["type"] == "QuotaReserved" and each["status"] == "False" for each in conditions)


def crowd(storm: Storm, count: int) -> None:
    for number in range(count):
        storm.api.put(("Workload", f"ns/w{number}"), workload(f"w{number}", number, "q0", 30 + number, 0))
    storm.api.relist("Workload")


def settle(storm: Storm) -> None:
    while storm.api.arriving or storm.api.answers:
        storm.arrive_all()
        while storm.api.answers:
            storm.api.answer()
        storm.loop.round(0)


def test_of_many_that_wait_a_few_are_told_at_a_time_and_all_in_the_end() -> None:
    storm = Storm(0, faults=0.0)
    crowd(storm, 100)
    storm.loop.round(0)
    assert 0 < len(storm.api.arriving) < 100

    settle(storm)
    assert all(told(storm, f"w{number}") for number in range(100))


def test_who_gets_quota_before_its_reason_was_told_is_written_once() -> None:
    storm = Storm(0, faults=0.0)
    crowd(storm, 100)
    storm.api.put(("Workload", "ns/late"), workload("late", 200, "q0", 1, -1))
    storm.api.event("Workload")
    storm.loop.round(0)
    settle(storm)

    assert holds(storm.api.objects["Workload", "ns/late"], "QuotaReserved")
    assert not storm.loop.core.decider.reasons
