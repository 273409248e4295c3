"""`volcano.reclaim`: Pods are reclaimed until queues have their deserved amounts, none needlessly, without cycles."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from cluster.actions import Action, Delete, Evict
from cluster.errors import EvictionBlocked
from policies.configuration.settings import Configuration, Enforce, QuotaReclaim, VolcanoSettings
from reconciler.controllers.volcano.gates import VolcanoGatesController
from reconciler.core.controller import Controller
from reconciler.core.state import ClusterState
from reconciler.objects.observed import Key
from reconciler.objects.outcomes import Failed, Written
from scheduling.objects.times import SECOND
from scheduling.volcano.gates import reclaim, reclaim_search
from scheduling.volcano.gates.gang import PodBatch
from scheduling.volcano.gates.gated_pod import VolcanoGatedPod
from scheduling.volcano.gates.reclaim import PATIENCE
from scheduling.volcano.gates.reclaim_search import ReclaimCandidates, Unit
from tests.builders import Manifest
from tests.profiles import seeds_of_long_runs
from tests.reconciler.controllers.volcano.gate_cluster import GateCluster, pod
from tests.scheduling.volcano.manifests import pod_group, priority_class, queue

ORG = (
    queue("org", "root", capability={"cpu": "4"}, deserved={"cpu": "4"}),
    queue("rich", "org", deserved={"cpu": "2"}),
    queue("poor", "org"),
)


class Reclaiming(GateCluster):
    """Deleted Pods end only with `end_leaving`. Pods in `protected` cannot be evicted."""

    def __init__(self, *objects: Manifest, reclaim: QuotaReclaim = QuotaReclaim.DELETE) -> None:
        self.settings = VolcanoSettings(enforce=Enforce.GATES, reclaim=reclaim)
        self.configuration = Configuration(volcano=self.settings)
        self.protected: set[str] = set()
        super().__init__(*objects)

    def _controllers(self, state: ClusterState) -> list[Controller]:
        self.controller = VolcanoGatesController(state.records, frozenset(), self.settings)
        return [self.controller]

    def asks(self, queue: str, *names: str, members: int = 1, cpu: str = "1", **more: Any) -> None:
        """A PodGroup of the first Pod's name, a second later."""
        self.now += SECOND
        self.add(pod_group(names[0], queue, members, space="dev", **more))
        for name in names:
            self.add(pod(name, names[0], cpu))
        self.wait()

    def remove(self, key: Key, grace: int | None = None) -> None:
        """The API server sets the deletion timestamp first."""
        if key[0] == "Pod" and not self.objects[key]["metadata"].get("deletionTimestamp"):
            self.edit(key, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
        else:
            super().drop(key)

    def _write(self, key: Key, action: Action) -> Written | Failed:
        if isinstance(action, Evict) and action.name in self.protected:
            return Failed(key, action, EvictionBlocked(409, "TooManyRequests", "a disruption budget forbids it"))
        return super()._write(key, action)

    def leaving(self) -> list[str]:
        return sorted(each["metadata"]["name"] for each in self.pods() if each["metadata"].get("deletionTimestamp"))

    def end_leaving(self) -> list[str]:
        left = self.leaving()
        for name in left:
            self.drop(("Pod", f"dev/{name}"))
        self.settle()
        return left

    def wait(self, nanoseconds: int = SECOND) -> None:
        self.now += nanoseconds
        self.settle()

    def deleted(self) -> int:
        return sum(isinstance(action, Delete) for _, action in self.written)


def full(*objects: Manifest, reclaim: QuotaReclaim = QuotaReclaim.DELETE) -> Reclaiming:
    cluster = Reclaiming(*ORG, *objects, reclaim=reclaim)
    for name in ("p1", "p2", "p3", "p4"):
        cluster.asks("poor", name)
    assert cluster.passed() == ["p1", "p2", "p3", "p4"]
    return cluster


def test_a_queue_gets_its_deserved_amount_after_reclaimed_pods_have_ended() -> None:
    cluster = full()
    cluster.asks("rich", "r1")

    assert cluster.leaving() == ["p4"]
    assert cluster.gated() == ["r1"]
    assert cluster.note("r1") == "WaitsForReclaim in rich: 1 Pod is being reclaimed"
    assert "Reclaimed" in cluster.events()

    cluster.end_leaving()
    assert cluster.passed() == ["p1", "p2", "p3", "r1"]


def test_reclaim_messages_name_no_objects_of_the_other_namespace() -> None:
    cluster = full()
    cluster.add(pod_group("secret-run", "rich", 1, space="others"))
    cluster.add(pod("secret-pod", "secret-run", space="others"))
    cluster.wait()

    assert cluster.leaving() == ["p4"]
    said = [(each["involvedObject"]["namespace"], each["reason"], each["message"]) for each in cluster.created()]
    assert ("dev", "Reclaimed", "Reclaimed for queue rich, which has less than it deserves") in said
    waits = [text for space, reason, text in said if (space, reason) == ("others", "WaitsForReclaim")]
    assert waits == ["WaitsForReclaim in rich: 1 Pod is being reclaimed"] * 2, "of the Pod and its PodGroup"


def test_no_pod_is_reclaimed_when_reclaim_is_off() -> None:
    cluster = full(reclaim=QuotaReclaim.OFF)
    cluster.asks("rich", "r1")
    cluster.wait(PATIENCE)

    assert cluster.leaving() == []


def test_reclaim_stops_at_the_deserved_amounts_of_both_queues() -> None:
    cluster = Reclaiming(ORG[0], ORG[1], queue("poor", "org", deserved={"cpu": "2"}))
    for name in ("p1", "p2", "p3"):
        cluster.asks("poor", name)
    for name in ("r1", "r2", "r3"):
        cluster.asks("rich", name)
    for _ in range(5):
        cluster.end_leaving()
        cluster.wait()

    assert cluster.passed() == ["p1", "p2", "r1", "r2"]
    assert cluster.deleted() == 1


def test_a_pod_that_is_too_large_to_reclaim_stays() -> None:
    cluster = Reclaiming(ORG[0], ORG[1], queue("poor", "org", deserved={"cpu": "2"}))
    cluster.asks("poor", "p1", cpu="4")
    cluster.asks("rich", "r1")

    assert cluster.leaving() == []


def test_a_pod_that_is_too_large_does_not_protect_others_of_its_queue() -> None:
    cluster = Reclaiming(ORG[0], ORG[1], queue("poor", "org", deserved={"cpu": "2"}))
    for name in ("p1", "p2"):
        cluster.asks("poor", name, cpu="500m")
    cluster.asks("poor", "large", cpu="3")
    cluster.asks("rich", "r1")

    assert cluster.leaving() == ["p1", "p2"]


def test_sibling_queues_are_reclaimed_first_and_unreclaimable_queues_never() -> None:
    tree = (
        queue("root", capability={"cpu": "4"}),
        queue("a", "root", deserved={"cpu": "2"}),
        queue("a1", "a", deserved={"cpu": "2"}),
        queue("a2", "a"),
        queue("b", "root"),
    )
    cluster = Reclaiming(*tree)
    for name, where in (("x", "a2"), ("y", "b"), ("z", "b"), ("w", "a2")):
        cluster.asks(where, name)
    cluster.asks("a1", "r1")
    assert cluster.leaving() == ["w"], "the sibling's youngest, not the cousin's"

    cluster.end_leaving()
    cluster.asks("a1", "r2")
    assert cluster.leaving() == ["x"]

    kept = queue("b", "root")
    kept["spec"]["reclaimable"] = False
    other = Reclaiming(*tree[:4], kept)
    for name in ("x", "y", "z", "w"):
        other.asks("b", name)
    other.asks("a1", "r1")
    assert other.leaving() == []


def test_a_queue_reclaims_up_to_the_deserved_amount_of_its_ancestor() -> None:
    cluster = Reclaiming(
        queue("root", capability={"cpu": "4"}),
        queue("a", "root", deserved={"cpu": "2"}),
        queue("a1", "a"),
        queue("a2", "a"),
        queue("b", "root"),
    )
    for name in ("w", "x", "y", "z"):
        cluster.asks("b", name)
    for where, name, leaving in (("a1", "r1", ["z"]), ("a2", "r2", ["y"]), ("a1", "r3", [])):
        cluster.asks(where, name)
        assert cluster.leaving() == leaving, name
        cluster.end_leaving()


def test_a_podgroup_reclaims_only_for_its_minimum_members() -> None:
    cluster = full()
    cluster.asks("rich", "r1", "r2")
    assert cluster.leaving() == ["p4"]
    cluster.end_leaving()
    cluster.wait(11 * SECOND)

    assert cluster.leaving() == []
    assert cluster.gated() == ["r2"]
    assert cluster.note("r2").startswith("NotEnoughQueueQuota")

    cluster.edit(("PodGroup", "dev/r1"), {"spec": {"minMember": 2}})
    cluster.wait()
    assert cluster.leaving() == ["p3"], "it needs both now"


def test_a_replacement_of_a_minimum_member_reclaims() -> None:
    cluster = full()
    cluster.asks("rich", "r1", "r2", members=2)
    cluster.end_leaving()
    cluster.drop(("Pod", "dev/r1"))
    cluster.asks("poor", "p5")
    assert cluster.passed() == ["p1", "p2", "p5", "r2"]

    cluster.add(pod("r3", "r1"))
    cluster.wait()
    assert cluster.leaving() == ["p5"]


def test_room_reclaimed_for_a_gang_is_kept_for_it() -> None:
    cluster = full()
    cluster.asks("rich", "r1", "r2", members=2)
    assert cluster.leaving() == ["p3", "p4"]

    cluster.remove(("Pod", "dev/p3"))
    cluster.asks("poor", "p3b")
    assert cluster.gated() == ["p3b", "r1", "r2"], "its controller makes a new one, for which nothing is free"

    cluster.remove(("Pod", "dev/p4"))
    cluster.settle()
    assert cluster.passed() == ["p1", "p2", "r1", "r2"]


def test_a_gang_is_reclaimed_as_a_whole_after_extra_members_of_others() -> None:
    cluster = Reclaiming(*ORG)
    cluster.asks("poor", "g1", "g2", "g3", members=2)
    cluster.asks("poor", "s")
    cluster.asks("rich", "r1")
    assert cluster.leaving() == ["s"], "the youngest PodGroup"
    cluster.end_leaving()
    cluster.asks("rich", "r2")
    assert cluster.leaving() == ["g3"]

    wide = Reclaiming(*ORG)
    wide.asks("poor", "g1", "g2", "g3", "g4", members=4)
    wide.asks("rich", "r1")
    assert wide.leaving() == ["g1", "g2", "g3", "g4"]


def test_a_pod_with_a_disruption_budget_stays_and_another_is_evicted() -> None:
    cluster = full(reclaim=QuotaReclaim.EVICT)
    cluster.protected = {"p4"}
    cluster.asks("rich", "r1")
    for _ in range(3):
        cluster.wait()

    assert cluster.leaving() == ["p3"]
    assert all(isinstance(action, Evict) for _, action in cluster.written if isinstance(action, Delete))


def test_non_preemptable_pods_stay_and_pods_that_never_preempt_wait() -> None:
    cluster = Reclaiming(*ORG)
    kept = pod("kept", "kept", "4")
    kept["metadata"]["annotations"]["volcano.sh/preemptable"] = "false"
    cluster.add(pod_group("kept", "poor", 1, space="dev"))
    cluster.add(kept)
    cluster.settle()
    cluster.asks("rich", "r1")
    assert cluster.passed() == ["kept"]
    assert cluster.leaving() == []

    humble = full()
    made = pod("h", "h")
    made["spec"]["preemptionPolicy"] = "Never"
    humble.add(pod_group("h", "rich", 1, space="dev"))
    humble.add(made)
    humble.wait()
    assert humble.leaving() == []


def test_a_new_process_reclaims_no_more_pods_while_victims_end() -> None:
    cluster = full()
    cluster.asks("rich", "r1")
    cluster.start()
    for _ in range(3):
        cluster.wait()
    assert cluster.leaving() == ["p4"]
    assert cluster.note("r1").startswith("WaitsForReclaim in rich: ")

    cluster.end_leaving()
    assert cluster.passed() == ["p1", "p2", "p3", "r1"]


def test_a_pod_that_never_ends_blocks_reclaim_for_ten_minutes_at_most() -> None:
    cluster = full()
    cluster.asks("rich", "r1")
    cluster.wait(PATIENCE - SECOND * 5)
    assert cluster.leaving() == ["p4"]
    cluster.wait(10 * SECOND)
    cluster.wait()

    assert cluster.leaving() == ["p3", "p4"]


def test_room_kept_for_a_gang_is_released_when_the_gang_ends() -> None:
    cluster = full()
    cluster.asks("rich", "r1")
    cluster.end("r1", "Failed")
    cluster.end_leaving()
    cluster.asks("poor", "p5")

    assert cluster.passed() == ["p1", "p2", "p3", "p5"]


@pytest.mark.parametrize("seed", seeds_of_long_runs(6))
def test_reclaim_between_random_queues_comes_to_an_end(seed: int) -> None:
    """The controller of a reclaimed Pod creates it again, and two gangs never reclaim each other in turn."""
    chance = random.Random(seed)
    tops = [queue(top, "root", deserved={"cpu": str(chance.randint(0, 6))}) for top in "ab"]
    leaves = [
        queue(name, name[0], deserved={"cpu": str(chance.randint(0, 3))}, priority=chance.randint(0, 1))
        for name in ("a1", "a2", "b1", "b2")
    ]
    classes = [priority_class("high", 9), priority_class("low", 1)]
    cluster = Reclaiming(queue("root", capability={"cpu": "10"}), *tops, *leaves, *classes)
    for number in range(14):
        members = chance.randint(1, 3)
        name, where = f"g{number}", f"{chance.choice('ab')}{chance.choice('12')}"
        kind = chance.choice(["high", "low", ""])
        cluster.now += SECOND
        cluster.add(pod_group(name, where, members, space="dev", **({"priorityClassName": kind} if kind else {})))
        for each in range(members + chance.randint(0, 1)):
            cluster.add(pod(f"{name}-{each}", name, str(chance.randint(1, 2))))
        cluster.wait()
        if chance.random() < 0.2:
            cluster.start()
    quiet = 0
    for _ in range(400):
        cluster.wait(2 * SECOND)
        left = cluster.leaving()
        for name in chance.sample(left, chance.randint(0, len(left))):
            made = cluster.objects["Pod", f"dev/{name}"]
            cluster.remove(("Pod", f"dev/{name}"))
            recreate(cluster, made)
        quiet = 0 if left else quiet + 1
        assert used(cluster) <= 10
        if quiet > 3:
            break
    assert quiet > 3, f"{cluster.deleted()} Pods gave way and it never came to rest"
    assert cluster.deleted() < 14 * 8


def recreate(cluster: Reclaiming, made: Manifest) -> None:
    group = made["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
    cpu = made["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    cluster.add(pod(made["metadata"]["name"], group, cpu))


def used(cluster: Reclaiming) -> int:
    return sum(
        int(each["spec"]["containers"][0]["resources"]["requests"]["cpu"])
        for each in cluster.pods()
        if each["metadata"]["name"] in cluster.passed()
    )


COMPETING = (
    queue("org", "root", capability={"cpu": "6"}),
    queue("poor", "org"),
    *(queue(f"rich{number}", "org", deserved={"cpu": "2"}) for number in range(3)),
)


def test_a_search_that_reaches_its_limit_continues_with_the_next_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reclaim_search, "MOST_LOOKED_AT", 0)
    cluster = Reclaiming(*COMPETING)
    for number in range(6):
        cluster.asks("poor", f"p{number}")
    found: dict[int, int] = {}
    choose = reclaim.GateReclaim.choose

    def noted(self: reclaim.GateReclaim, batches: Iterable[PodBatch], now: int) -> None:
        choose(self, batches, now)
        found[now] = len(self.victims)

    monkeypatch.setattr(reclaim.GateReclaim, "choose", noted)
    cluster.now += SECOND
    for number in range(3):
        cluster.add(pod_group(f"r{number}", f"rich{number}", 1, space="dev"))
        cluster.add(pod(f"r{number}", f"r{number}"))
    for _ in range(3):
        cluster.wait()

    first = {count: min(now for now in found if found[now] == count) for count in (1, 2, 3)}
    assert len(cluster.leaving()) == 3, "each queue has its turn"
    assert first[1] + SECOND <= first[2] <= first[3] - SECOND, "one a second"


def test_many_different_podgroups_are_searched_one_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 300 PodGroups of one tenant and 5000 Pods that could not be reclaimed, one decision took eight seconds."""
    monkeypatch.setattr(reclaim_search, "MOST_LOOKED_AT", 0)
    cluster = Reclaiming(ORG[0], ORG[1], queue("poor", "org", deserved={"cpu": "3"}))
    for number in range(4):
        cluster.asks("poor", f"p{number}")
    searched: list[tuple[int, str]] = []
    units_for = reclaim.GateReclaim._units_for

    def noted(self: reclaim.GateReclaim, batch: PodBatch, candidates: ReclaimCandidates) -> list[Unit] | None:
        searched.append((cluster.now, batch.group))
        return units_for(self, batch, candidates)

    monkeypatch.setattr(reclaim.GateReclaim, "_units_for", noted)
    cluster.now += SECOND
    for number, cpu in enumerate(("2", "1500m", "1")):
        cluster.add(pod_group(f"r{number}", "rich", 1, space="dev"))
        cluster.add(pod(f"r{number}", f"r{number}", cpu))
    for _ in range(3):
        cluster.wait()

    assert [group for _, group in searched] == ["dev/r0", "dev/r1", "dev/r2"]
    assert len({now for now, _ in searched}) == 3, "one a second"
    assert len(cluster.leaving()) == 1


def test_a_failed_search_is_not_repeated_before_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that reached its limit started again each second, even after all PodGroups were searched."""
    monkeypatch.setattr(reclaim_search, "MOST_LOOKED_AT", 0)
    cluster = Reclaiming(*COMPETING)
    for number in range(6):
        cluster.asks("poor", f"p{number}")
        cluster.edit(("Pod", f"dev/p{number}"), {"metadata": {"annotations": {"volcano.sh/preemptable": "false"}}})
    searched: list[str] = []
    units_for = reclaim.GateReclaim._units_for

    def noted(self: reclaim.GateReclaim, batch: PodBatch, candidates: ReclaimCandidates) -> list[Unit] | None:
        searched.append(batch.group)
        return units_for(self, batch, candidates)

    monkeypatch.setattr(reclaim.GateReclaim, "_units_for", noted)
    for name in ("r0", "r1"):
        cluster.add(pod_group(name, f"rich{name[1]}", 1, space="dev"))
        cluster.add(pod(name, name))
    for _ in range(6):
        cluster.wait()

    assert sorted(searched) == ["dev/r0", "dev/r1"]

    cluster.edit(("Pod", "dev/p0"), {"metadata": {"annotations": {"volcano.sh/preemptable": "true"}}})
    for _ in range(6):
        cluster.wait()

    assert cluster.leaving() == ["p0"]


def test_a_failed_search_checks_each_pod_once_for_all_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand Pods that cannot be reclaimed were checked again for each of a hundred queues."""
    cluster = Reclaiming(*COMPETING)
    for number in range(6):
        cluster.asks("poor", f"p{number}")
        stays = {"metadata": {"annotations": {"volcano.sh/preemptable": "false"}}}
        cluster.edit(("Pod", f"dev/p{number}"), stays)
    asked: list[str] = []
    may_go = reclaim.GateReclaim._may_go

    def counting(self: reclaim.GateReclaim, pod: VolcanoGatedPod) -> bool:
        asked.append(pod.key)
        return may_go(self, pod)

    monkeypatch.setattr(reclaim.GateReclaim, "_may_go", counting)
    cluster.now += SECOND
    for number in range(3):
        cluster.add(pod_group(f"r{number}", f"rich{number}", 1, space="dev"))
        cluster.add(pod(f"r{number}", f"r{number}"))
    cluster.settle()

    assert cluster.leaving() == []
    assert sorted(asked) == [f"dev/p{number}" for number in range(6)]
