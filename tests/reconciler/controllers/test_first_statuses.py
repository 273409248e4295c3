"""The statuses of a first start: each once, few at a time, ClusterQueues first, and what is needed is guarded first."""

from __future__ import annotations

from collections import Counter

from cluster.actions import Patch
from reconciler.objects.observed import Key
from tests import builders
from tests.reconciler.plain_queues import cluster_queue
from tests.reconciler.prompt import Prompt

QUEUES = 40
AT_ONCE = 12
PARTS = {"status": "status", None: "finalizers"}


def world() -> Prompt:
    """ClusterQueues that nobody has looked at, each with a LocalQueue, in one Cohort."""
    made = Prompt(())
    for number in range(1, QUEUES):
        made.put(("LocalQueue", f"ns/q{number}"), builders.local_queue(f"q{number}", f"q{number}"))
        made.put(("ClusterQueue", f"q{number}"), cluster_queue(f"q{number}", "all", 3))
    return made


def written(made: Prompt) -> list[tuple[Key, str]]:
    """What was written, in order: finalizers or a status."""
    return [(key, PARTS[action.subresource]) for key, action in made.writes if isinstance(action, Patch)]


def submit(made: Prompt, name: str, queue: str) -> None:
    made.put(("Workload", f"ns/{name}"), builders.workload(name, queue, "1"))


def test_each_is_written_once_and_few_are_under_way() -> None:
    made, before = world(), 0
    for _ in range(100):
        made.rounds(1)
        assert len(made.writes) - before <= AT_ONCE
        before = len(made.writes)

    assert Counter(written(made)).most_common(1)[0][1] == 1
    assert len(written(made)) == 3 * QUEUES + 1


def test_all_cluster_queues_are_active_before_anything_else_is_written_but_what_they_need() -> None:
    made = world()
    made.rounds(100)

    statuses = [key for key, part in written(made) if key[0] == "ClusterQueue" and part == "status"]
    assert written(made)[: QUEUES + 1] == [
        (("ResourceFlavor", "plain"), "finalizers"),
        *((key, "status") for key in statuses),
    ]


def test_a_queue_that_holds_workloads_is_guarded_before_its_status_is_written() -> None:
    made = world()
    submit(made, "first", "q7")
    made.rounds(100)

    of_queue = [part for key, part in written(made) if key == ("ClusterQueue", "q7")]
    assert of_queue == ["finalizers", "status"]


def test_queues_that_hold_workloads_are_active_before_the_statuses_of_others() -> None:
    """Each is guarded first, and then not sent to the end of the line."""
    made = world()
    for number in range(1, QUEUES):
        submit(made, f"first-{number}", f"q{number}")
    made.rounds(100)

    kinds = [key[0] for key, part in written(made) if part == "status" and key[0].endswith("Queue")]
    assert kinds == ["ClusterQueue"] * QUEUES + ["LocalQueue"] * QUEUES


def test_a_status_shows_what_came_about_while_others_were_written() -> None:
    made = world()
    made.rounds(1)
    for number in (1, 2):
        submit(made, f"late-{number}", f"q{QUEUES - 1}")
    made.rounds(100)

    last = ("ClusterQueue", f"q{QUEUES - 1}")
    assert made.objects[last]["status"]["admittedWorkloads"] == 2
    assert [part for key, part in written(made) if key == last] == ["finalizers", "status"]


def test_after_a_restart_many_that_show_all_already_keep_nobody_waiting() -> None:
    """They are looked at some at a time, in turns that follow one another at once."""
    made = world()
    made.rounds(100)
    made.writes.clear()
    for key in list(made.objects):
        if key[0] in ("ClusterQueue", "LocalQueue"):
            made.put(key, {**made.objects[key], "metadata": {**made.objects[key]["metadata"], "labels": {"a": "b"}}})

    made.rounds(1)
    assert made.loop.patience(0.5) == 0.0
    made.rounds(20)
    assert made.loop.patience(0.5) == 0.5
    assert made.writes == []


def test_local_queues_that_cannot_go_delay_nobody() -> None:
    """A tenant may delete as many as it likes, and hold them by finalizers of its own."""
    made = world()
    made.rounds(100)
    for number in range(1, QUEUES):
        meta = {"finalizers": ["example.com/mine"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        held = builders.local_queue(f"q{number}", f"q{number}")
        made.put(("LocalQueue", f"ns/q{number}"), {**held, "metadata": {**held["metadata"], **meta}})
    made.put(("ClusterQueue", "new"), cluster_queue("new", "all", 3))
    made.rounds(1)

    assert made.writes[-1][0] == ("ClusterQueue", "new")
