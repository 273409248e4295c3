"""Pods pass the gate if Volcano's queues have quota, gangs pass as a whole, and invalid objects stop no others."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from scheduling.queue_tree.amounts import Shortage
from scheduling.volcano.gates.gang import GatedGang
from scheduling.volcano.gates.gate_queues import PodWait
from scheduling.volcano.gates.gate_turn import DecisionRound
from scheduling.volcano.gates.gatekeeper import VolcanoGatekeeper
from tests.scheduling.calls import calls
from tests.scheduling.volcano.gate import GATE, Gate, gated
from tests.scheduling.volcano.manifests import Manifest, pod_group, priority_class, queue
from tests.scheduling.volcano.manifests import pod as volcano_pod

TREE = (
    queue("root"),
    queue("org", "root", capability={"cpu": "10"}),
    queue("ml", "org", capability={"cpu": "4"}),
    queue("web", "org"),
)


def reason(gate: Gate, name: str) -> tuple[str, str]:
    found = gate.why(name)
    assert found is not None, name
    return found.reason, found.queue


def some(count: int, prefix: str = "p", group: str = "g", **more: Any) -> list[Manifest]:
    return [gated(f"{prefix}{number}", group, at=number, **more) for number in range(count)]


def bound(pod: Manifest) -> Manifest:
    return {**pod, "spec": {**pod["spec"], "nodeName": "n"}}


# --- quota


def test_pods_are_admitted_while_their_queue_has_quota_and_report_the_shortage() -> None:
    gate = Gate(*TREE, pod_group("g", "ml"), *some(5))

    assert gate.settle() == ["p0", "p1", "p2", "p3"]
    assert gate.why("p4") == PodWait("NotEnoughQueueQuota", "ml", "", (Shortage("ml", "cpu", 4000, 1000, 4000),))
    assert gate.settle() == []

    gate.end("p1")
    assert gate.settle() == ["p4"]
    assert gate.why("p4") is None


def test_each_ancestor_queue_limits_as_well() -> None:
    gate = Gate(*TREE, pod_group("g", "ml"), pod_group("w", "web"), *some(9, "w", "w"), *some(3))

    assert gate.settle() == ["p0", "p1", "p2", *(f"w{number}" for number in range(7))]
    assert reason(gate, "w7") == ("NotEnoughQueueQuota", "org")
    gate.end("p0")
    assert gate.settle() == ["w7"]


def test_guarantees_of_other_queues_are_reserved() -> None:
    kept = queue("kept", "org", guarantee={"cpu": "7"})
    gate = Gate(*TREE, kept, pod_group("w", "web"), pod_group("k", "kept"), *some(5, "w", "w"))

    assert gate.settle() == ["w0", "w1", "w2"]
    assert reason(gate, "w3") == ("NotEnoughQueueQuota", "web")
    gate.put(*some(8, "k", "k"))
    assert len(gate.settle()) == 7

    gate.drop("Queue", "kept")
    assert reason(gate, "k7") == ("QueueNotFound", "kept")


def test_a_device_without_a_capability_is_unlimited_and_with_0_it_is_denied() -> None:
    gpu = {"nvidia.com/gpu": "1"}
    gate = Gate(
        queue("free", "root"),
        queue("none", "root", capability={"nvidia.com/gpu": "0"}),
        *(queue("one", "root", capability=gpu), queue("below", "one")),
        *(pod_group(name, name) for name in ("free", "none", "below")),
        *(gated(f"{name}{n}", name, **gpu) for name in ("free", "none", "below") for n in (1, 2)),
    )

    assert sorted(gate.settle()) == ["below1", "free1", "free2"]
    assert reason(gate, "none1") == ("NotEnoughQueueQuota", "none")
    assert reason(gate, "below2") == ("NotEnoughQueueQuota", "below")


def test_a_capability_of_root_limits_what_it_does_not_name_to_0_as_in_volcano() -> None:
    gate = Gate(queue("root", capability={"cpu": "4"}), queue("ml", "root"), pod_group("g", "ml"))
    gate.put(gated("cpu"), gated("memory", memory="1Gi"))

    assert gate.settle() == ["cpu"]
    assert reason(gate, "memory")[0] == "NotEnoughQueueQuota"


def test_a_changed_capability_counts_at_once_and_evicts_no_pod() -> None:
    gate = Gate(*TREE, pod_group("g", "ml"), *some(6))
    assert len(gate.settle()) == 4
    gate.put(queue("ml", "org", capability={"cpu": "5"}))
    assert gate.settle() == ["p4"]

    gate.put(queue("ml", "org", capability={"cpu": "1"}))
    gate.end("p0", "p1", "p2", "p3")
    assert gate.settle() == []
    gate.end("p4")
    assert gate.settle() == ["p5"]


@pytest.mark.parametrize("state", ["Closing", "Closed", "Unknown"])
def test_a_queue_that_is_not_open_and_its_children_admit_nothing_new(state: str) -> None:
    closed = {**queue("org", "root"), "status": {"state": state}}
    gate = Gate(*TREE, pod_group("g", "ml"), *some(1))
    gate.settle()
    gate.put(closed, gated("late"))

    assert gate.settle() == []
    assert reason(gate, "late") == ("QueueNotOpen", "org")
    gate.put(queue("org", "root"))
    assert gate.settle() == ["late"]


# --- gangs


def test_a_gang_is_admitted_as_a_whole_and_extra_members_one_by_one() -> None:
    gate = Gate(*TREE, pod_group("first", "ml"), pod_group("g", "ml", 3), gated("a", "first"), gated("b", "first"))
    gate.settle()
    gate.put(*some(5))
    assert gate.settle() == []
    found = gate.why("p4")
    assert found is not None
    assert found.lacks == (Shortage("ml", "cpu", 2000, 3000, 4000),)
    assert found.message == "3 members pass together"

    gate.end("a")
    assert gate.settle() == ["p0", "p1", "p2"]
    assert reason(gate, "p3") == ("NotEnoughQueueQuota", "ml")
    gate.end("b")
    assert gate.settle() == ["p3"]


def test_an_incomplete_gang_is_not_admitted_and_reserves_nothing() -> None:
    gate = Gate(*TREE, pod_group("g", "ml", 4), pod_group("other", "ml"), *some(3), *some(4, "o", "other"))

    assert gate.settle() == ["o0", "o1", "o2", "o3"]
    assert gate.why("p0") == PodWait("WaitsForGang", "ml", "not all of the 4 members that start together exist yet")
    gate.put(gated("p3"))
    gate.end("o0", "o1", "o2", "o3")
    assert gate.settle() == ["p0", "p3", "p1", "p2"]


def test_each_task_has_its_own_minimum() -> None:
    group = pod_group("g", "ml", 3, minTaskMember={"ps": 1, "worker": 2})
    gate = Gate(*TREE, group, *(gated(f"w{n}", role="worker", at=n) for n in range(3)))
    assert gate.settle() == []
    message = "not all of the 1 members of task ps that start together exist yet"
    assert gate.why("w0") == PodWait("WaitsForGang", "ml", message)

    server = gated("ps", at=9)
    server["metadata"]["labels"]["volcano.sh/task-spec"] = "ps"  # a label names the task as well
    gate.put(server, queue("ml", "org", capability={"cpu": "3"}))
    assert sorted(gate.settle()) == ["ps", "w0", "w1"]


def test_a_replacement_of_a_gang_member_is_admitted_only_if_it_fits() -> None:
    gate = Gate(*TREE, pod_group("g", "ml", 3), pod_group("z", "ml"), *some(3))
    gate.settle()
    gate.put(gated("z0", "z"), gated("z1", "z"))
    gate.settle()
    gate.remove("p0")
    assert gate.settle() == ["z1"]

    gate.put(gated("again"))
    assert gate.settle() == []
    assert reason(gate, "again") == ("NotEnoughQueueQuota", "ml")
    gate.end("z0")
    assert gate.settle() == ["again"]


def test_a_gang_with_lost_writes_is_completed_before_other_pods_are_admitted() -> None:
    gate = Gate(*TREE, pod_group("g", "ml", 4), pod_group("w", "web", priorityClassName="high"), *some(4))
    gate.put(queue("org", "root", capability={"cpu": "4"}), priority_class("high", 9))
    gate.store(gate.keeper.decide()[:2])
    gate.put(*some(4, "w", "w"))
    gate.restart()

    assert gate.settle() == ["p2", "p3"]


def test_a_failed_write_of_a_member_releases_its_quota_and_is_tried_again() -> None:
    gate = Gate(*TREE, pod_group("g", "ml", 4), *some(4))
    passing = gate.keeper.decide()
    gate.store(passing[:3])
    gate.put(queue("ml", "org", capability={"cpu": "3"}))
    gate.keeper.forget_decision(passing[3])
    assert gate.keeper.decide() == []
    assert reason(gate, "p3") == ("NotEnoughQueueQuota", "ml")

    gate.end("p0")
    assert gate.settle() == ["p3"]


# --- order


def test_queues_are_ordered_by_deserved_share_and_podgroups_by_priority_and_age() -> None:
    half = {"cpu": "2"}
    gate = Gate(
        queue("org", "root", capability={"cpu": "4"}),
        *(queue("a", "org", deserved=half), queue("b", "org", deserved=half)),
        *(priority_class("high", 10), pod_group("a-late", "a", priorityClassName="high"), pod_group("a-early", "a")),
        pod_group("b", "b"),
        *some(4, "e", "a-early"),
        *some(1, "l", "a-late"),
        *some(4, "b", "b"),
    )

    assert gate.settle() == ["l0", "b0", "e0", "b1"]


def test_a_podgroup_that_has_not_started_comes_before_more_members_of_an_older_one() -> None:
    gate = Gate(*TREE, pod_group("g", "ml"), *some(8))
    assert len(gate.settle()) == 4
    gate.put(pod_group("new", "ml", 2), *some(3, "n", "new", cpu="2"))
    assert gate.settle() == []

    gate.end("p0", "p1", "p2", "p3")
    assert gate.settle() == ["n0", "n1"]
    gate.end("n0", "n1")
    assert gate.settle() == ["p4", "p5", "p6", "p7"], "both have started, and the older one comes first"


# --- what is wrong stops nobody else


def test_a_podgroup_in_a_queue_with_children_waits_alone() -> None:
    gate = Gate(*TREE, pod_group("inner", "org"), pod_group("g", "ml"), gated("i", "inner"), *some(1))

    assert gate.settle() == ["p0"]
    assert gate.why("i") == PodWait("QueueHasChildren", "org", "has children; only a queue without children takes work")


@pytest.mark.parametrize(
    "wrong",
    [
        {"capability": {"cpu": "lots"}},
        {"deserved": {"cpu": "-1"}},
        {"guarantee": {"cpu": [1]}},
        {"capability": ["cpu"]},
    ],
)
def test_a_queue_that_cannot_be_read_admits_nothing_new_there_and_below(wrong: dict[str, Any]) -> None:
    gate = Gate(*TREE, queue("bad", "org", **wrong), queue("below", "bad"), pod_group("b", "below"))
    gate.put(pod_group("g", "ml"), *some(1), gated("b", "b"))

    assert gate.settle() == ["p0"]
    assert reason(gate, "b") == ("UnreadableQueue", "bad")
    gate.put(queue("bad", "org"))
    assert gate.settle() == ["b"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"guarantee": {"cpu": "2"}}, "its children are guaranteed cpu=3, it has 2"),
        ({"deserved": {"cpu": "2"}, "guarantee": {"cpu": "3"}}, "its children deserve cpu=4, it has 2"),
        ({"capability": {"cpu": "3"}}, "the capability of its child ml is cpu=4, its own is 3"),
    ],
)
def test_a_tree_with_invalid_sums_admits_nothing_if_sums_are_checked(changed: dict[str, Any], message: str) -> None:
    right = {"guarantee": {"cpu": "3"}, "deserved": {"cpu": "4"}, "capability": {"cpu": "10"}}
    part = {"guarantee": {"cpu": "1"}, "deserved": {"cpu": "2"}}
    tree = (
        queue("org", "root", **right),
        queue("ml", "org", capability={"cpu": "4"}, guarantee={"cpu": "2"}, deserved={"cpu": "2"}),
        queue("web", "org", **part),
        queue("free", "root"),
    )
    gate = Gate(*tree, pod_group("f", "free"), *some(1, "f", "f"), checks_sums=True)
    assert gate.settle() == ["f0"]

    gate.put(queue("org", "root", **{**right, **changed}), gated("f1", "f", at=1))
    assert gate.settle() == []
    assert gate.why("f1") == PodWait("BrokenQueueTree", "org", message)

    gate.put(queue("org", "root", **right))
    assert gate.settle() == ["f1"]


def test_the_sums_ignore_the_limit_of_root_if_it_follows_the_nodes() -> None:
    tree = (queue("root", None, capability={"cpu": "3"}), queue("free", "root", capability={"cpu": "4"}))
    work = (pod_group("f", "free"), *some(1, "f", "f"))

    follows = Gate(*tree, *work, checks_sums=True, root_from_nodes=True)
    assert follows.settle() == ["f0"]
    fixed = Gate(*tree, *work, checks_sums=True)
    assert fixed.settle() == []


def test_a_cycle_or_a_missing_parent_stops_only_the_queues_below() -> None:
    wrong = (queue("x", "y"), queue("y", "x"), queue("leaf", "x"), queue("orphan", "nowhere"))
    gate = Gate(*TREE, *wrong, pod_group("c", "leaf"), pod_group("o", "orphan"), pod_group("g", "ml"))
    gate.put(gated("c", "c"), gated("o", "o"), *some(1))

    assert gate.settle() == ["p0"]
    assert reason(gate, "c")[0] == reason(gate, "o")[0] == "BrokenQueueTree"
    gate.put(queue("nowhere", "root"), queue("y", "root"))
    assert sorted(gate.settle()) == ["c", "o"]


def test_pods_with_device_claims_are_not_admitted_to_queues_that_limit_devices() -> None:
    gate = Gate(
        queue("dra", "root", capability={"deviceclass/gpu.example.com": "2", "cores.deviceclass/gpu": "4", "cpu": "4"}),
        *(queue("free", "root"), pod_group("d", "dra"), pod_group("f", "free")),
    )
    for name, group in (("d", "d"), ("f", "f")):
        made = gated(name, group)
        made["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "mine"}]
        gate.put(made)
    gate.put(gated("plain", "d"))

    gate.put(gated("named", "d", **{"deviceclass.resource.kubernetes.io/gpu.example.com": "8"}))

    assert sorted(gate.settle()) == ["f", "plain"]
    assert reason(gate, "d") == reason(gate, "named") == ("DevicesNotCounted", "dra")


def test_pods_with_the_gate_of_another_project_are_ignored() -> None:
    gate = Gate(*TREE, pod_group("g", "ml"))
    gate.keeper = VolcanoGatekeeper(others=frozenset(["yunikorn"]))
    gate.put(*gate.objects.values(), *some(2))
    theirs = gated("theirs")
    theirs["metadata"]["labels"][GATE] = "yunikorn"
    gate.put(theirs)

    assert gate.settle() == ["p0", "p1"]
    assert gate.why("theirs") is None


# --- a tenant writes PodGroups


@pytest.mark.parametrize("members", [0, -3, 1, "many", None])
def test_an_odd_minimum_does_not_admit_more_pods_than_fit(members: object) -> None:
    group = pod_group("g", "ml")
    group["spec"] |= {"minMember": members, "minResources": {"cpu": "0"}, "minTaskMember": {"x": -5, "y": "z"}}
    gate = Gate(*TREE, group, *some(6))

    assert len(gate.settle()) == 4


def test_a_podgroup_with_a_huge_minimum_waits_and_stops_no_other() -> None:
    gate = Gate(*TREE, pod_group("g", "ml", 10**18, minResources={"cpu": "1k"}), pod_group("h", "ml"), *some(2))
    gate.put(gated("h", "h"))

    assert gate.settle() == ["h"]
    assert reason(gate, "p0") == ("WaitsForGang", "ml")


def test_a_podgroup_that_changes_its_queue_keeps_its_usage_in_the_old_one() -> None:
    gate = Gate(*TREE, pod_group("g", "ml"), *some(6))
    gate.settle()
    gate.put(pod_group("g", "web"))
    assert gate.settle() == ["p4", "p5"]
    gate.put(pod_group("h", "ml"), gated("h", "h"))
    assert gate.settle() == []
    assert reason(gate, "h") == ("NotEnoughQueueQuota", "ml")


def test_usage_of_a_podgroup_that_is_deleted_and_created_again_still_counts() -> None:
    gate = Gate(*TREE, pod_group("g", "ml"), *some(6))
    gate.settle()
    gate.drop("PodGroup", "ml/g")
    assert gate.settle() == []
    assert gate.why("p4") == PodWait("NoPodGroup", message="PodGroup ml/g does not exist")

    gate.put(pod_group("g", "ml"))
    assert gate.settle() == []
    gate.end("p0")
    assert gate.settle() == ["p4"]


def test_a_minimum_that_is_raised_later_gives_no_precedence() -> None:
    gate = Gate(*TREE, pod_group("g", "ml"), pod_group("high", "ml", priorityClassName="high"), *some(4))
    gate.put(priority_class("high", 5))
    gate.settle()
    gate.put(pod_group("g", "ml", 10**6), *some(4, "q"), gated("h", "high"))
    gate.end("p0")

    assert gate.settle() == ["h"]


def test_a_podgroup_without_a_class_has_the_priority_of_the_global_default() -> None:
    usual = {**priority_class("usual", 9), "globalDefault": True}
    gate = Gate(*TREE, pod_group("low", "ml", priorityClassName="low"), pod_group("none", "ml"))
    gate.put(priority_class("low", 5), gated("first", "low", "3", at=1), gated("second", "none", "3", at=2))

    gate.put(usual)
    assert gate.settle() == ["second"]

    gate.put({**usual, "globalDefault": False})
    gate.end("second")
    gate.put(gated("third", "none", "3", at=3))
    assert gate.settle() == ["first"]


def test_a_pod_without_a_podgroup_waits_and_reports_it() -> None:
    gate = Gate(*TREE, gated("alone", ""), gated("lost", "nothing"))

    assert gate.settle() == []
    assert gate.why("alone") == PodWait("NoPodGroup", message="names no PodGroup, so there is no queue for it")
    assert gate.why("lost") == PodWait("NoPodGroup", message="PodGroup ml/nothing does not exist")
    gate.put(pod_group("nothing", "ml"))
    assert gate.settle() == ["lost"]


def test_members_created_after_their_gang_have_no_precedence() -> None:
    """Else a user who starts a gang of small Pods and deletes them would be first indefinitely."""
    gate = Gate(*TREE, pod_group("g", "ml", 4), pod_group("high", "ml", priorityClassName="high"), *some(4))
    gate.put(priority_class("high", 5))
    gate.settle()
    gate.remove("p0", "p1", "p2")
    gate.put(gated("later", at=60, cpu="3"), gated("h", "high", "3", at=90))

    assert gate.settle() == ["h"]


@pytest.mark.parametrize("mark", ["", "nobody", "yunikorn"])
def test_a_running_pod_counts_whatever_its_gate_label_is(mark: str) -> None:
    runs = bound(volcano_pod("runs", "g", "4"))
    runs["metadata"]["labels"] = {GATE: mark}
    gate = Gate(*TREE, runs, *some(1), pod_group("g", "ml"))

    assert gate.settle() == []


def test_an_ungated_pod_counts_in_the_queue_of_its_podgroup_not_of_its_annotation() -> None:
    runs = bound(volcano_pod("runs", "g", "3"))
    forged = bound(volcano_pod("forged", "", "4"))
    forged["metadata"]["annotations"] = {GATE + "-admitted": "ml"}
    gate = Gate(*TREE, runs, forged, *some(2), pod_group("g", "ml"))

    assert gate.settle() == ["p0"]


def test_a_pod_that_never_had_the_gate_counts_once_it_has_a_node() -> None:
    """Else a Pod that can never be scheduled fills the queue of others, with a PodGroup that it names later."""
    huge = volcano_pod("huge", "g", "1000000")
    gate = Gate(*TREE, huge, *some(2), pod_group("g", "ml", 2))
    assert gate.settle() == ["p0", "p1"], "it has not begun the gang either"

    gate.put(bound(huge), gated("p2"))
    assert gate.settle() == []
    gate.restart()
    assert gate.settle() == []
    gate.end("huge")
    assert gate.settle() == ["p2"]


def test_a_resized_pod_counts_its_allocated_resources() -> None:
    gate = Gate(*TREE, pod_group("g", "ml"), gated("first", cpu="4"))
    gate.settle()
    pod = gate.objects["Pod", "ml/first"]
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1m"
    name = pod["spec"]["containers"][0]["name"]
    pod["status"] = {"containerStatuses": [{"name": name, "allocatedResources": {"cpu": "4"}}]}
    gate.put(pod, gated("second", cpu="3"))
    assert gate.settle() == []

    pod["status"]["containerStatuses"][0] = {"name": name, "resources": {"requests": {"cpu": "1m"}}}
    gate.put(pod)
    assert gate.settle() == ["second"]


def test_a_pod_of_a_deleted_queue_counts_in_root() -> None:
    gate = Gate(queue("root", capability={"cpu": "2"}), queue("a", "root"), queue("b", "root"))
    gate.put(pod_group("a", "a"), pod_group("b", "b"), *some(1, "a", "a"), *some(2, "b", "b"))
    gate.put(gated("a1", "a"))
    first = gate.settle()
    assert len(first) == 2
    gate.drop("PodGroup", "ml/a")
    gate.drop("Queue", "a")
    assert gate.settle() == []
    gate.restart()
    assert gate.settle() == []
    gate.put(queue("a", "root"))
    assert gate.settle() == []
    gate.end(*first)
    assert gate.settle()


# --- cost


def cost(members: int, minimum: int) -> int:
    """Of a PodGroup whose Pods come one at a time, wait for room, pass, and end one at a time."""
    gate = Gate(*TREE, pod_group("g", "ml", minimum), pod_group("first", "ml"), gated("first", "first", "4"))
    gate.settle()
    pods = some(members, cpu="1m")

    def come_and_go() -> None:
        for each in pods:
            gate.put(each)
            gate.settle()
        gate.end("first")
        assert len(gate.settle()) == members
        for number in range(members):
            gate.end(f"p{number}")
            gate.settle()

    return calls(come_and_go)


@pytest.mark.parametrize("minimum", [1, 5])
def test_the_cost_of_a_large_podgroup_is_linear_in_its_pods(minimum: int) -> None:
    small, large = cost(25, minimum), cost(200, minimum)

    assert large < 8 * small * 1.5


def test_a_status_update_of_a_podgroup_does_not_evaluate_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    group = pod_group("g", "ml", 5)
    gate = Gate(*TREE, group, *some(5))
    gate.settle()
    monkeypatch.setattr(GatedGang, "changes", lambda _: pytest.fail("it was looked at again"))
    gate.put({**group, "status": {"phase": "Pending", "conditions": [{"type": "Unschedulable"}]}})

    assert gate.settle() == []


def test_only_as_many_queues_below_a_full_one_are_tried_as_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"q{number}" for number in range(300)]
    gate = Gate(queue("org", "root", capability={"cpu": "100"}), *(queue(name, "org") for name in names))
    gate.put(
        *(pod_group(name, name) for name in names), *(gated(f"{name}-{n}", name) for name in names for n in (1, 2))
    )
    first = gate.settle()
    assert len(first) == 100
    tried: list[str] = []
    refusal = gate.keeper.queues.refusal
    monkeypatch.setattr(gate.keeper.queues, "refusal", lambda name, need: tried.append(name) or refusal(name, need))

    gate.end(first[0], first[1])
    assert len(gate.settle()) == 2
    assert len(tried) <= 4


def decision(members: int) -> int:
    """Of a gang, and of as many Pods that all ask for something else."""
    gate = Gate(queue("q", "root"), pod_group("g", "q", members), pod_group("mixed", "q"))
    gate.put(*(gated(f"p{number}", at=number) for number in range(members)))
    gate.put(*(gated(f"m{number}", "mixed", f"{number + 1}m") for number in range(members)))
    passing: list[str] = []
    count = calls(lambda: passing.extend(gate.keeper.decide()))
    assert len(passing) == 2 * members
    return count


def test_the_cost_of_a_gang_with_different_requests_is_linear() -> None:
    assert decision(800) < 8 * decision(100) * 1.5


def test_pods_that_do_not_fit_are_not_sorted() -> None:
    gate = Gate(queue("q", "root", capability={"cpu": "1m"}), pod_group("mixed", "q", 2))
    gate.put(*(gated(f"m{number}", "mixed", f"{number + 2}m") for number in range(50)))
    assert gate.settle() == []

    gate.put(pod_group("mixed", "q", 1))
    assert calls(gate.settle, of=DecisionRound.compare) == 0


def test_deep_trees_and_huge_amounts_do_not_stop_other_pods() -> None:
    deep = 2 * sys.getrecursionlimit()
    chain = [queue(f"q{number}", f"q{number - 1}" if number else "root") for number in range(deep)]
    huge = queue("huge", "root", guarantee={"cpu": "1e400"}, capability={"cpu": "1e400"})
    gate = Gate(*chain, huge, pod_group("g", chain[-1]["metadata"]["name"]), pod_group("h", "huge"))
    gate.put(gated("p"), gated("h", "h"))

    assert gate.settle() == ["h", "p"]


def test_a_pod_recreated_with_another_preemption_policy_can_be_deleted() -> None:
    first, again = gated("p"), gated("p")
    again["metadata"]["uid"], first["spec"]["preemptionPolicy"] = "uid-again", "Never"
    gate = Gate(*TREE, first)

    gate.put(again)
    gate.remove("p")

    assert gate.keeper.waiting() == []
