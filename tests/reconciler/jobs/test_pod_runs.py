"""Any order of what users, the scheduler, nodes and our own steps do to a group of Pods."""

from __future__ import annotations

import copy

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cluster.actions import Action
from reconciler.objects.observed import Key
from tests.profiles import times
from tests.reconciler.jobs.pod_world import Manifest, PodWorld, pod
from tests.reconciler.jobs.world import K

SIZE = 3
NAMES = st.sampled_from("abcdefg")


class PodRuns(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = PodWorld(*(pod(name, "g", SIZE, cpu="2" if name == "c" else "1") for name in "abc"))
        self.flying: dict[Key, Action] = {}

    @property
    def queueable(self) -> bool:
        there = self.world.workloads()
        return bool(there) and self.world.read.queueable and not self.world.read.deleting

    @property
    def reserved(self) -> bool:
        there = self.world.workloads()
        return bool(there) and self.world.read.reserved

    @rule()
    def our_writes_are_sent(self) -> None:
        for write in self.world.wanted(lambda *key: key in self.flying):
            if write.action is not None:
                assert write.key not in self.flying
                self.flying[write.key] = write.action

    @precondition(lambda self: bool(self.flying))
    @rule(which=st.integers(0, 9), most=st.integers(1, 4))
    def writes_arrive_in_any_order(self, which: int, most: int) -> None:
        for _ in range(min(most, len(self.flying))):
            key = sorted(self.flying)[which % len(self.flying)]
            self.world.arrive(self.flying.pop(key))

    @rule()
    def a_new_process_takes_over(self) -> None:
        self.flying.clear()
        self.world.restarted()

    @rule(name=NAMES, cpu=st.sampled_from("12"))
    def a_pod_is_created(self, name: str, cpu: str) -> None:
        if name not in self.world.pods():
            self.world.create(pod(name, "g", SIZE, cpu=cpu))

    @rule(name=NAMES)
    def a_pod_is_deleted(self, name: str) -> None:
        if name in self.world.pods():
            self.world.delete(name)

    @rule(name=NAMES)
    def a_pod_gets_a_node(self, name: str) -> None:
        if name in self.world.running() and not self.world.pods()[name]["metadata"].get("deletionTimestamp"):
            self.world.bind(name)

    @rule(name=NAMES, phase=st.sampled_from(["Succeeded", "Failed"]))
    def a_pod_ends(self, name: str, phase: str) -> None:
        if name in self.world.running() and self.world.pods()[name]["spec"].get("nodeName"):
            self.world.end(name, phase)

    @rule()
    def nodes_let_go(self) -> None:
        self.world.kubelet()

    @rule()
    def garbage_is_collected(self) -> None:
        self.world.collect()

    @precondition(lambda self: self.queueable)
    @rule()
    def it_is_admitted(self) -> None:
        self.world.admit()

    @precondition(lambda self: self.reserved and not self.world.read.evicted and not self.world.read.finished)
    @rule()
    def it_is_preempted(self) -> None:
        self.world.preempt()

    @precondition(lambda self: bool(self.world.workloads()))
    @rule()
    def a_user_deletes_the_workload(self) -> None:
        self.world.take_away()

    @invariant()
    def no_more_pods_take_room_than_there_is_quota_for(self) -> None:
        there = self.world.workloads()
        given: dict[str, int] = {}
        if there and self.world.read.reserved and self.world.read.admission is not None:
            done = self.world.read.reclaimable
            given = {
                each.name: (each.count or 0) - done.get(each.name, 0) for each in self.world.read.admission.assignments
            }
        for role in {self._role(name) for name in self.world.running()}:
            taken = [name for name in self.world.running() if self._role(name) == role]
            assert len(taken) <= given.get(role, 0), (taken, given)

    @invariant()
    def it_comes_to_rest_as_its_workload_says(self) -> None:
        """Tried on a copy, so that the run goes on from the state in between."""
        world = PodWorld()
        world.objects, world.version = copy.deepcopy(self.world.objects), self.world.version
        world.restarted()
        world.settle()
        there = world.workloads()
        if not there or not world.read.admitted or world.read.evicted:
            assert world.running() == []
            return
        assert not world.read.deleting
        running = world.running()
        for role in () if world.read.finished else world.read.pod_sets:
            mine = {name: each for name, each in world.pods().items() if self._of(each) == role.name}
            waiting = any(self._waits(each) for each in mine.values())
            held = sum(name in running or each["status"]["phase"] == "Succeeded" for name, each in mine.items())
            assert not waiting or held + world.read.reclaimable.get(role.name, 0) >= role.count, "there is room for it"

    @staticmethod
    def _waits(each: Manifest) -> bool:
        return bool(each["spec"]["schedulingGates"]) and not each["metadata"].get("deletionTimestamp")

    def _role(self, name: str) -> str:
        return self._of(self.world.pods()[name])

    @staticmethod
    def _of(each: Manifest) -> str:
        role: str = each["metadata"]["annotations"][f"{K}role-hash"]
        return role


TestPodRuns = PodRuns.TestCase
TestPodRuns.settings = settings(times(0.4), stateful_step_count=40)
