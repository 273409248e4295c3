"""Which changes around jobs have all of them looked at anew: those that jobs depend on, and once for many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reconciler.feed import Followed, Seen
from reconciler.jobs.step import JobSurroundings
from reconciler.side import Busy, Turn
from tests.reconciler.prompt import Prompt


class Counted:
    """A side that counts how often it is told."""

    followed: tuple[Followed, ...] = ()

    def __init__(self) -> None:
        self.told: list[JobSurroundings] = []

    def see(self, seen: Seen) -> None: ...

    def touch(self, workload: str) -> None: ...

    def renew(self, around: JobSurroundings) -> None:
        self.told.append(around)

    def due(self, busy: Busy, now: int) -> Iterator[Turn]:
        yield from ()


def priority_class(kind: str, value: int, **meta: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": "c", **meta}, "value": value}


@pytest.fixture
def side() -> Counted:
    return Counted()


@pytest.fixture
def world(side: Counted) -> Prompt:
    made = Prompt((lambda _: side,))
    made.rounds(1)
    return made


def test_all_that_is_there_at_the_start_is_told_at_once(side: Counted, world: Prompt) -> None:
    (around,) = side.told
    assert set(around.flavors) == {"plain"}


def test_what_jobs_do_not_depend_on_is_not_told(side: Counted, world: Prompt) -> None:
    world.put(("LimitRange", "ns/l"), {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": []}})
    world.put(("RuntimeClass", "r"), {"metadata": {"name": "r"}, "overhead": {"podFixed": {"cpu": "1"}}})
    world.put(("ResourceFlavor", "plain"), {"metadata": {"name": "plain", "labels": {"a": "b"}}, "spec": {}})
    world.rounds(3)
    assert len(side.told) == 1


@pytest.mark.parametrize("kind", ["PriorityClass", "WorkloadPriorityClass"])
def test_a_class_is_told_where_its_value_is_another(side: Counted, world: Prompt, kind: str) -> None:
    for made in (priority_class(kind, 5), priority_class(kind, 5, labels={"a": "b"}), priority_class(kind, 6)):
        world.put((kind, "c"), made)
        world.rounds(2)
    assert len(side.told) == 3


def test_many_changes_are_told_once(side: Counted, world: Prompt) -> None:
    for number in range(20):
        spec = {"nodeLabels": {"tier": str(number)}}
        world.put(("ResourceFlavor", f"f{number}"), {"metadata": {"name": f"f{number}"}, "spec": spec})
    world.rounds(2)
    assert len(side.told) == 2
