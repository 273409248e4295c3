"""A new leader: writes of the previous leader that arrive late do not reserve the same quota again."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.actions import Action, Create, Delete
from cluster.errors import Unreachable
from reconciler.controllers.clusters import ClustersController
from reconciler.controllers.jobs.controller import JobsController
from reconciler.controllers.pods import WATCHED_PODS
from reconciler.core.controller import Busy, Controller, Wanted
from reconciler.core.state import ClusterState
from reconciler.jobs.kinds import SHIPPED
from reconciler.multikueue.objects import CLUSTERS
from reconciler.objects.observed import Listed, Observed
from reconciler.objects.outcomes import Failed, Outcome, Written
from reconciler.objects.patches import JOB_MANAGER, patch
from reconciler.objects.wanted import WantedWrite, reference
from reconciler.objects.watched import WATCHED_KINDS, WatchedResource
from reconciler.objects.workers import RenewWorker, WorkerCommand
from reconciler.shell.loop import Loop
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Admission, PodSetAdmission
from scheduling.status.progress import finish
from scheduling.status.reservation import reserve, sync_admitted
from scheduling.status.writing import written_status
from tests import builders
from tests.merging import merged
from tests.reconciler.checked import Asks, Leads, loop, pods, without_events
from tests.reconciler.jobs.pod_world import pod
from tests.reconciler.memory_api import Api
from tests.reconciler.plain_queues import NAMESPACE, PLAIN, START, cluster_queue, workload
from tests.reconciler.recount import holds, holds_quota


class TakeOver:
    """One loop that stops with writes in flight, and one that starts after it."""

    def __init__(self) -> None:
        self.now = START
        self.reported: Loop | None = None
        self.leads = True
        self.answers = True
        self.asked: dict[str, int] = {}
        self.api = Api(random.Random(1), self._tell)
        self.api.put(("Namespace", "ns"), NAMESPACE)
        self.api.put(("ResourceFlavor", "plain"), PLAIN)
        self.api.put(("ClusterQueue", "q0"), cluster_queue("q0", "", 3))
        self.api.put(("LocalQueue", "ns/q0"), builders.local_queue("q0", "q0"))

    def _tell(self, message: Observed | Listed | Outcome) -> None:
        if self.reported is not None:
            self.reported.inbox.put(message)

    def start(self, inherits: bool = True) -> Loop:
        asks = Asks(without_events(self.api.write), self.api.read, self.relist)
        permit = Leads(lambda: self.leads, late_writes=inherits)
        made = loop(asks, permit=permit, clock=lambda: self.now, exclusive=False)
        self.reported = made
        for each in WATCHED_KINDS:
            self.api.relist(each.kind)
        return made

    def relist(self, watched: WatchedResource, asked: int) -> None:
        (kind,) = watched.kinds
        self.asked[kind] = asked
        if self.answers:
            self.api.relist(kind, asked)

    def submit(self, number: int, cpus: int, priority: int = 0, queue: str = "q0") -> None:
        name = f"w{number}"
        self.api.put(("Workload", f"ns/{name}"), workload(name, number, queue, cpus, priority))

    def add_queue(self, name: str, nominal: int) -> None:
        self.api.put(("ClusterQueue", name), cluster_queue(name, "", nominal))
        self.api.put(("LocalQueue", f"ns/{name}"), builders.local_queue(name, name))

    def settle(self, loop: Loop) -> None:
        """All that is written arrives and is answered."""
        for _ in range(20):
            loop.round(0)
            while self.api.arriving:
                self.api.arrive()
            while self.api.answers:
                self.api.answer()
            for kind, events in self.api.events.items():
                while events:
                    self.api.event(kind)

    def admitted(self) -> set[str]:
        return {each["metadata"]["name"] for each in self.api.workloads() if holds_quota(each)}

    def _finish(self, name: str) -> None:
        key = ("Workload", f"ns/{name}")
        status = written_status(finish(read_workload(self.api.objects[key]), "Succeeded", "", START))
        self.api.put(key, {**self.api.objects[key], "status": status})

    def stopped(self) -> list[Any]:
        """A loop reserves quota for w1 and stops with that write in flight; the write in flight."""
        first = self.start(inherits=False)
        for number in (0, 1):
            self.submit(number, 3)
            self.settle(first)
        self._finish("w0")
        self.api.event("Workload")
        first.round(0)
        late, self.api.arriving = self.api.arriving, []
        assert len(late) == 1
        return late


def test_a_late_write_reserves_no_quota_that_another_leader_has_reserved() -> None:
    world = TakeOver()
    late = world.stopped()
    world.submit(2, 3, priority=100)
    world.settle(world.start())
    assert world.admitted() == {"w2"}
    for arrives in late:
        arrives()  # the recount of the API would tell of an overdraft
    assert world.admitted() == {"w2"}


def test_without_fencing_a_late_write_would_reserve_quota_twice() -> None:
    world = TakeOver()
    late = world.stopped()
    world.submit(2, 3, priority=100)
    world.settle(world.start(inherits=False))
    with pytest.raises(AssertionError, match="should not have got quota"):
        late[0]()


def test_a_late_write_that_arrived_before_the_fencing_counts() -> None:
    world = TakeOver()
    late = world.stopped()
    world.submit(2, 3, priority=100)
    second = world.start()
    second.round(0)
    for arrives in late:
        arrives()
    world.settle(second)
    assert world.admitted() == {"w1"}
    assert holds(world.api.objects["Workload", "ns/w1"], "Evicted")


def test_a_late_write_to_a_workload_with_a_backoff_is_fenced_too() -> None:
    """The API server refused the last write of w1, so w1 is in no queue when this process leads again."""
    world, leading = TakeOver(), [True]
    mine = world.start()
    mine.permit = Leads(lambda: leading[0], late_writes=True, terms=lambda: world.now)
    world.submit(0, 3)
    world.settle(mine)
    world.api.refused.add("ns/w1")
    world.submit(1, 3)
    world.settle(mine)
    assert mine.core.state.records.backs_off(("Workload", "ns/w1"), world.now)

    leading[0] = False
    mine.round(0)
    world.api.refused.clear()
    world._finish("w0")
    between = world.start(inherits=False)
    for _ in range(3):
        between.round(0)
    late, world.api.arriving = world.api.arriving[:1], []  # w1 gets the quota, and the write hangs
    world.submit(2, 3, priority=100)

    world.reported, world.now, leading[0] = mine, world.now + 1, True
    for kind in mine.core.informer.resource_of:
        world.api.relist(kind)
    world.settle(mine)
    assert world.admitted() == {"w2"}
    late[0]()  # the recount of the API raises at an overdraft
    assert world.admitted() == {"w2"}


def test_only_workloads_that_may_fit_are_written_for_fencing() -> None:
    world = TakeOver()
    world.submit(1, 3)
    first = world.start()
    world.settle(first)
    for number in range(2, 8):
        world.submit(number, 2)
    world.settle(first)
    second = world.start()
    world.settle(second)
    assert second.core.stats.written == 0


def test_workloads_are_not_rewritten_if_the_previous_leader_waited_for_its_writes() -> None:
    world = TakeOver()
    world.submit(1, 3)
    second = world.start(inherits=False)
    world.settle(second)
    assert second.core.stats.written == 1


def test_workloads_are_not_admitted_before_late_writes_are_fenced() -> None:
    world = TakeOver()
    world.submit(1, 3)
    second = world.start()
    for _ in range(3):
        second.round(0)
    assert second.core.stats.cycles == 0
    assert [*second.core.state.records.in_flight] == [("Workload", "ns/w1")]
    world.settle(second)
    assert world.admitted() == {"w1"}


def test_a_tree_does_not_wait_until_a_large_tree_is_fenced() -> None:
    world = TakeOver()
    for number in range(1, 60):
        world.submit(number, 1)
    world.add_queue("q1", 3)
    world.submit(60, 3, queue="q1")
    second = world.start()
    second.round(0)
    second.round(0)
    sent = [*second.core.state.records.in_flight]
    assert sent[0] == ("Workload", "ns/w60")
    assert len(sent) < 30

    for _ in range(3):
        world.api.serve("ns/w60")
        second.round(0)
    assert world.admitted() == {"w60"}
    world.settle(second)
    assert world.admitted() == {"w1", "w2", "w3", "w60"}
    assert not second.core.state.partition.unfenced


def test_a_late_write_reserves_no_quota_of_the_queue_that_a_new_local_queue_has_replaced() -> None:
    """w1 was to get the quota of q0. Then its LocalQueue is replaced by one of q1, whose tree is fenced later."""
    world = TakeOver()
    (late,) = world.stopped()
    world.add_queue("q1", 100)
    replaced = builders.local_queue("q0", "q1")
    replaced["metadata"]["creationTimestamp"] = "2026-02-01T00:00:00Z"
    world.api.put(("LocalQueue", "ns/q0"), replaced)
    world.api.put(("LocalQueue", "ns/new"), builders.local_queue("new", "q0"))
    for number in range(3, 40):
        world.submit(number, 1, queue="q1")
    world.submit(2, 3, priority=100, queue="new")
    second = world.start()
    for _ in range(5):
        second.round(0)
        world.api.serve("ns/w1", "ns/w2")
    assert world.admitted() == {"w2"}
    late()  # the recount of the API raises at an overdraft
    assert world.admitted() == {"w2"}


def test_a_tree_waits_for_a_queue_that_joins_it_before_it_is_fenced() -> None:
    """q1 borrows from q0 from the moment when both are in one Cohort."""
    world = TakeOver()
    for number in range(1, 60):
        world.submit(number, 1)
    world.add_queue("q1", 3)
    second = world.start()
    for _ in range(3):
        second.round(0)
    assert second.core.state.partition.decides("q1")
    for name in ("q0", "q1"):
        world.api.put(("ClusterQueue", name), cluster_queue(name, "c", 3))
        world.api.event("ClusterQueue")
    world.submit(60, 5, queue="q1")
    world.api.event("Workload")
    second.round(0)
    assert not second.core.state.partition.decides("q1")
    assert world.admitted() == set()
    world.settle(second)
    assert world.admitted() == {"w1", "w60"}


def test_a_list_from_before_the_previous_leader_ended_does_not_count() -> None:
    world = TakeOver()
    for number in (1, 2):
        world.submit(number, 3)
    world.leads = False
    second = world.start(inherits=False)
    second.round(0)
    stale = world.api.listed("Workload")
    key = ("Workload", "ns/w1")
    given = reserved_by_another(world.api.objects[key])
    world.api.put(key, given)
    world.api.events["Workload"].clear()  # the watch is behind
    world.leads, world.answers = True, False
    second.round(0)
    second.inbox.put(stale)
    second.round(0)
    assert second.core.stats.cycles == 0

    world.api.relist("Workload", world.asked["Workload"])
    world.settle(second)
    assert world.admitted() == {"w1"}


def reserved_by_another(manifest: dict[str, Any]) -> dict[str, Any]:
    admission = Admission("q0", (PodSetAdmission("main", {"cpu": "plain"}, {"cpu": 3000}, 1),))
    after = sync_admitted(reserve(read_workload(manifest), admission, START), START)
    return {**manifest, "status": written_status(after)}


def test_a_new_leader_lists_again_what_the_previous_one_may_have_changed() -> None:
    asked: dict[str, int] = {}
    leads = False

    def relist(watched: WatchedResource, number: int) -> None:
        asked.update(dict.fromkeys(watched.kinds, number))

    def controllers(state: ClusterState) -> JobsController:
        return JobsController(state.records.workload, SHIPPED.values())

    asks, permit = Asks(relist=relist), Leads(lambda: leads)
    made = loop(asks, (controllers, pods), permit, clock=time.time_ns, exclusive=False)
    state = made.core.state
    for kind in made.core.informer.watched:
        made.inbox.put(Listed(kind, (), "1"))
    made.round(0)
    assert (asked, state.complete) == ({}, True)

    leads = True
    made.round(0)

    assert asked.keys() == {"ClusterQueue", "Pod", "StartedPod", "Workload", *(kind.name for kind in SHIPPED.values())}
    assert not state.complete
    for kind, number in asked.items():
        made.inbox.put(Listed(kind, (), "2", number))
    made.round(0)
    assert state.complete


def test_a_watch_behind_the_new_list_does_not_restore_deleted_objects() -> None:
    """The Pod of a group was replaced before this process led. Its watch reports the old Pod once more."""
    asked: dict[str, int] = {}
    written: list[Action] = []
    leads = False
    asks = Asks(
        lambda key, action: written.append(action),
        relist=lambda watched, n: asked.update(dict.fromkeys(watched.kinds, n)),
    )
    made = loop(asks, (pods,), Leads(lambda: leads), clock=time.time_ns, exclusive=False)
    old, new = (
        WATCHED_PODS.observed(merged(pod(name, "g", 1), {"metadata": {"uid": name, "resourceVersion": version}}))
        for name, version in (("old", "90"), ("new", "95"))
    )
    for kind in made.core.informer.watched:
        made.inbox.put(Listed(kind, (), "80"))
    made.round(0)
    leads = True
    made.round(0)
    for kind, number in asked.items():
        made.inbox.put(Listed(kind, (new,) if kind == new.key[0] else (), "100", number))
    made.inbox.put(old)
    made.round(0)

    assert made.core.state.complete
    assert made.core.state.records.at(old.key) is None
    assert not any(isinstance(action, Delete) for action in written)


def test_a_new_leader_lists_the_workers_again() -> None:
    """Objects that the previous leader wrote there may not be observed yet, and would seem to be deleted."""
    sent: list[WorkerCommand] = []
    leads = False
    permit = Leads(lambda: leads)
    made = loop(Asks(), (lambda _: ClustersController({}),), permit, clock=time.time_ns, exclusive=False)
    made.workers = sent.append
    for kind in made.core.informer.watched:
        found = CLUSTERS.observed({"metadata": {"name": "east", "resourceVersion": "1"}, "spec": {}})
        made.inbox.put(Listed(kind, (found,) if kind == CLUSTERS.kind else (), "1"))
    made.round(0)
    assert RenewWorker("east") not in sent

    leads = True
    made.round(0)
    assert sent[-1] == RenewWorker("east")


@pytest.mark.parametrize("after", [True, False])
def test_the_first_list_counts_if_it_began_after_the_leadership(after: bool) -> None:
    asked: list[tuple[str, int]] = []
    asks = Asks(relist=lambda watched, number: asked.extend((kind, number) for kind in watched.kinds))
    made = loop(asks, clock=time.time_ns, exclusive=False)
    progress = made.core.state.records.progress
    made.round(0)
    assert (made.core.leads, asked) == (True, [])

    began = {kind: progress.awaited(kind) if after else 0 for kind in made.core.informer.watched}
    for kind, number in began.items():
        made.inbox.put(Listed(kind, (), "1", number))
    made.round(0)

    assert made.core.state.complete is after
    anew = [(kind, progress.awaited(kind)) for kind in ("ClusterQueue", "Workload")]
    assert asked == ([] if after else anew)


def test_a_write_in_flight_is_not_sent_again_in_the_next_leadership() -> None:
    world = TakeOver()
    world.submit(1, 3)
    second = world.start()
    for _ in range(3):
        second.round(0)
    in_flight = [*second.core.state.records.in_flight]
    assert in_flight == [("Workload", "ns/w1")]

    world.leads = False
    second.round(0)
    world.leads = True
    for _ in range(3):
        second.round(0)  # a second request about w1 would fail here, see CheckedCore

    assert (second.core.stats.cycles, len(world.api.arriving)) == (0, 1)
    world.settle(second)
    assert world.admitted() == {"w1"}


def test_a_decision_of_an_earlier_leadership_is_read_before_anything_is_decided() -> None:
    world, leading = TakeOver(), [True]
    first = world.start()
    first.permit = Leads(lambda: leading[0], late_writes=True, terms=lambda: world.now)
    world.submit(1, 3)
    request = _decided_and_lost(world, first)
    leading[0] = False
    first.inbox.put(Failed(request.key, request.action, Unreachable("server", "no answer", "x")))
    first.round(0)
    world.submit(0, 3)
    between = world.start(inherits=False)
    for _ in range(3):
        between.round(0)
    late, world.api.arriving = world.api.arriving[:1], []  # w0 gets the quota, and the write hangs

    world.reported, world.now, leading[0] = first, world.now + 60 * SECOND, True
    for kind in first.core.informer.resource_of:
        world.api.relist(kind)
    while not world.api.arriving:
        first.round(0)
    world.api.arriving.pop(0)()
    late[0]()  # the recount of the API raises at an overdraft
    world.settle(first)

    assert len(world.admitted()) == 1


def test_an_unanswered_write_of_an_earlier_leadership_reserves_no_quota_twice() -> None:
    world, leading = TakeOver(), [True]
    first = world.start()
    first.permit = Leads(lambda: leading[0], terms=lambda: world.now)
    world.submit(1, 3)
    request = _decided_and_lost(world, first)
    leading[0] = False
    first.inbox.put(Failed(request.key, request.action, Unreachable("server", "no answer", "x")))
    first.round(0)
    world.submit(2, 3, priority=100)
    world.now, leading[0] = world.now + 60 * SECOND, True
    while not world.admitted():
        first.round(0)
        while world.api.events["Workload"]:
            world.api.event("Workload")
        if world.api.arriving:
            answer = world.api.arriving.pop(0)()
            assert answer is not None
            world.api.answers.append(answer)
            world.api.answer()
    assert world.admitted() == {"w2"}

    assert isinstance(world.api.perform(request.key, request.action), Failed)  # the recount raises at an overdraft
    assert world.admitted() == {"w2"}


def test_a_leader_elected_again_without_another_continues_without_a_list() -> None:
    world, leading, terms = TakeOver(), [True], [1]
    first = world.start()
    first.permit = Leads(lambda: leading[0], late_writes=True, terms=lambda: terms[0])
    world.submit(1, 3)
    request = _decided_and_lost(world, first)
    leading[0] = False
    first.inbox.put(Failed(request.key, request.action, Unreachable("server", "no answer", "x")))
    first.round(0)
    asked = dict(world.asked)

    world.now, leading[0] = world.now + 60 * SECOND, True
    while not world.api.arriving:
        first.round(0)
    assert (world.asked, first.core.state.complete) == (asked, True)
    world.settle(first)
    assert world.admitted() == {"w1"}

    leading[0] = False
    first.round(0)
    leading[0], terms[0] = True, 2
    first.round(0)
    assert (world.asked != asked, first.core.state.complete) == (True, False)


def _decided_and_lost(world: TakeOver, first: Loop) -> Any:
    """The write that reserves quota for w1. It does not reach the API server."""
    for _ in range(10):
        first.round(0)
        record = first.core.state.records.find(("Workload", "ns/w1"))
        if record is not None and record.in_flight is not None and record.in_flight.decided is not None:
            world.api.arriving.clear()
            return record.in_flight.request
        while world.api.arriving:
            world.api.arrive()
        while world.api.answers:
            world.api.answer()
        for kind, events in world.api.events.items():
            while events:
                world.api.event(kind)
    raise AssertionError("w1 was given no quota")


class Labels(Controller):
    """Sets a label of w1 once, and records an Event."""

    def __init__(self, state: ClusterState) -> None:
        self._stored = state.records.workload
        self._wanted = True
        self.answers: list[Action] = []

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        found = self._stored("ns/w1")
        if found is not None and self._wanted and not busy(*found.key):
            self._wanted = False
            labels = patch(found.value, {"metadata": {"labels": {"a": "b"}}}, JOB_MANAGER)
            yield WantedWrite(found.key, labels, reference(found.value), "Labelled", "it has a label")

    def written(self, action: Action, observed: Observed[object]) -> None:
        self.answers.append(action)


def test_a_change_that_a_leader_gives_up_is_not_reported_as_done() -> None:
    world, leading, terms = TakeOver(), [True], [1]
    writes: list[Action] = []
    permit = Leads(lambda: leading[0], terms=lambda: terms[0])
    asks = Asks(lambda _, action: writes.append(action), relist=world.relist)
    first = loop(asks, (Labels,), permit, clock=lambda: world.now, exclusive=False)
    world.reported = first
    world.submit(1, 4)
    for kind in first.core.informer.resource_of:
        world.api.relist(kind)
    for _ in range(3):
        first.round(0)
    (labels,) = writes
    first.inbox.put(Failed(("Workload", "ns/w1"), labels, Unreachable("server", "no answer", "x")))
    first.round(0)
    leading[0] = False
    first.round(0)
    leading[0], terms[0], world.now = True, 2, world.now + 60 * SECOND
    for _ in range(3):
        first.round(0)
    answer = world.api.perform(("Workload", "ns/w1"), writes[1])
    assert isinstance(answer, Written)
    first.inbox.put(answer)
    for _ in range(3):
        world.now += 60 * SECOND
        first.round(0)

    (controller,) = first.core.controllers
    assert isinstance(controller, Labels)
    assert controller.answers == []
    assert [each for each in writes if isinstance(each, Create) and each.body["reason"] == "Labelled"] == []


def test_cycles_left_over_from_an_earlier_leadership_do_not_make_the_loop_spin() -> None:
    world = TakeOver()
    first = world.start()
    world.submit(1, 3)
    first.core.decider.unfinished = True  # as after as many cycles as one turn may have
    for _ in range(3):
        first.round(0)
        for kind, events in world.api.events.items():
            while events:
                world.api.event(kind)

    assert first.core.state.partition.unfenced == {"q0"}
    assert first.patience(0.5) > 0
