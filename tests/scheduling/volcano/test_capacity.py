"""The enqueue gate, what may be allocated, who may reclaim, and the order of queues."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduling.queue_tree.amounts import Shortage
from scheduling.volcano.capacity import Capacity
from scheduling.volcano.objects import Task
from scheduling.volcano.order import compare_queues
from scheduling.volcano.queues import ALLOCATED, ELASTIC, INQUEUE
from scheduling.volcano.refusal import QueueRefusal
from scheduling.volcano.session import SchedulingSession
from scheduling.volcano.setup import PLUGINS, PluginSettings
from scheduling.volcano.world import SessionWorld
from tests.scheduling.volcano.drawn import group, node, pod, requesting, running, session

ORG = """
A cap:cpu=100 gua:cpu=40
  A1 gua:cpu=10
  A2 gua:cpu=30 cap:cpu=50
  A3
B gua:cpu=20
"""
NODES = [node("n1", "cpu=1000,memory=1000")]


def used(found: SchedulingSession, **cpu: tuple[int, int, int]) -> SchedulingSession:
    """Allocated, inqueue and elastic at a queue and all above."""
    for name, values in cpu.items():
        for account, amount in zip((ALLOCATED, INQUEUE, ELASTIC), values, strict=True):
            found.queues.tree.nodes[name].add(account, {"cpu": amount})
    return found


def task(request: str, group: str = "g") -> Task:
    return replace(pod("p", group, "cpu=1"), request=requesting(request))


def short(refusal: QueueRefusal | None) -> list[Shortage]:
    return [] if refusal is None else [*refusal.shortages]


def enqueue(minimum: str) -> QueueRefusal | None:
    found = used(session(ORG, NODES, group("g", "A3", "Pending", minimum)), A3=(40, 10, 5), A1=(40, 5, 0))
    return found.may_enter(found.jobs["ns/g"])


def test_a_podgroup_that_fits_on_all_levels_is_enqueued() -> None:
    assert enqueue("cpu=10") is None
    assert enqueue("memory=10") is None


def test_the_nearest_queue_without_enough_quota_is_reported() -> None:
    assert short(enqueue("cpu=12")) == [Shortage("A", "cpu", used=90, requested=12, limit=100)]
    assert short(enqueue("cpu=16")) == [Shortage("A3", "cpu", used=45, requested=16, limit=60)]
    assert str(enqueue("cpu=16")) == "queue A3 would exceed its limit: cpu 45m used + 16m requested > 60m, 1m short"


def test_an_enqueued_podgroup_is_reserved_on_all_levels() -> None:
    found = session(ORG, NODES, group("g", "A3", "Pending", "cpu=10"))

    found.entered(found.jobs["ns/g"])

    assert {
        name: dict(node.amounts(INQUEUE)) for name, node in found.queues.tree.nodes.items() if name in ("A3", "A")
    } == {
        "A3": {"cpu": 10},
        "A": {"cpu": 10},
    }


@pytest.mark.parametrize(
    ("at_leaf", "beside", "asked", "expected"),
    [
        (68, 29, "cpu=2", []),
        (68, 29, "cpu=3", [Shortage("A1", "cpu", used=68, requested=3, limit=70)]),
        (68, 31, "cpu=2", [Shortage("A", "cpu", used=99, requested=2, limit=100)]),
        (68, 99, "memory=2", []),
    ],
)
def test_a_pod_must_fit_on_every_level(at_leaf: int, beside: int, asked: str, expected: list[Shortage]) -> None:
    found = used(session(ORG, NODES), A1=(at_leaf, 0, 0), A3=(beside, 0, 0))

    assert short(found.allocatable("A1", task(asked))) == expected


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        ("A", "queue A has children; only a leaf takes work"),
        ("shut", "queue shut is Closed"),
        ("gone", "the queue does not exist"),
    ],
)
def test_a_parent_closed_or_missing_queue_admits_no_pods(queue: str, why: str) -> None:
    found = session(ORG + "shut Closed", NODES)

    assert str(found.allocatable(queue, task("cpu=1"))) == why


def test_a_podgroup_in_a_queue_with_children_stops_every_queue() -> None:
    found = session(ORG, NODES, group("wrong", "A"))

    assert str(found.allocatable("B", task("cpu=1"))) == (
        "no queue is served: PodGroup ns/wrong is in queue A, which has children"
    )


def test_one_resource_below_the_deserved_amount_is_enough_to_reclaim() -> None:
    found = session("Q des:cpu=4,memory=8", NODES, running("r", "Q", "cpu=3,memory=9"))

    assert found.preemptive("Q", task("cpu=1,memory=1")) is None
    assert short(found.preemptive("Q", task("cpu=2,memory=1"))) == [
        Shortage("Q", "cpu", used=3, requested=2, limit=4),
        Shortage("Q", "memory", used=9, requested=1, limit=8),
    ]


def test_a_queue_does_not_reclaim_beyond_its_own_limit() -> None:
    found = session("Q des:cpu=4 cap:cpu=2", NODES, running("r", "Q", "cpu=1"))

    assert short(found.preemptive("Q", task("cpu=2"))) == [Shortage("Q", "cpu", used=1, requested=2, limit=2)]


def test_the_deserved_amount_of_an_ancestor_counts_only_if_configured() -> None:
    tree = "P des:cpu=4\n  Q"

    assert session(tree, NODES).preemptive("Q", task("cpu=1")) is not None
    assert session(tree, NODES, level=1).preemptive("Q", task("cpu=1")) is None
    assert session(tree, NODES, level=1).preemptive("Q", task("cpu=5")) is not None


SHARES = """
O1 des:cpu=60
  O1a des:cpu=30
O2 des:cpu=40
  O2a des:cpu=240
"""


def test_leaves_are_compared_by_their_first_different_ancestors() -> None:
    found = session(SHARES, NODES, running("a", "O1a", "cpu=30"), running("b", "O2a", "cpu=24"))

    assert compare_queues(found, "O1a", "O2a") < 0


def test_queue_priority_is_compared_before_shares() -> None:
    found = session(
        SHARES.replace("O2a", "O2a prio:1"), NODES, running("a", "O1a", "cpu=30"), running("b", "O2a", "cpu=24")
    )

    assert compare_queues(found, "O1a", "O2a") > 0


def test_leaves_precede_parents_and_queues_below_their_deserved_amount_precede_others() -> None:
    found = session(SHARES + "free\nfull des:cpu=1", NODES, running("f", "full", "cpu=1"))

    assert compare_queues(found, "free", "O1") < 0
    assert compare_queues(found, "full", "free") < 0


def test_the_share_of_an_ancestor_does_not_change_during_a_session() -> None:
    found = session(SHARES, NODES, running("a", "O1a", "cpu=30"), group("g", "O2a"), pod("p", "g", "cpu=32"))
    assert compare_queues(found, "O2a", "O1a") < 0

    found.allocate(found.jobs["ns/g"].tasks["ns/p"], found.rooms["n1"])

    assert compare_queues(found, "O2a", "O1a") < 0


def test_the_capacity_plugin_can_be_called_without_a_session() -> None:
    found = session(ORG, NODES)
    plugin = Capacity(found.queues)

    assert plugin.allocatable("A1", task("cpu=70")) is None
    assert plugin.allocatable("A1", task("cpu=71")) is not None


@pytest.mark.parametrize(("written", "level"), [(2, 2), (-1, 0), (None, 0), ("2", 0), (2.0, 0), (True, 0)])
def test_an_ancestor_reclaim_level_that_is_not_an_integer_is_ignored(written: object, level: int) -> None:
    settings = PluginSettings("capacity", arguments={"ancestorReclaimLevel": written})
    capacity = PLUGINS["capacity"](settings, SessionWorld(hierarchy=True, flat=False))

    assert isinstance(capacity, Capacity)
    assert (capacity.settings.ancestor_reclaim_level, type(capacity.settings.ancestor_reclaim_level)) == (level, int)
