"""Pods of admitted Workloads get their places in any order of events."""

from __future__ import annotations

import random

import pytest

from reconciler.controllers.topology import ungating
from reconciler.core.commands import ReadObject
from reconciler.core.records import InFlight
from scheduling.objects.times import SECOND
from scheduling.topology.assignment import HOSTNAME
from tests.profiles import seeds_of_long_runs
from tests.reconciler.controllers.topology.running_work import GATE, INDEX, POD, WORK, K, RunningWork
from tests.reconciler.failing import backoffs_end, fail_for_bad


def test_pods_get_their_places_in_the_order_of_their_ranks() -> None:
    work = RunningWork()
    work.workload("n1=2 n2=1")
    for name, rank in (("c", 2), ("a", 1), ("b", 0)):
        work.pod(name, rank)
    work.rounds(5)

    assert work.at() == {"a": "n1", "b": "n1", "c": "n2"}


def test_a_pod_keeps_its_other_gates_and_selectors() -> None:
    work = RunningWork()
    work.workload("n1=1")
    work.pod("a", 0, schedulingGates=[{"name": "example.com/mine"}, {"name": GATE}], nodeSelector={"pool": "gpu"})
    work.rounds(5)

    spec = work.objects[POD, "ns/a"]["spec"]
    assert spec["schedulingGates"] == [{"name": "example.com/mine"}]
    assert spec["nodeSelector"] == {"pool": "gpu", HOSTNAME: "n1"}


def test_pods_stay_gated_until_their_workload_is_admitted_and_while_it_is_evicted() -> None:
    work = RunningWork()
    work.pod("a", 0)
    work.rounds(3)
    assert work.at() == {"a": ""}

    work.workload("n1=1")
    work.condition("Evicted", "Preempted")
    work.rounds(3)
    assert work.at() == {"a": ""}


def test_the_place_of_a_deleted_or_failed_pod_is_used_by_the_next_pod_of_its_rank() -> None:
    work = RunningWork()
    work.workload("n1=1 n2=1")
    work.pod("a", 0)
    work.pod("b", 1)
    work.rounds(5)

    work.pod("a2", 0)
    work.rounds(5)
    assert work.at()["a2"] == "", "there are as many Pods as places"
    work.edit((POD, "ns/a"), {"status": {"phase": "Failed"}})
    work.rounds(5)
    assert work.at()["a2"] == "n1"

    work.remove((POD, "ns/b"))
    work.pod("b", 1)
    work.rounds(5)
    assert work.at()["b"] == "n2"


def test_without_ranks_pods_fill_the_domains_in_the_order_of_their_creation() -> None:
    work = RunningWork()
    work.workload("n1=1 n2=2", topologyRequest={})
    for name in "abcd":
        work.pod(name)
    work.rounds(5)

    assert work.at() == {"a": "n1", "b": "n2", "c": "n2", "d": ""}


def test_pods_bound_for_an_unhealthy_node_wait_for_its_replacement() -> None:
    work = RunningWork()
    work.workload("n1=1 n2=1", lost=("n1",))
    work.pod("a", 0)
    work.pod("b", 1)
    work.rounds(5)
    assert work.at() == {"a": "", "b": "n2"}

    work.places("n2=1 n3=1")
    work.rounds(5)
    assert sorted(work.at().values()) == ["n2", "n3"]


@pytest.mark.parametrize("ranked", [True, False])
@pytest.mark.parametrize("seed", seeds_of_long_runs(6))
def test_random_crashes_assign_no_place_twice_and_leave_no_pod_gated(seed: int, ranked: bool) -> None:
    """Pods are created and deleted, and the process crashes after any number of writes."""
    chance, work = random.Random(seed), RunningWork()
    counts = {f"n{number}": chance.randint(1, 3) for number in range(4)}
    work.workload(" ".join(f"{host}={count}" for host, count in counts.items()))
    ranks, made = range(sum(counts.values())), 0
    for _ in range(30):
        match chance.choice(("make", "make", "make", "end", "write", "restart")):
            case "make":
                free = [rank for rank in ranks if not _of_rank(work, rank)]
                for rank in free[: chance.randint(1, 4)]:
                    made += 1
                    work.pod(f"p{made}", rank)
                    work.edit((POD, f"ns/p{made}"), {"metadata": {"labels": {"rank": f"r{rank}"}}})
                    if not ranked:
                        work.edit((POD, f"ns/p{made}"), {"metadata": {"labels": {INDEX: None}}})
            case "end":
                if pods := sorted(key for key in work.objects if key[0] == POD):
                    work.remove(chance.choice(pods))
            case "write":
                work.left = chance.randint(0, 3)
                work.rounds(2)
                work.left = None
                work.restart()
            case _:
                work.restart()
        work.rounds(chance.randint(0, 2))
        _holds(work, counts)
    for rank in (rank for rank in ranks if not _of_rank(work, rank)):
        work.pod(f"last{rank}", rank if ranked else None)
    work.rounds(8)
    _holds(work, counts)
    assert "" not in work.at().values(), "there is a place for each"


def _of_rank(work: RunningWork, rank: int) -> list[str]:
    pods = ((key[1], each["metadata"]["labels"]) for key, each in work.objects.items() if key[0] == POD)
    return [name for name, labels in pods if labels.get("rank") == f"r{rank}"]


def _holds(work: RunningWork, counts: dict[str, int]) -> None:
    hosts = [*work.at().values()]
    assert all(hosts.count(host) <= count for host, count in counts.items()), "a place was given twice"


def test_a_write_without_an_answer_keeps_its_place_and_blocks_no_other_pod() -> None:
    """The write may have been executed, so the place is used, although the other Pod is first in order."""
    work = RunningWork()
    work.workload("n1=1 n2=1", topologyRequest={})
    work.pod("b")
    work.left = 0
    work.rounds(3)
    assert work.at() == {"b": ""}

    work.left = None
    work.pod("a")
    work.rounds(3)
    assert work.at() == {"a": "n2", "b": ""}


def test_a_pod_that_another_controller_writes_is_ungated_after_that() -> None:
    work = RunningWork()
    work.workload("n1=1 n2=1")
    core = work.loop.core
    work.pod("a", 0)
    core.state.records.send((POD, "ns/a"), InFlight(ReadObject((POD, "ns/a"))))
    work.pod("b", 1)
    work.rounds(3)
    assert work.at() == {"a": "", "b": "n2"}

    core.state.records.land((POD, "ns/a"))
    core.informer.freed((POD, "ns/a"), work.now)
    core.state.records.tidy((POD, "ns/a"))
    work.rounds(3)
    assert work.at() == {"a": "n1", "b": "n2"}


# --- what a tenant may try


def test_a_pod_that_takes_its_gate_off_itself_is_deleted_and_its_place_stays_free() -> None:
    work = RunningWork()
    work.workload("n1=1 n2=1")
    work.pod("a", 0)
    work.pod("b", 1, schedulingGates=None, nodeSelector={HOSTNAME: "n9"})
    work.rounds(5)
    assert work.at() == {"a": "n1", "b": "n9"}, "its job may be about to delete it"

    work.rounds(5, apart=6 * SECOND)
    assert work.at() == {"a": "n1"}
    assert ("MisplacedPodDeleted", "Pod") in work.told()

    work.pod("b2", 1)
    work.rounds(5)
    assert work.at() == {"a": "n1", "b2": "n2"}


def test_a_pod_without_a_place_does_not_disturb_the_order_of_the_others() -> None:
    work = RunningWork()
    work.workload("n1=1 n2=1 n3=1")
    work.pod("thief", 0, schedulingGates=None, nodeSelector={HOSTNAME: "n9"})
    work.pod("c", 2)
    work.pod("b", 1)
    work.rounds(5)

    assert work.at() == {"thief": "n9", "b": "n2", "c": "n3"}


def test_a_pod_that_takes_the_place_of_another_is_deleted() -> None:
    work = RunningWork()
    work.workload("n1=1 n2=1")
    work.pod("a", 0)
    work.rounds(5)
    work.pod("b", 1, schedulingGates=None, nodeSelector={HOSTNAME: "n1"})
    work.rounds(8, apart=6 * SECOND)

    assert work.at() == {"a": "n1"}


def test_a_duplicate_rank_takes_no_place_from_others() -> None:
    """With two Pods of one rank all are placed in order, as in Kueue."""
    work = RunningWork()
    work.workload("n1=1 n2=1")
    work.pod("a", 1)
    work.pod("b", 1)
    work.pod("c", 7)
    work.rounds(5)

    assert sorted(work.at().values()) == ["", "n1", "n2"]


def test_a_selector_that_contradicts_the_place_keeps_a_pod_gated_and_is_reported() -> None:
    work = RunningWork()
    work.workload("n1=1 n2=1")
    work.pod("a", 0, nodeSelector={HOSTNAME: "n7"})
    work.pod("b", 1)
    work.rounds(5)

    assert work.at() == {"a": "", "b": "n2"}
    assert ("CannotPlacePod", "Pod") in work.told()
    assert not [action for (_, name), action in work.writes if name == "ns/a"]


def test_an_offset_that_is_not_a_number_is_reported() -> None:
    work = RunningWork()
    work.workload("n1=1")
    work.pod("a", 0)
    work.edit((POD, "ns/a"), {"metadata": {"annotations": {f"{K}pod-index-offset": "one"}}})
    work.pod("b", 0)
    work.rounds(5)
    work.edit((POD, "ns/b"), {"metadata": {"annotations": {f"{K}pod-index-offset": "one"}}})
    work.remove((POD, "ns/a"))
    work.rounds(5)

    assert ("CannotPlacePod", "Pod") in work.told()


def test_a_bad_offset_is_reported_about_the_pod_that_has_it() -> None:
    """The oldest Pod of the Workload is of another pod set."""
    work = RunningWork()
    work.workload("n1=1")
    (pod_set,) = work.objects[WORK, "ns/w"]["spec"]["podSets"]
    (entry,) = work.objects[WORK, "ns/w"]["status"]["admission"]["podSetAssignments"]
    entries = [entry, {**entry, "name": "other"}]
    spec, status = {"podSets": [pod_set, {**pod_set, "name": "other"}]}, {"admission": {"podSetAssignments": entries}}
    work.edit((WORK, "ns/w"), {"spec": spec, "status": status})
    work.pod("a", 0)
    work.pod("b", 0)
    work.edit((POD, "ns/b"), {"metadata": {"labels": {f"{K}podset": "other"}}})
    work.edit((POD, "ns/b"), {"metadata": {"annotations": {f"{K}pod-index-offset": "one"}}})
    work.rounds(5)

    assert ("CannotPlacePod", "b") in work.reported
    assert ("CannotPlacePod", "a") not in work.reported


def test_pods_of_a_finished_workload_are_not_changed() -> None:
    work = RunningWork()
    work.workload("n1=1")
    work.condition("Finished", "Succeeded")
    work.pod("a", 0)
    work.pod("b", 0, schedulingGates=None)
    work.rounds(8, apart=6 * SECOND)

    assert work.at() == {"a": "", "b": None}
    assert work.objects[WORK, "ns/w"]


def test_pods_that_fail_to_be_placed_do_not_block_others(monkeypatch: pytest.MonkeyPatch) -> None:
    work = RunningWork()
    fail_for_bad(monkeypatch, ungating, "misplaced")
    for name in ("bad", "good"):
        work.workload("n1=1", name)
        work.pod(name, 0, name)
    work.rounds(5)

    assert work.at() == {"bad": "", "good": "n1"}
    monkeypatch.undo()
    backoffs_end(work)
    assert work.at() == {"bad": "n1", "good": "n1"}
