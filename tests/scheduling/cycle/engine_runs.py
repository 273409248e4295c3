"""Random runs of the engine, each step checked against a count from zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from policies.model.pools import Terms
from scheduling.flavors.assigner import assign
from scheduling.flavors.assignment import needed
from scheduling.flavors.modes import FlavorOutcome
from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.objects.queue_settings import (
    ANY,
    BEST_EFFORT_FIFO,
    LOWER_OR_NEWER,
    LOWER_PRIORITY,
    STRICT_FIFO,
    TRY_NEXT_FLAVOR,
    CohortSettings,
    Fungibility,
    PreemptionPolicy,
)
from scheduling.objects.requests import total_requests
from scheduling.objects.workload import Workload
from scheduling.quota.node import QuotaNode
from scheduling.quota.state import Options, QuotaState
from scheduling.world.decisions import Reserve
from tests.scheduling.cluster import FLAVORS, PAIRS, Cluster, queue_settings
from tests.scheduling.manifests import pod_set, workload
from tests.scheduling.quota.kep79 import balance

_COHORTS = ("c0", "c1", "c2", "c3")
_QUEUES = ("q0", "q1", "q2", "q3")
_WORK = tuple(f"w{i}" for i in range(10))
_limits = st.none() | st.integers(0, 5)
_terms = st.builds(Terms, st.integers(0, 8), _limits, _limits)
_quota = st.dictionaries(st.sampled_from(FLAVORS), _terms, min_size=1, max_size=2)
_policies = st.builds(
    PreemptionPolicy,
    st.sampled_from(["Never", LOWER_PRIORITY, LOWER_OR_NEWER]),
    st.sampled_from(["Never", LOWER_PRIORITY, ANY]),
    st.sampled_from(["Never", LOWER_PRIORITY]),
    st.none() | st.just(0),
)
_fungibility = st.builds(
    Fungibility,
    st.sampled_from([TRY_NEXT_FLAVOR, "MayStopSearch"]),
    st.sampled_from([TRY_NEXT_FLAVOR, "MayStopSearch"]),
)


class Runs(RuleBasedStateMachine):
    """People change the tree and submit work, jobs end, cycles run in between."""

    fair_sharing = False

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        """Three queues that may take from each other, so that there is something to decide from the beginning."""
        recompute = data.draw(st.booleans())
        self.cluster = Cluster(
            Options(fair_sharing=self.fair_sharing, preemptors_first=True, recompute_on_overlap=recompute)
        )
        self.count = 0
        for name, cohort in (("q0", "c0"), ("q1", "c0"), ("q2", "c1")):
            policy, quota = data.draw(_policies), data.draw(_quota)
            self.cluster.put_queue(queue_settings(name, cohort, quota, preemption=policy))
        for name in ("c0", "c1"):
            terms = dict.fromkeys(PAIRS, data.draw(_terms))
            self.cluster.put_cohort(CohortSettings(name, "c3", terms))

    @rule(name=st.sampled_from(_QUEUES), cohort=st.none() | st.sampled_from(_COHORTS), quota=_quota, data=st.data())
    def put_queue(self, name: str, cohort: str | None, quota: dict[str, Terms], data: st.DataObject) -> None:
        policy, fungibility = data.draw(_policies), data.draw(_fungibility)
        strategy = data.draw(st.sampled_from([BEST_EFFORT_FIFO, STRICT_FIFO]))
        stop = data.draw(st.sampled_from(["None", "None", "None", "Hold"]))
        self.cluster.put_queue(
            queue_settings(
                name, cohort, quota, preemption=policy, fungibility=fungibility, stop_policy=stop, strategy=strategy
            )
        )

    @rule(name=st.sampled_from(_QUEUES))
    def drop_queue(self, name: str) -> None:
        self.cluster.drop_queue(name)

    @rule(name=st.sampled_from(_COHORTS), parent=st.none() | st.sampled_from(_COHORTS), terms=_terms)
    def put_cohort(self, name: str, parent: str | None, terms: Terms) -> None:
        self.cluster.put_cohort(CohortSettings(name, parent, dict.fromkeys(PAIRS, terms)))

    @rule(name=st.sampled_from(_COHORTS))
    def drop_cohort(self, name: str) -> None:
        self.cluster.drop_cohort(name)

    @rule(batch=st.lists(st.tuples(st.sampled_from(_QUEUES), st.integers(0, 4), st.integers(-1, 1)), min_size=1))
    def submit(self, batch: list[tuple[str, int, int]]) -> None:
        """Some work at once, and one cycle over it."""
        for queue, amount, priority in batch:
            self.count += 1
            spec = {"queueName": queue, "priority": priority}
            name = f"w{self.count % len(_WORK)}"
            self.cluster.drop(f"ns/{name}")
            made = workload(pod_set(gpu=str(amount)), spec=spec, name=name, uid=f"u{self.count}")
            self.cluster.put(replace(made, created=self.cluster.now))
        self.cycle()

    @rule(name=st.sampled_from(_WORK))
    def finish(self, name: str) -> None:
        if f"ns/{name}" in self.cluster.workloads:
            self.cluster.finish(f"ns/{name}")

    @rule(name=st.sampled_from(_WORK))
    def drop(self, name: str) -> None:
        self.cluster.drop(f"ns/{name}")

    @rule(name=st.sampled_from(_WORK), queue=st.sampled_from(_QUEUES))
    def move(self, name: str, queue: str) -> None:
        found = self.cluster.workloads.get(f"ns/{name}")
        if found is not None and found.queueable:
            self.cluster.put(replace(found, queue=queue))

    @rule(name=st.sampled_from(_WORK), active=st.booleans())
    def activate(self, name: str, active: bool) -> None:
        found = self.cluster.workloads.get(f"ns/{name}")
        if found is not None and not found.reserved:
            self.cluster.put(replace(found, active=active))

    @rule()
    def cycle(self) -> None:
        state = self.cluster.world.state
        before = debts(state)
        decisions = self.cluster.step()
        for node, debt in debts(state).items():
            if any(isinstance(decision, Reserve) for decision in decisions):
                assert debt <= max(before.get(node, 0), 0) or _left_to_locals(state, node), node

    @rule()
    def victims_stop(self) -> None:
        self.cluster.tick()
        self.cluster.stop_victims()

    @precondition(lambda self: bool(self.cluster.workloads))
    @rule()
    def rest(self) -> None:
        """In the end nobody waits for whom there is room, but behind or beside the head of a StrictFIFO queue."""
        self.cluster.settle()
        world = self.cluster.world
        for key in self.cluster.pending():
            found = self.cluster.workloads[key]
            name = world.queues.queue_of(found)
            if name is None or not world.is_ready(name) or self.cluster.queues[name].strategy == STRICT_FIFO:
                continue
            if self._room_is_kept(world.state.queues[name].node.root):
                continue
            assignment = assign(world.state, world.state.queues[name], found, requests=total_requests(found))
            assert assignment.outcome != FlavorOutcome.FIT, f"{key} fits in {name}: {needed(assignment, compat=False)}"

    def _room_is_kept(self, root: QuotaNode) -> bool:
        """Whether a head of the tree keeps others from what it cannot get."""
        world = self.cluster.world
        found = (world.last_attempt(key) for key in self.cluster.pending())
        kept = (each for each in found if each is not None and each.reserves_capacity and not each.inadmissible)
        return any(world.state.queues[each.queue].node.root is root for each in kept)

    @invariant()
    def the_world_is_that_of_its_objects(self) -> None:
        """One that saw every change and one made afresh are alike."""
        fresh, world = self.cluster.fresh(), self.cluster.world
        assert sums(fresh.state) == sums(world.state)
        assert fresh.readiness == world.readiness
        assert {name: {each.key for each in queue.entries()} for name, queue in fresh.queues.pending.items()} == {
            name: {each.key for each in queue.entries()} for name, queue in world.queues.pending.items()
        }

    @invariant()
    def usage_is_that_of_the_workloads(self) -> None:
        held = {key for key, found in self.cluster.workloads.items() if found.counts and self._queue_exists(found)}
        assert held == set(self.cluster.world.state.reservations)

    def _queue_exists(self, found: Workload) -> bool:
        return found.admission is not None and found.admission.cluster_queue in self.cluster.queues


class FairRuns(Runs):
    fair_sharing = True


def sums(state: QuotaState) -> dict[str, tuple[Usage, Usage]]:
    """S and U of every node that is under no cycle; nothing is as good as 0."""
    nodes = (*state.tree.queues.values(), *state.tree.cohorts.values())
    return {repr(node): (_some(node.subtree), _some(node.usage)) for node in nodes if not state.tree.broken(node)}


def _some(amounts: Mapping[FlavorResource, int]) -> dict[FlavorResource, int]:
    return {pair: amount for pair, amount in amounts.items() if amount}


def debts(state: QuotaState) -> dict[tuple[str, FlavorResource], int]:
    """How far each node and pair is beyond what its borrowing limit allows, by KEP-79."""
    found: dict[tuple[str, FlavorResource], int] = {}
    for node in (*state.tree.queues.values(), *state.tree.cohorts.values()):
        for pair in PAIRS if not state.tree.broken(node) else ():
            terms = node.terms.get(pair)
            limit = 0 if node.up is None else terms.borrowing if terms else None
            if limit is not None:
                found[repr(node), pair] = -limit - balance(node, pair)
    return found


def _left_to_locals(state: QuotaState, at: tuple[str, FlavorResource]) -> bool:
    """Example E8: quota that a queue does not lend is left to it, although a node above is in debt."""
    return any(node.local.get(at[1]) for node in _all(state))


def _all(state: QuotaState) -> list[QuotaNode]:
    return [*state.tree.queues.values(), *state.tree.cohorts.values()]
