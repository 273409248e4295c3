"""The Pods of the loop: what is asked for again, and what nothing is asked for."""

from __future__ import annotations

from typing import Any

from cluster.actions import Action, Create, Patch
from cluster.errors import ApiError, Conflict
from reconciler.feed import Key, Listed
from reconciler.loop import Loop
from reconciler.pod_side import FOLLOWED_PODS, PodSide
from reconciler.writer import Failed, Read, Written
from scheduling.objects.times import SECOND
from scheduling.world.world import World
from tests.reconciler.jobs.pod_world import pod


class Cluster:
    """One loop, and what it asks to be written and read."""

    def __init__(self, *pods: dict[str, Any]) -> None:
        self.now = 1_700_000_000 * SECOND
        self.asked: list[tuple[Key, Action]] = []
        self.looked: list[Key] = []
        self.loop = Loop(
            World(),
            lambda key, action: self.asked.append((key, action)),
            lambda key, _: self.looked.append(key),
            lambda: True,
            sides=(PodSide,),
            with_statuses=False,
            clock=lambda: self.now,
        )
        for kind in self.loop.followed:
            objects = tuple(map(FOLLOWED_PODS.seen, pods)) if kind == "Pod" else ()
            self.loop.inbox.put(Listed(kind, objects, "9"))

    def round(self) -> list[tuple[Key, Action]]:
        """What is asked for in one round."""
        self.asked.clear()
        self.loop.round(0)
        return list(self.asked)


def stored(name: str, version: str = "1", **parts: Any) -> dict[str, Any]:
    made = pod(name)
    return {**made, "metadata": {**made["metadata"], "uid": f"uid-{name}", "resourceVersion": version}, **parts}


def done(name: str, version: str = "1") -> dict[str, Any]:
    return stored(name, version, status={"phase": "Succeeded"})


def test_a_write_that_is_refused_is_asked_for_again_after_a_rest() -> None:
    cluster = Cluster(stored("p"))
    ((key, action),) = cluster.round()
    assert isinstance(action, Create)
    assert cluster.round() == []

    cluster.loop.inbox.put(Failed(key, action, ApiError(422, "Invalid", "a policy says no")))
    assert cluster.round() == []
    cluster.now += 60 * SECOND

    ((again, other),) = cluster.round()
    assert (again, type(other)) == (key, Create)


def test_a_write_that_came_too_late_is_made_from_what_is_read_then() -> None:
    cluster = Cluster(done("p"))
    ((key, action),) = cluster.round()
    assert isinstance(action, Patch)
    assert action.resource_version == "1"

    cluster.loop.inbox.put(Failed(key, action, Conflict(409, "Conflict", "somebody was faster")))
    cluster.round()
    assert cluster.looked == [key]
    cluster.loop.inbox.put(Read(key, done("p", "5")))

    ((_, other),) = cluster.round()
    assert isinstance(other, Patch)
    assert other.resource_version == "5"


def test_an_answer_counts_before_the_watch_tells_of_it() -> None:
    cluster = Cluster(done("p"))
    ((key, action),) = cluster.round()
    released = done("p", "10")
    released["metadata"]["finalizers"] = []

    cluster.loop.inbox.put(Written(key, action, released))

    assert cluster.round() == []
    assert cluster.round() == []


def test_only_what_makes_a_difference_to_a_pod_has_its_workload_looked_at() -> None:
    looked: list[str] = []
    side = PodSide(lambda name: looked.append(name))
    for name in ("p", "q"):
        side.see(FOLLOWED_PODS.seen(_released(name, "1")))
    assert list(side.due(lambda *_: False, 0)) == []
    assert len(looked) == 2

    side.see(FOLLOWED_PODS.seen(_released("p", "2", note="x")))
    assert list(side.due(lambda *_: False, 0)) == []
    assert len(looked) == 2

    side.see(FOLLOWED_PODS.seen(stored("q", "3")))
    assert [type(turn.action) for turn in side.due(lambda *_: False, 0)] == [Create]
    assert len(looked) == 3


def _released(name: str, version: str, note: str = "") -> dict[str, Any]:
    made = done(name, version)
    made["metadata"].update(finalizers=[], annotations={"example.com/note": note})
    return made
