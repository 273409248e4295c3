"""The brief cause of a wait, which is the same in each list and on the page of the workload."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from policies.model.pools import Terms
from reconciler.api import pending
from reconciler.api.explanation import explanation_json
from reconciler.api.pending import local_rows, named_rows, rows
from reconciler.objects.moments import whole_second
from scheduling.cycle.cycle import try_alone
from scheduling.objects.requests import Counting
from scheduling.queues.pending import PendingEntry
from scheduling.visibility import explanation
from scheduling.visibility.sentence import why_it_waits
from scheduling.world.decisions import Wait
from scheduling.world.world import World
from tests.profiles import each_case
from tests.reconciler.api.organisation import NOW, admitted, core, kueue, organisation, queue, waiting
from tests.scheduling.cluster import Cluster, queue_settings
from tests.scheduling.manifests import pod_set, workload
from tests.scheduling.visibility.waiting_cases import CASES

BRIEF = {
    "misspelt queue": "LocalQueue a/mian does not exist; did you mean main?",
    "LocalQueue stopped": "LocalQueue a/main is stopped and admits nothing",
    "ClusterQueue stopped": "ClusterQueue a is stopped and admits nothing",
    "deactivated": "it is deactivated",
    "backoff": "it was evicted (PodsReadyTimeout) and is tried again at 2030-01-01T00:00:00Z",
    "short": "1 of spot/cpu is short at a",
    "borrowingLimit": "it needs 1 more spot/cpu than a may borrow by its borrowingLimit",
    "lendingLimit": "1 of spot/cpu is short at org",
    "never fits": "5 of spot/cpu are short at a, even if nothing else ran",
    "strict": "ClusterQueue a is StrictFIFO, and no workload may overtake its head",
    "nodeSelector": "its pods select nodes with gpu=a100, and those of flavor h100 have gpu=h100",
    "turn": "it waits for its turn",
}


@each_case("name", BRIEF)
def test_the_brief_cause_has_no_remedy(name: str) -> None:
    world = core(*CASES[name][0], leads=False).state.world

    assert explanation_json(world, "a/w", NOW)["cause"] == BRIEF[name]


@each_case("leads", [True, False])
@each_case("name", CASES)
def test_lists_show_the_same_cause_as_the_page_of_the_workload(name: str, leads: bool) -> None:
    world = core(*CASES[name][0], leads=leads).state.world
    found = explanation_json(world, "a/w", NOW)
    listed = named_rows(world, ["a/w", "a/unknown"], NOW)
    for queue_name in world.queues.pending:
        listed += [row for row in rows(world, queue_name, 0, 9, NOW) if row.workload.key == "a/w"]
    for local in world.queues.local_queues:
        listed += [row for row in local_rows(world, local, 0, 9, NOW) if row.workload.key == "a/w"]

    expected = found.get("cause")
    assert {row.cause for row in listed} <= {expected}
    assert bool(listed) == (found["state"] == "waiting" and "deactivated" not in name and name != "admission gate")


def test_a_row_of_a_list_does_not_walk_through_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    def walked(*_: Any, **__: Any) -> None:
        raise AssertionError("a list looks at no other queue")

    busy = (admitted("big", 8, "b/main", "b"), *(waiting(f"w{each}", 1 + each) for each in range(3)))
    world = core(*organisation(*busy)).state.world
    for walk in ("holders_of", "_keepers", "raises", "sole_raise"):
        monkeypatch.setattr(explanation, walk, walked)

    assert [row.cause for row in rows(world, "a", 0, 9, NOW)] == [
        "1 of spot/cpu is short at org",
        "2 of spot/cpu are short at org",
        "3 of spot/cpu are short at org",
    ]


def test_at_most_twenty_workloads_are_tried_for_a_list_of_many_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"q{each}" for each in range(30)]
    locals_ = [kueue("LocalQueue", name, {"clusterQueue": name}, "a") for name in names]
    untried = [waiting(name, 9, f"a/{name}") for name in names]
    world = core(*organisation(*(queue(name, 4) for name in names), *locals_, *untried), leads=False).state.world
    tried: list[str] = []

    def counted(world: World, name: str, entry: PendingEntry | None) -> Wait | None:
        tried.append(name)
        return try_alone(world, name, entry)

    monkeypatch.setattr(pending, "try_alone", counted)
    listed = named_rows(world, [f"a/{name}" for name in names] * 2, NOW)

    assert [row.workload.name for row in listed] == names
    assert len(tried) == 20


def test_a_list_without_a_time_has_no_causes() -> None:
    world = core(*organisation(waiting("w", 9))).state.world

    assert [row.cause for row in rows(world, "a", 0, 9)] == [""]


def test_a_pending_preemption_is_the_cause() -> None:
    own = queue("a", 4, preemption={"withinClusterQueue": "LowerPriority"})
    rest = [each for each in organisation() if (each["kind"], each["metadata"]["name"]) != ("ClusterQueue", "a")]
    held = (admitted("r1", 4, "a/main", "a"), admitted("big", 4, "b/main", "b"))
    world = core(*rest, own, *held, waiting("late", 4, priority=9)).state.world

    (row,) = [each for each in rows(world, "a", 0, 9, NOW) if each.workload.name == "late"]
    assert row.cause == "room is made for it; it starts once 1 workload has ended"


def test_an_explained_attempt_is_not_kept_in_memory() -> None:
    world = core(*organisation(waiting("w", 9))).state.world
    wait = world.last_attempt("a/w")
    before = sys.getrefcount(wait)

    said = why_it_waits(world, "a/w", whole_second(NOW))

    assert said is not None
    assert said.text
    del said
    assert sys.getrefcount(wait) == before


def test_a_message_names_the_pod_sets_of_its_own_workload() -> None:
    """In Kueue 0.20 two workloads are equal if their pod sets differ only in their names."""
    cluster = Cluster()
    cluster.world.counting = Counting(hashes_names=False)
    cluster.put_queue(queue_settings("q", None, {"spot": Terms(1)}))
    names = ("main", "main", "workers", "workers")
    for number, name in enumerate(names):
        cluster.put(workload(pod_set(name, gpu="2"), name=f"w{number}"))
    cluster.settle()

    messages = [row.message for row in rows(cluster.world, "q", 0, 9)]
    explained = [explanation_of(cluster.world, f"ns/w{number}") for number in range(len(names))]
    assert messages == explained
    assert [message.split(":")[0].split()[-1] for message in messages] == list(names)


def explanation_of(world: World, key: str) -> str:
    found = explanation.explain(world, key, consider=try_alone)
    assert found is not None
    return found.message
