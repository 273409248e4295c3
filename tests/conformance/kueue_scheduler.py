"""Kueue's tables of the scheduler: whole cycles, the order of entries, what is reserved and where heads go back to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from policies.amounts.limit_ranges import summarize
from policies.dialects.kueue_flavor import read_flavor
from scheduling.cycle.cycle import quota_to_reserve
from scheduling.cycle.engine import AdmissionEngine
from scheduling.cycle.fair_sharing import Rank, rank
from scheduling.cycle.nomination import Nomination, classic_order
from scheduling.cycle.outcome import reserved, waiting
from scheduling.flavors.assignment import FlavorAssignment
from scheduling.flavors.modes import FlavorOutcome
from scheduling.objects import times
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.order import Ordering
from scheduling.objects.queue_settings import (
    read_check_settings,
    read_cohort_settings,
    read_local_queue_settings,
    read_queue_settings,
)
from scheduling.objects.reading import read_workload
from scheduling.objects.workload import Admission, Workload
from scheduling.queues.consumption import Consumption, UsageDecay
from scheduling.queues.pending import PendingEntry, Requeue
from scheduling.quota.shares import DominantShare
from scheduling.quota.state import Options
from scheduling.status.eviction import preempt
from scheduling.status.observability import LEGACY, Observability
from scheduling.status.progress import replaced
from scheduling.topology.fleet import Fleet
from scheduling.world.decisions import Decision, Preempt, Reserve, Wait
from scheduling.world.world import World
from tests.conformance.kueue_workload import counting
from tests.conformance.suite import Data, Suite, mismatch, suite
from tests.scheduling.cluster import GRANULAR
from tests.scheduling.queues.listed import set_aside, tried

_GATES = {
    "ElasticJobsViaWorkloadSlices",
    "PartialAdmission",
    "PrioritySortingWithinCohort",
    "RecomputeAssignmentUponPreemptionTargetsOverlap",
    "TopologyAwareScheduling",
    "TASRecomputeAssignmentWithinSchedulingCycle",
    "FlavorFungibilityPreserveScanProgress",
    "AdmissionFairSharing",
    "PrioritizePreemptorWorkloads",
}
"""What the engine has; of topologies only that nothing without one is treated otherwise."""
_TOPOLOGY = "topologies are not placed"


def suites(folder: Path) -> Iterator[Suite]:
    for name, check in _CHECKS.items():
        path = folder / "kueue" / "scheduler" / f"{name}.json"
        if path.is_file():
            yield suite("kueue", path, check, _out)


def _out(case: Data) -> str:
    """Why the case is left out, empty where it is not."""
    for gate, on in (case.get("featureGates") or {}).items():
        if on and gate not in _GATES:
            return f"{gate} is not built"
    if any(flavor.get("spec", {}).get("topologyName") for flavor in case["given"].get("resourceFlavors") or ()):
        return _TOPOLOGY
    return ""


# --- a world of a case


def world_of(case: Data, fleet: Fleet | None = None) -> World:
    """The world that the case starts with; with a fleet its nodes, pods and Topologies are there, too."""
    given, gates = case["given"], case.get("featureGates") or {}
    config = case.get("config") or {}
    fair = config.get("fairSharing")
    strategies = tuple((fair or {}).get("preemptionStrategies") or ()) or Options().strategies
    options = Options(
        fair_sharing=fair is not None,
        strategies=strategies,
        partial_admission=gates.get("PartialAdmission", True),
        recompute_on_overlap=gates.get("RecomputeAssignmentUponPreemptionTargetsOverlap", False),
        preemptors_first=gates.get("PrioritizePreemptorWorkloads", False),
        elastic=gates.get("ElasticJobsViaWorkloadSlices", True),
        recompute_places=gates.get("TASRecomputeAssignmentWithinSchedulingCycle", True),
        fail_fast=gates.get("TASFailedNodeReplacementFailFast", True) and not given.get("statusPatchError"),
        compat=True,
    )
    ordering = Ordering(by_priority=gates.get("PrioritySortingWithinCohort", True))
    world = World(options, ordering, counting(given, gates), _consumption(case), fleet)
    now = now_of(case)
    for topology in given.get("topologies") or ():
        levels = tuple(level["nodeLabel"] for level in topology["spec"]["levels"])
        world.put_topology(topology["metadata"]["name"], levels)
    for flavor in given.get("resourceFlavors") or ():
        world.put_flavor(read_flavor(flavor))
    for check in given.get("admissionChecks") or ():
        world.put_check(read_check_settings(check))
    for queue in given.get("clusterQueues") or ():
        world.put_queue(read_queue_settings(queue, stored=False), now)
    for cohort in given.get("cohorts") or ():
        world.put_cohort(read_cohort_settings(cohort), now)
    for namespace in given.get("namespaces") or ():
        meta = namespace["metadata"]
        world.put_namespace(meta["name"], meta.get("labels") or {})
    for ranges in (*(given.get("limitRanges") or ()), *(given.get("objects") or ())):
        if ranges.get("kind", "LimitRange") == "LimitRange":
            world.put_limit_ranges(ranges["metadata"]["namespace"], summarize([ranges]))
    for local in given.get("localQueues") or ():
        world.put_local_queue(read_local_queue_settings(local), now)
    for workload in given.get("workloads") or ():
        world.put_workload(read_workload(workload), now)
    return world


def _consumption(case: Data) -> Consumption | None:
    settings = (case.get("config") or {}).get("admissionFairSharing")
    if settings is None or not (case.get("featureGates") or {}).get("AdmissionFairSharing", True):
        return None
    weights = {name: Fraction(str(weight)) for name, weight in (settings.get("resourceWeights") or {}).items()}
    half_life, sampling = seconds(settings["usageHalfLifeTime"]), seconds(settings["usageSamplingInterval"])
    consumption = Consumption(UsageDecay(half_life * times.SECOND, sampling * times.SECOND, weights))
    for name, consumed in (case["given"].get("initialUsage") or {}).items():
        amounts = {resource: Decimal(str(amount)) for resource, amount in consumed.items()}
        consumption.put(f"default/{name}", amounts)
    return consumption


def seconds(duration: str) -> int:
    """Of a Go duration such as 10s or 1h30m0s."""
    found = re.findall(r"(\d+)(h|m|s)", duration)
    return sum(int(count) * {"h": 3600, "m": 60, "s": 1}[unit] for count, unit in found)


def now_of(case: Data) -> int:
    return times.parse(case["given"].get("now") or "2025-01-01T00:00:00Z")


# --- whole cycles


def _cycle(case: Data) -> str | None:
    world = world_of(case)
    decisions = AdmissionEngine(world).step(now_of(case))
    if case["given"].get("statusPatchError"):
        for decision in decisions:
            if isinstance(decision, Reserve):
                world.forget(decision.workload.key, now_of(case))
        decisions = [decision for decision in decisions if not isinstance(decision, Reserve)]
    return (
        _same_assignments(case, world, decisions)
        or same_left(case, world)
        or same_statuses(case, world, decisions)
        or same_conditions(case, world, decisions)
        or _same_skips(case, decisions)
    )


def _same_assignments(case: Data, world: World, decisions: list[Decision]) -> str | None:
    expected = {
        key: read_workload({"metadata": {}, "status": {"admission": admission}}).admission
        for key, admission in (case["expect"].get("assignments") or {}).items()
    }
    return mismatch(_admissions(expected), _admissions(_assigned(world, decisions)))


def _assigned(world: World, decisions: list[Decision]) -> dict[str, Admission | None]:
    after = carried_out(world, decisions, 0)
    return {key: after[key].admission for key in world.state.reservations}


def _admissions(found: Mapping[str, Admission | None]) -> dict[str, object]:
    return {
        key: admission
        and (
            admission.cluster_queue,
            [(entry.name, entry.count, dict(entry.flavors), dict(entry.usage)) for entry in admission.assignments],
        )
        for key, admission in found.items()
    }


def carried_out(
    world: World, decisions: list[Decision], now: int, observability: Observability = GRANULAR
) -> dict[str, Workload]:
    """Every workload as it is once the decisions are written."""
    after = dict(world.workloads)
    for decision in decisions:
        if isinstance(decision, Reserve):
            queue = world.state.queues[decision.queue].settings
            key = decision.workload.key
            after[key] = reserved(after[key], decision, queue, now, observability)
            if (slice_ := after.get(after[key].replaces)) is not None and after[key].takes_over_from(slice_):
                after[slice_.key] = replaced(slice_, after[key], now)
        elif isinstance(decision, Preempt):
            victim = decision.target.reservation.workload
            after[victim.key] = preempt(victim, decision.target.reason, decision.message, now)
        else:
            key = decision.workload.key
            after[key] = waiting(after[key], decision, now, world.counting, observability)
    return after


def same_left(case: Data, world: World) -> str | None:
    active, aside = {}, {}
    for name, queue in world.queues.pending.items():
        if found := sorted(entry.key for entry in tried(queue)):
            active[name] = found
        if found := sorted(entry.key for entry in set_aside(queue)):
            aside[name] = found
    expect = case["expect"]
    return mismatch(_sorted(expect.get("left")), active) or mismatch(_sorted(expect.get("inadmissibleLeft")), aside)


def _sorted(lists: Mapping[str, list[str]] | None) -> dict[str, list[str]]:
    return {name: sorted(keys) for name, keys in (lists or {}).items() if keys}


def same_statuses(case: Data, world: World, decisions: list[Decision]) -> str | None:
    after = carried_out(world, decisions, now_of(case), LEGACY)
    return _same_workloads(case["expect"].get("workloads") or (), after)


def _same_workloads(manifests: Iterable[Data], after: Mapping[str, Workload]) -> str | None:
    for workload in map(read_workload, manifests):
        wrong = mismatch(_status(workload), _status(after[workload.key]))
        if wrong:
            return f"{workload.key}: {wrong}"
    return None


def _status(workload: Workload) -> dict[str, Any]:
    return {
        "conditions": _conditions(workload),
        "admission": _admissions({"": workload.admission}),
        "requests": {name: dict(found) for name, found in workload.resource_requests.items()},
        "checks": sorted((check.name, check.state, check.retries) for check in workload.checks),
        "active": workload.active,
        "evictions": workload.evictions,
    }


def _conditions(workload: Workload) -> dict[str, tuple[str, str, str]]:
    return {kind: (found.status, found.reason, found.message) for kind, found in workload.conditions.items()}


def same_conditions(case: Data, world: World, decisions: list[Decision]) -> str | None:
    after = carried_out(world, decisions, now_of(case))
    for key, conditions in (case["expect"].get("conditionsWithObservability") or {}).items():
        expected = read_workload({"metadata": {}, "status": {"conditions": conditions}})
        wrong = mismatch(_conditions(expected), _conditions(after[key]))
        if wrong:
            return f"{key}: {wrong}"
    return None


def _same_skips(case: Data, decisions: list[Decision]) -> str | None:
    expected = case["expect"].get("skippedPreemptions")
    if expected is None:
        return None
    skipped: dict[str, int] = {}
    for decision in decisions:
        if isinstance(decision, Wait) and decision.requeue == Requeue.FAILED_AFTER_NOMINATION and decision.victims:
            skipped[decision.queue] = skipped.get(decision.queue, 0) + 1
    return mismatch({name: count for name, count in expected.items() if count}, skipped)


def _two_cycles(case: Data) -> str | None:
    """The search for flavors goes on where it ended, unless what it found out is void."""
    world, now, expect = world_of(case), now_of(case), case["expect"]
    for local in case["given"].get("localQueues") or ():
        world.put_namespace(local["metadata"]["namespace"], {})
    engine = AdmissionEngine(world)
    first = engine.step(now)
    wrong = _same_workloads(expect.get("workloadsAfterFirstCycle") or (), carried_out(world, first, now, LEGACY))
    for gone in case["given"].get("deleteWorkloads") or ():
        world.drop_workload(gone)
    second = engine.step(now)
    expected = {
        key: read_workload({"metadata": {}, "status": {"admission": admission}}).admission
        for key, admission in (expect.get("admissionsOnSecondSchedule") or {}).items()
    }
    return wrong or mismatch(_admissions(expected), _admissions(_assigned(world, [*first, *second])))


def _many_cycles(case: Data) -> str | None:
    """As many cycles as there are workloads, ordered by what LocalQueues used."""
    world = world_of(case)
    world.put_namespace("default", {})
    engine, decisions = AdmissionEngine(world), []
    for _ in case["given"]["workloads"] or ():
        decisions += engine.step(now_of(case))
    return same_statuses(case, world, decisions) or same_conditions(case, world, decisions)


# --- parts of a cycle


def _entry_order(case: Data) -> str | None:
    given, gates = case["given"], case.get("featureGates") or {}
    by_eviction = (given.get("workloadOrdering") or {}).get("PodsReadyRequeuingTimestamp", "Eviction") == "Eviction"
    ordering = Ordering(by_eviction, gates.get("PrioritySortingWithinCohort", True))
    nominees = []
    for found in given["entries"] or ():
        nominees.append(_nominee(found, ordering, gates))
    order = [nominee.workload.name for nominee in classic_order(nominees, ordering.by_priority)]
    return mismatch(case["expect"]["order"] or [], order)


def _nominee(found: Data, ordering: Ordering, gates: Data) -> Nomination:
    workload = read_workload(found["workload"])
    entry = PendingEntry(workload, "", ordering.since(workload))
    assignment = FlavorAssignment((), {}, found.get("borrowing", 0), FlavorOutcome.FIT)
    claims = bool(found.get("isPreemptor")) and gates.get("PrioritizePreemptorWorkloads", False)
    return Nomination(entry, None, assignment, goes_first=claims)  # type: ignore[arg-type]


def _less(case: Data) -> str | None:
    """Which of two heads stands better at a Cohort, by the shares that the case tells."""
    given, gates = case["given"], case.get("featureGates") or {}
    ordering = Ordering(by_priority=gates.get("PrioritySortingWithinCohort", True))
    shares = {reported["workloadKey"]: reported for reported in given.get("drsValues") or ()}

    def ranked(found: Data) -> Rank:
        nominee = _nominee(found, ordering, gates)
        reported = shares.get(nominee.workload.key, {})
        requested = (given.get("requestedFRs") or {}).get(nominee.workload.key) or {}
        borrows = any(amount > 0 and pair in (reported.get("borrowedFRs") or ()) for pair, amount in requested.items())
        ratio, weight = Fraction(str(reported.get("unweightedRatio", 0))), int(reported.get("fairWeight", 1) * 10**9)
        return rank(nominee, borrows, DominantShare(reported.get("borrowing", False), "", ratio, weight))

    return mismatch(case["expect"]["less"], ranked(given["a"]) < ranked(given["b"]))


def _to_reserve(case: Data) -> str | None:
    given = case["given"]
    world = World(Options(compat=True))
    settings = read_queue_settings(given["clusterQueue"])
    world.put_queue(settings, 0)
    queue = world.state.queues[settings.name]
    world.state.tree.add(queue.node, _usage(given.get("clusterQueueUsage")))
    mode = {"Preempt": FlavorOutcome.PREEMPT, "Fit": FlavorOutcome.FIT}.get(
        given["assignmentMode"], FlavorOutcome.NO_FIT
    )
    assignment = FlavorAssignment((), _usage(given["assignmentUsage"]), given.get("borrowing", 0), mode)
    expected = _usage(case["expect"]["reserved"])
    return mismatch(
        expected, assignment.usage if mode == FlavorOutcome.FIT else quota_to_reserve(queue, assignment, compat=True)
    )


def _usage(amounts: Mapping[str, int] | None) -> dict[FlavorResource, int]:
    return {FlavorResource.parse(pair): amount for pair, amount in (amounts or {}).items()}


_CHECKS = {
    "TestSchedule": _cycle,
    "TestScheduleForFairSharing": _cycle,
    "TestScheduleRecomputePreemptionTargets": _cycle,
    "TestScheduleConcurrentAdmission": _cycle,
    "TestLastSchedulingContext": _two_cycles,
    "TestScheduleForAFS": _many_cycles,
    "TestEntryOrdering": _entry_order,
    "TestEntryComparerLess": _less,
    "TestResourcesToReserve": _to_reserve,
}
