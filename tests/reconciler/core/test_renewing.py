"""Which changes around jobs have all of them looked at anew: those that jobs depend on, and once for many."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.core.controller import Controller
from reconciler.jobs.step import JobInputs
from tests.reconciler.prompt import Prompt


class Counted(Controller):
    """A side that counts how often it is told."""

    def __init__(self) -> None:
        self.reported: list[JobInputs] = []

    def inputs_changed(self, inputs: JobInputs) -> None:
        self.reported.append(inputs)


def priority_class(kind: str, value: int, **meta: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": "c", **meta}, "value": value}


@pytest.fixture
def controller() -> Counted:
    return Counted()


@pytest.fixture
def world(controller: Counted) -> Prompt:
    made = Prompt((lambda _: controller,))
    made.rounds(1)
    return made


def test_all_that_is_there_at_the_start_is_told_at_once(controller: Counted, world: Prompt) -> None:
    (inputs,) = controller.reported
    assert set(inputs.flavors) == {"plain"}


def test_what_jobs_do_not_depend_on_is_not_told(controller: Counted, world: Prompt) -> None:
    world.put(("LimitRange", "ns/l"), {"metadata": {"name": "l", "namespace": "ns"}, "spec": {"limits": []}})
    world.put(("RuntimeClass", "r"), {"metadata": {"name": "r"}, "overhead": {"podFixed": {"cpu": "1"}}})
    world.put(("ResourceFlavor", "plain"), {"metadata": {"name": "plain", "labels": {"a": "b"}}, "spec": {}})
    world.rounds(3)
    assert len(controller.reported) == 1


@pytest.mark.parametrize("kind", ["PriorityClass", "WorkloadPriorityClass"])
def test_a_class_is_told_where_its_value_is_another(controller: Counted, world: Prompt, kind: str) -> None:
    for made in (priority_class(kind, 5), priority_class(kind, 5, labels={"a": "b"}), priority_class(kind, 6)):
        world.put((kind, "c"), made)
        world.rounds(2)
    assert len(controller.reported) == 3


def test_many_changes_are_told_once(controller: Counted, world: Prompt) -> None:
    for number in range(20):
        spec = {"nodeLabels": {"tier": str(number)}}
        world.put(("ResourceFlavor", f"f{number}"), {"metadata": {"name": f"f{number}"}, "spec": spec})
    world.rounds(2)
    assert len(controller.reported) == 2
