"""Workloads that are done for are deleted when their time is over."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.actions import Delete
from reconciler.feed import Seen, by_kind
from reconciler.jobs.batch_job import BATCH
from reconciler.retention import Retention, RetentionSide
from reconciler.side import Turn
from scheduling.objects.times import SECOND, parse
from tests.scheduling.manifests import condition, manifest

THEN = "2026-01-01T00:00:00Z"
START = parse(THEN)
JOB_OF = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "j1", "controller": True}
WORKLOAD = by_kind()["Workload"]


def finished() -> dict[str, Any]:
    return manifest(uid="u1", resourceVersion="7", status={"conditions": [condition("Finished", since=THEN)]})


def deactivated(reason: str = "DeactivatedDueToRequeuingLimitExceeded", **meta: Any) -> dict[str, Any]:
    evicted = condition("Evicted", reason=reason, since=THEN)
    meta.setdefault("ownerReferences", [JOB_OF])
    return manifest(uid="u1", resourceVersion="7", spec={"active": False}, status={"conditions": [evicted]}, **meta)


class Kept:
    """A side, and the one Workload that it sees."""

    def __init__(self, retention: Retention, stored: dict[str, Any] | None) -> None:
        self.busy: set[tuple[str, str]] = set()
        self.side = RetentionSide(lambda _: self.seen, retention, {BATCH.shape.kind: (BATCH.name, BATCH.resource)})
        self.show(stored)

    def show(self, stored: dict[str, Any] | None) -> None:
        self.seen: Seen | None = WORKLOAD.seen(stored) if stored is not None else None
        self.side.touch("ns/w")

    def at(self, seconds: int) -> list[Turn]:
        return [*self.side.due(lambda *key: key in self.busy, START + seconds * SECOND)]


def deleted(turns: list[Turn]) -> list[tuple[str, str, str]]:
    actions = [turn.action for turn in turns]
    assert all(isinstance(action, Delete) for action in actions)
    return [(action.resource.plural, action.name, action.resource_version) for action in actions]  # type: ignore[union-attr]


def test_a_finished_workload_goes_when_its_time_is_over_and_not_before() -> None:
    kept = Kept(Retention(finished=60 * SECOND), finished())

    assert kept.at(59) == []
    turns = kept.at(60)
    assert deleted(turns) == [("workloads", "w", "7")]
    assert (turns[0].key, turns[0].reason) == (("Workload", "ns/w"), "Deleted")


def test_no_time_at_all_means_at_once() -> None:
    assert deleted(Kept(Retention(finished=0), finished()).at(0)) == [("workloads", "w", "7")]


def test_what_is_not_gone_is_asked_for_again_some_time_later_and_what_is_on_its_way_is_left() -> None:
    kept = Kept(Retention(finished=0), finished())
    kept.at(0)

    assert kept.at(1) == []
    assert deleted(kept.at(10)) == [("workloads", "w", "7")]
    kept.show({**finished(), "metadata": {**finished()["metadata"], "deletionTimestamp": THEN}})
    assert kept.at(30) == []
    kept.show(None)
    assert kept.at(60) == []


def test_what_is_being_written_waits() -> None:
    kept = Kept(Retention(finished=0), finished())
    kept.busy.add(("Workload", "ns/w"))
    assert kept.at(0) == []

    kept.busy.clear()
    assert deleted(kept.at(10)) == [("workloads", "w", "7")]


def test_the_job_of_a_workload_that_was_deactivated_goes_with_its_pods() -> None:
    kept = Kept(Retention(deactivated=60 * SECOND), deactivated())

    assert kept.at(59) == []
    (turn,) = kept.at(60)
    assert isinstance(turn.action, Delete)
    assert (turn.key, turn.action.uid, turn.action.background) == (("Job", "ns/job"), "j1", True)
    assert turn.about is not None
    assert (turn.about.kind, turn.about.name, turn.reason) == ("Job", "job", "Deleted")


@pytest.mark.parametrize("owners", [[], [{**JOB_OF, "apiVersion": "example.com/v1"}]])
def test_without_a_known_job_the_workload_itself_goes(owners: list[dict[str, Any]]) -> None:
    kept = Kept(Retention(deactivated=0), deactivated(ownerReferences=owners))

    assert deleted(kept.at(0)) == [("workloads", "w", "7")]


@pytest.mark.parametrize(
    ("retention", "stored"),
    [
        (Retention(), finished()),
        (Retention(deactivated=0), finished()),
        (Retention(finished=0), deactivated()),
        (Retention(deactivated=0), deactivated("Deactivated")),  # by a person
        (Retention(deactivated=0), deactivated("Preempted")),
        (Retention(finished=0, deactivated=0), manifest()),
    ],
)
def test_all_else_stays(retention: Retention, stored: dict[str, Any]) -> None:
    assert Kept(retention, stored).at(10**6) == []


def test_a_workload_that_is_active_again_stays() -> None:
    kept = Kept(Retention(deactivated=60 * SECOND), deactivated())
    stored = deactivated()
    kept.show({**stored, "spec": {**stored["spec"], "active": True}})

    assert kept.at(60) == []


def test_there_is_one_moment_for_each_workload_and_none_for_those_that_are_gone() -> None:
    stored: dict[str, Seen] = {}
    side = RetentionSide(stored.get, Retention(finished=60 * SECOND))
    for number in range(1000):
        name = f"ns/w{number}"
        stored[name] = WORKLOAD.seen(finished())
        side.touch(name)
        side.touch(name)
        del stored[name]
        side.touch(name)

    assert len(side._moments) == 0
    assert len(side._order) < 100
