"""Reasons for waiting are written when there is nothing better to write."""

from __future__ import annotations

import pytest

from cluster.actions import Action
from reconciler.objects.observed import Key, Observed
from reconciler.objects.outcomes import Outcome
from tests import builders
from tests.reconciler.checked import jobs
from tests.reconciler.core.storm import Storm, told
from tests.reconciler.plain_queues import workload
from tests.reconciler.prompt import Prompt, job
from tests.reconciler.recount import holds

STOPPED = {"clusterQueue": "q0", "stopPolicy": "Hold"}


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
    assert all(told(storm.api.objects["Workload", f"ns/w{number}"]) for number in range(100))


def test_who_gets_quota_before_its_reason_was_told_is_written_once() -> None:
    storm = Storm(0, faults=0.0)
    crowd(storm, 100)
    storm.api.put(("Workload", "ns/late"), workload("late", 200, "q0", 1, -1))
    storm.api.event("Workload")
    storm.loop.round(0)
    settle(storm)

    assert holds(storm.api.objects["Workload", "ns/late"], "QuotaReserved")
    assert not storm.loop.core.decider.reasons


class Held(Prompt):
    """What is told of Workloads is held back: of one that is created the event of the watch, then the answer."""

    def __init__(self) -> None:
        self.holds = True
        self.held: list[Observed | Outcome] = []
        super().__init__((jobs,))

    def deliver(self, message: Observed | Outcome) -> None:
        if self.holds and message.key[0] == "Workload":
            self.held.append(message)
        else:
            super().deliver(message)

    def release(self, which: int = 0) -> None:
        """One of those that were held, and nothing more is."""
        self.holds = False
        self.deliver(self.held.pop(which))
        self.rounds(10)


def why(world: Prompt) -> tuple[str, str, str]:
    """Status, reason and message of QuotaReserved of the one Workload; empty where it is not told."""
    (found,) = (manifest for key, manifest in world.objects.items() if key[0] == "Workload")
    told = [each for each in found.get("status", {}).get("conditions", []) if each["type"] == "QuotaReserved"]
    return (told[0]["status"], told[0]["reason"], told[0]["message"]) if told else ("", "", "")


@pytest.mark.parametrize("first", [0, -1], ids=["event", "answer"])
def test_a_job_is_told_why_it_waits_whether_the_event_or_the_answer_comes_first(first: int) -> None:
    world = Held()
    world.put(("Job", "ns/large"), job("large", cpu="9"))
    world.rounds(2)
    world.release(first)
    world.release()

    status, reason, message = why(world)
    assert (status, reason) == ("False", "Pending")
    assert "maximum capacity" in message


class Crossed(Prompt):
    """Somebody changes the Workload just before it is written for the first time, so that the write is refused."""

    crossed = False

    def write(self, key: Key, action: Action) -> None:
        if key[0] == "Workload" and not self.crossed:
            self.crossed = True
            meta = {**self.objects[key]["metadata"], "labels": {"a": "b"}}
            self.put(key, {**self.objects[key], "metadata": meta})
        super().write(key, action)


def test_a_reason_is_written_after_a_conflict() -> None:
    world = Crossed(())
    world.put(("Workload", "ns/w"), workload("w", 1, "q0", 9, 0))
    world.rounds(20)

    assert world.crossed
    assert why(world)[:2] == ("False", "Pending")


def test_a_queue_that_stops_before_the_reason_is_written_is_the_reason_then() -> None:
    world = Held()
    world.put(("Job", "ns/large"), job("large", cpu="9"))
    world.rounds(2)
    world.release()
    world.put(("LocalQueue", "ns/q0"), builders.kueue("LocalQueue", "q0", STOPPED, namespace="ns"))
    world.rounds(3)
    world.release()

    assert why(world) == ("False", "Inadmissible", "LocalQueue q0 is inactive")
