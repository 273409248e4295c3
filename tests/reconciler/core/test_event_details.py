"""What a decision adds to the Event of a change counts only for the change that it causes."""

from __future__ import annotations

from reconciler.objects.observed import Key
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND
from scheduling.status.eviction import preempt
from scheduling.status.writing import written_status
from tests.reconciler.plain_queues import workload
from tests.reconciler.prompt import Prompt

LOW: Key = ("Workload", "ns/low")


def preempted(api: Prompt) -> list[str]:
    return [message for _, reason, _, message in api.events if reason == "Preempted"]


def crowded() -> Prompt:
    """`low` uses the whole quota."""
    api = Prompt(())
    api.put(LOW, workload("low", 1, "q0", 3, 0))
    api.rounds(6)
    return api


def test_the_event_of_a_preemption_has_the_priorities() -> None:
    api = crowded()
    api.put(("Workload", "ns/high"), workload("high", 2, "q0", 3, 10))
    api.rounds(6)

    (message,) = preempted(api)
    assert "preemptor effective priority: 10" in message


def test_a_preemption_that_was_refused_adds_nothing_to_a_later_one() -> None:
    api = crowded()
    api.refused = {"Workload"}
    api.put(("Workload", "ns/high"), workload("high", 2, "q0", 3, 10))
    api.rounds(6)
    api.drop(("Workload", "ns/high"))
    api.rounds(2, apart=SECOND)

    by_another = preempt(read_workload(api.objects[LOW]), "InClusterQueue", "Preempted by another process", api.now)
    api.put(LOW, {**api.objects[LOW], "status": written_status(by_another)})
    api.rounds(6)

    assert preempted(api) == ["Preempted by another process"]
