"""The loop against an API server that loses, delays and mixes up what it can: quota is never given twice, and in the
end nobody is forgotten."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from cluster.errors import Unreachable
from reconciler.core.watched import WATCHED_KINDS
from reconciler.objects.outcomes import Failed, Outcome, Written
from reconciler.shell.loop import Loop
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload
from scheduling.status.deadlines import release
from scheduling.status.progress import finish
from scheduling.status.writing import written_status
from scheduling.world.world import World
from tests.reconciler.checked import Asks, Leads, loop, without_events
from tests.reconciler.memory_api import Api, Manifest
from tests.reconciler.recount import holds, holds_quota

QUEUES = ("q0", "q1", "q2", "q3")
START = 1_800_000_000 * SECOND
LONG = 70 * SECOND
"""Longer than any backoff."""


def cluster_queue(name: str, cohort: str, nominal: int, **limits: int) -> Manifest:
    quota = {"name": "cpu", "nominalQuota": str(nominal), **{key: str(value) for key, value in limits.items()}}
    flavors = [{"name": "plain", "resources": [quota]}]
    preemption = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    spec = {
        "cohortName": cohort,
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        "preemption": preemption,
    }
    return {"metadata": {"name": name}, "spec": spec}


def workload(name: str, number: int, queue: str, cpus: int, priority: int) -> Manifest:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpus)}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    meta = {
        "name": name,
        "namespace": "ns",
        "uid": f"u{number}",
        "creationTimestamp": f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}Z",
    }
    pods = {"name": "main", "count": 1, "template": template}
    return {"metadata": meta, "spec": {"queueName": queue, "priority": priority, "podSets": [pods]}}


class Storm:
    """A loop, the API that it lives on, and all that happens around them, drawn from a seed."""

    def __init__(self, seed: int, faults: float = 0.25) -> None:
        self.chance = random.Random(seed)
        self.now = START
        self.leads = True
        self.lags = self.chance.random() < 0.5
        self.made = 0
        self.api = Api(self.chance, self._tell)
        self._objects()
        self.loop = self.start()
        self.api.faults = faults

    def _tell(self, message: Any) -> None:
        self.loop.inbox.put(message)

    def _objects(self) -> None:
        api = self.api
        api.put(("Namespace", "ns"), {"metadata": {"name": "ns"}})
        api.put(("ResourceFlavor", "plain"), {"metadata": {"name": "plain"}, "spec": {}})
        for name, parent in (("left", "top"), ("right", "top"), ("top", "")):
            api.put(("Cohort", name), {"metadata": {"name": name}, "spec": {"parentName": parent}})
        limits: tuple[dict[str, int], ...] = ({}, {"borrowingLimit": 2}, {"lendingLimit": 1}, {"borrowingLimit": 3})
        for name, cohort, more in zip(QUEUES, ("left", "left", "right", "right"), limits, strict=True):
            api.put(("ClusterQueue", name), cluster_queue(name, cohort, 3, **more))
            meta = {"name": name, "namespace": "ns"}
            api.put(("LocalQueue", f"ns/{name}"), {"metadata": meta, "spec": {"clusterQueue": name}})

    def start(self) -> Loop:
        """A process that begins: it knows nothing but what it lists."""
        self.api.answers.clear()
        asks = Asks(without_events(self.api.write), self.api.read)
        self.loop = loop(asks, permit=Leads(lambda: self.leads), clock=lambda: self.now)
        for each in WATCHED_KINDS:
            self.api.relist(each.kind)
        return self.loop

    # --- what happens

    def step(self) -> None:
        happenings: list[tuple[int, Callable[[], None]]] = [
            (6, self._round),
            (5 * bool(self.api.arriving), self.api.arrive),
            (5 * bool(self.api.answers), self.api.answer),
            (6, self._event),
            (4, self._submit),
            (3, self._job),
            (1, self._delete),
            (2, self._wait),
            (0 if self.lags else 1, lambda: self.api.relist("Workload")),
            (1, self._edit),
            (1, self._lead),
        ]
        weights = [weight for weight, _ in happenings]
        self.chance.choices([happening for _, happening in happenings], weights)[0]()

    def _round(self) -> None:
        self.loop.round(0)

    def _event(self) -> None:
        kinds = [kind for kind, events in self.api.events.items() if events]
        kind = self.chance.choice(kinds) if kinds else None
        behind = self.lags and kind == "Workload" and self.chance.random() < 0.85
        if kind is not None and not behind:
            self.api.event(kind)

    def _submit(self) -> None:
        """Few names, so that one that is deleted soon comes back as another Workload."""
        name = f"w{self.chance.randrange(12)}"
        if ("Workload", f"ns/{name}") not in self.api.objects:
            self.made += 1
            queue, cpus = self.chance.choice(QUEUES), self.chance.randint(1, 4)
            made = workload(name, self.made, queue, cpus, self.chance.choice((0, 0, 10)))
            self.api.put(("Workload", f"ns/{name}"), made)

    def _job(self) -> None:
        """A job ends, or stops since its Workload was evicted."""
        found = self.api.workloads()
        if not found:
            return
        manifest = self.chance.choice(found)
        if holds_quota(manifest) and holds(manifest, "Evicted"):
            self.rewrite(manifest, lambda each: release(each, self.whole))
        elif holds(manifest, "Admitted") and self.chance.random() < 0.3:
            self.rewrite(manifest, lambda each: finish(each, "Succeeded", "", self.whole))

    def _delete(self) -> None:
        found = self.api.workloads()
        if found:
            self.api.delete(("Workload", f"ns/{self.chance.choice(found)['metadata']['name']}"))

    def _wait(self) -> None:
        self.now += self.chance.choice((SECOND // 10, SECOND, 5 * SECOND))

    def _edit(self) -> None:
        """More quota at any time; less once all that was decided by the old quota is over."""
        name = self.chance.choice(QUEUES)
        manifest = self.api.objects["ClusterQueue", name]
        nominal = self.chance.randint(1, 5)
        quota = manifest["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
        if nominal < int(quota["nominalQuota"]) and (self.api.arriving or self.loop.core.in_flight):
            return
        lowered = nominal < int(quota["nominalQuota"])
        quota["nominalQuota"] = str(nominal)
        self.api.put(("ClusterQueue", name), manifest)
        if lowered:
            while self.api.events["ClusterQueue"]:
                self.api.event("ClusterQueue")

    def _lead(self) -> None:
        self.leads = not self.leads or self.chance.random() < 0.7

    def crash(self) -> None:
        """Killed. What it wrote is carried out or lost before another one leads."""
        self._arrive_all()
        self.start()

    def rewrite(self, manifest: Manifest, change: Callable[[Workload], Workload]) -> None:
        """As another controller does: the whole status."""
        after = written_status(change(read_workload(manifest)))
        self.api.put(("Workload", f"ns/{manifest['metadata']['name']}"), {**manifest, "status": after})

    @property
    def whole(self) -> int:
        return self.now // SECOND * SECOND

    # --- how it ends

    def calm(self) -> None:
        """Faults are over: everything gets through, jobs of victims stop, until nothing happens any more."""
        self.api.faults, self.leads, self.lags = 0.0, True, False
        for _ in range(400):
            version = self.api.version
            while self.api.arriving or self.api.answers or any(self.api.events.values()):
                self._deliver()
            self.loop.round(0)
            for manifest in self.api.workloads():
                if holds_quota(manifest) and holds(manifest, "Evicted"):
                    self.rewrite(manifest, lambda each: release(each, self.whole))
            self.now += SECOND
            quiet = not (self.api.arriving or any(self.api.events.values()))
            if (
                quiet
                and version == self.api.version
                and not (self.loop.core.in_flight or self.loop.core.informer.dirty)
            ):
                self.now += LONG
                self.loop.round(0)
                if not self.api.arriving:
                    return
        raise AssertionError("it does not come to rest")

    def settle(self) -> None:
        """All that is under way gets through, a few times."""
        for _ in range(8):
            while self.api.arriving or self.api.answers or any(self.api.events.values()):
                self._deliver()
            self.loop.round(0)
            self.now += SECOND

    def _arrive_all(self) -> None:
        while self.api.arriving:
            self.api.arrive()

    def answers(self) -> list[Outcome]:
        """What comes of all that is under way; the loop is not told."""
        self._arrive_all()
        found, self.api.answers = self.api.answers, []
        return found

    def _event_all(self) -> None:
        while any(self.api.events.values()):
            self._event()

    def _deliver(self) -> None:
        if self.api.arriving:
            self.api.arrive()
        if self.api.answers:
            self.api.answer()
        self._event()

    def check_rest(self) -> None:
        world = self.loop.core.state.world
        assert not self.loop.core.in_flight
        assert [key for key, record in self.loop.core.state.records.items() if record.decided is not None] == []
        stored = {f"ns/{each['metadata']['name']}": each for each in self.api.workloads()}
        assert world.workloads.keys() == stored.keys()
        for key, manifest in stored.items():
            assert world.workloads[key] == read_workload(manifest), key
            active = manifest["spec"].get("active") is not False and not holds(manifest, "Finished")
            if active and not holds_quota(manifest):
                assert not self.api.fits(manifest), f"{key} waits though it fits"
        fresh = self.afresh()
        assert held(world) == held(fresh)
        assert usages(world) == usages(fresh)

    def afresh(self) -> World:
        """The world of a process that begins now."""
        running, self.leads = self.loop, False
        begun = self.start()
        begun.round(0)
        self.loop, self.leads = running, True
        return begun.core.state.world


def held(world: World) -> dict[str, tuple[str, dict[Any, int]]]:
    return {key: (each.queue.name, dict(each.usage)) for key, each in world.state.reservations.items()}


def usages(world: World) -> dict[str, dict[Any, int]]:
    nodes = (*world.state.tree.queues.values(), *world.state.tree.cohorts.values())
    return {repr(each): {pair: amount for pair, amount in each.usage.items() if amount} for each in nodes}


@pytest.mark.parametrize("seed", range(90))
def test_quota_is_never_given_twice_and_nobody_is_forgotten(seed: int) -> None:
    storm = Storm(seed, faults=(0.0, 0.25, 0.5)[seed % 3])
    for _ in range(250):
        storm.step()
        if storm.chance.random() < 0.01:
            storm.crash()

    storm.calm()

    storm.check_rest()


def test_a_refused_write_holds_nobody_else_up() -> None:
    storm = Storm(0, faults=0.0)
    storm.api.refused = {"ns/poison"}
    storm.api.put(("Workload", "ns/poison"), workload("poison", 1, "q0", 3, 10))
    storm.api.put(("Workload", "ns/other"), workload("other", 2, "q0", 3, 0))

    for _ in range(30):
        storm.settle()

    assert holds(storm.api.objects["Workload", "ns/other"], "QuotaReserved")


def test_a_fault_of_ours_with_one_object_holds_nobody_else_up() -> None:
    storm = Storm(0, faults=0.0)
    storm.api.put(("Workload", "ns/odd"), workload("odd", 1, "q0", 3, 10))
    storm._event_all()
    storm.loop.round(0)
    (answer,) = storm.answers()
    assert isinstance(answer, Written)

    storm._tell(Failed(answer.key, answer.action, RecursionError("too deep for us")))
    storm.api.put(("Workload", "ns/other"), workload("other", 2, "q1", 3, 0))
    storm._event_all()
    storm.loop.round(0)
    (other,) = storm.answers()
    assert other.key == ("Workload", "ns/other")

    storm._tell(other)
    storm._tell(Failed(answer.key, None, RecursionError("too deep for us")))
    for _ in range(3):
        storm.now += LONG
        storm.settle()
    storm.check_rest()


def test_a_victim_that_could_not_be_evicted_is_tried_again() -> None:
    storm = Storm(0, faults=0.0)
    storm.api.put(("Workload", "ns/victim"), workload("victim", 1, "q0", 3, 0))
    for name, number in (("q1", 2), ("q2", 3), ("q3", 4)):
        storm.api.put(("Workload", f"ns/{name}"), workload(name, number, name, 3, 10))
    storm.settle()
    storm.api.refused = {"ns/victim"}
    storm.api.put(("Workload", "ns/urgent"), workload("urgent", 5, "q0", 3, 10))
    storm.settle()

    storm.api.refused = set()
    storm.now += LONG
    storm.settle()

    assert holds(storm.api.objects["Workload", "ns/victim"], "Evicted")


def test_an_answer_that_comes_after_the_object_is_gone_brings_nothing_back() -> None:
    storm = Storm(0, faults=0.0)
    storm.api.put(("Workload", "ns/short"), workload("short", 1, "q0", 1, 0))
    storm._event_all()
    storm.loop.round(0)
    storm._arrive_all()
    storm.api.delete(("Workload", "ns/short"))
    storm._event_all()

    while storm.api.answers:
        storm.api.answer()
    storm.loop.round(0)

    assert storm.loop.core.state.world.workloads == {}


def test_a_late_not_found_does_not_take_away_what_came_back() -> None:
    storm = Storm(0, faults=0.0)
    storm.api.put(("Workload", "ns/again"), workload("again", 1, "q0", 1, 0))
    storm._event_all()
    storm.loop.round(0)
    storm.api.delete(("Workload", "ns/again"))
    storm._arrive_all()
    storm.api.put(("Workload", "ns/again"), workload("again", 2, "q0", 1, 0))
    storm._event_all()

    storm.settle()

    assert holds(storm.api.objects["Workload", "ns/again"], "Admitted")


def test_an_unanswered_write_keeps_its_quota_until_it_is_known_what_came_of_it() -> None:
    storm = Storm(0, faults=0.0)
    storm.api.put(("Workload", "ns/first"), workload("first", 1, "q0", 10, 0))
    storm._event_all()
    storm.loop.round(0)
    storm._arrive_all()  # carried out, and not answered
    answers = {answer.key: answer for answer in storm.api.answers}
    storm.api.answers.clear()
    written = answers["Workload", "ns/first"]
    assert isinstance(written, Written)
    storm.api.put(("Workload", "ns/second"), workload("second", 2, "q0", 10, 10))
    storm._tell(storm.api.events["Workload"].pop())  # the watch has not told of the first yet

    storm._tell(Failed(written.key, written.action, Unreachable("server", "cut", "look")))
    for _ in range(5):
        storm.loop.round(0)
        storm.now += LONG
        storm._arrive_all()

    assert not holds(storm.api.objects["Workload", "ns/second"], "QuotaReserved")


def test_a_standby_does_not_spin_while_time_goes_on() -> None:
    storm = Storm(0, faults=0.0)
    storm.loop.core.informer.alarms.set(START, ("Workload", "ns/due"))
    storm.leads = False

    assert storm.loop.patience(0.5) == 0.5


def test_a_standby_keeps_nothing_of_workloads_that_are_gone() -> None:
    storm = Storm(0, faults=0.0)
    storm.leads = False
    for number in range(50):
        key = ("Workload", f"ns/w{number}")
        storm.api.put(key, workload(f"w{number}", number, "q0", 1, 10))
        storm.api.delete(key)
    while storm.api.events["Workload"]:
        storm.api.event("Workload")
    storm.loop.round(0)

    assert not storm.loop.core.informer.dirty
    assert storm.loop.core.informer.alarms.next is None
