"""What Volcano's controllers make of Jobs and of Pods that name no PodGroup."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.volcano.play.job_pods import MOST_PODS, Made, TooManyPods, made_of_job
from tests.scheduling.volcano.manifests import job, task

CLASSES = {"high": 9}
MILLI = 1000


def made(*tasks: dict[str, Any], **spec: Any) -> Made:
    return made_of_job(job("j", "q", *tasks, **spec), CLASSES, {})


def least(*tasks: dict[str, Any], **spec: Any) -> float:
    """The cpus that the PodGroup reserves."""
    return (made(*tasks, **spec).group.minimum or {}).get("cpu", 0) / MILLI


def test_a_pod_for_each_replica_with_the_names_that_volcano_gives() -> None:
    found = made(task("ps", 1), task("worker", 2))

    assert [each.name for each in found.tasks] == ["ml/j-ps-0", "ml/j-worker-0", "ml/j-worker-1"]
    assert {each.role for each in found.tasks} == {"ps", "worker"}
    assert {each.group for each in found.tasks} == {found.group.name} == {"ml/j"}
    assert (found.group.queue, found.group.members) == ("q", 3)
    assert found.group.members_of == {"ps": 1, "worker": 2}


def test_its_pod_group_bears_the_uid() -> None:
    manifest = job("j", "q", task("w", 1))
    manifest["metadata"]["uid"] = "u1"

    assert made_of_job(manifest, {}, {}).group.name == "ml/j-u1"


@pytest.mark.parametrize(
    ("tasks", "members", "cpus"),
    [
        ([task("a", 2, "1"), task("b", 2, "10")], 4, 22),
        ([task("a", 2, "1"), task("b", 2, "10")], 3, 12),  # fewer than all need: the first pods
        ([task("a", 2, "1"), task("b", 2, "10", "high")], 3, 21),  # those of the higher priority first
        ([task("a", 3, "1", minAvailable=1), task("b", 3, "10", minAvailable=1)], 2, 11),  # what each needs
        ([task("a", 3, "1", minAvailable=1), task("b", 3, "10", minAvailable=1)], 5, 23),  # then filled up in order
        ([task("a", 3, "1", minAvailable=1), task("b", 3, "10", minAvailable=1)], 1, 1),
        ([task("a", 2, "1")], 0, 0),
        ([task("a", 2, "1")], 9, 2),
    ],
)
def test_it_reserves_what_its_first_pods_request(tasks: list[dict[str, Any]], members: int, cpus: float) -> None:
    assert least(*tasks, minAvailable=members) == cpus


def test_the_pods_of_a_task_have_the_value_of_its_priority_class() -> None:
    assert [each.priority for each in made(task("a", 1), task("b", 1, "1", "high")).tasks] == [0, 9]


def test_a_job_of_too_many_pods_is_refused() -> None:
    with pytest.raises(TooManyPods, match=f"Job ml/j has {MOST_PODS + 1} pods, and at most {MOST_PODS} are simulated"):
        made(task("a", MOST_PODS), task("b", 1))
