"""Kueue's tables of preemption: who must give way, in which order, by which right; and of shares, which decide it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from scheduling.objects import times
from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.objects.queue_settings import ClusterQueueSettings, read_cohort_settings, read_queue_settings
from scheduling.objects.reading import read_workload
from scheduling.objects.requests import total_requests, usage
from scheduling.objects.workload import EVICTED, PREEMPTED, Workload
from scheduling.preemption.candidates import CandidatePrecedence
from scheduling.preemption.preemption import find_targets
from scheduling.preemption.target_ordering import TargetOrdering
from scheduling.preemption.targets import PreemptionTarget, eviction_message
from scheduling.quota.node import QuotaNode
from scheduling.quota.shares import DominantShare, Shares, borrows_on
from scheduling.quota.state import ClusterQueueState, Options, QuotaState, Reservation
from scheduling.status.eviction import preempt
from tests.conformance.kueue_gates import gated
from tests.conformance.suite import Data, Suite, mismatch

_BUFFER_GATE = "SchedulerTimestampPreemptionBuffer"
_BUFFER = 300 * times.SECOND
_NOMINAL_GATE = "FairSharingPreemptWithinNominal"
_GATES = frozenset({_BUFFER_GATE, _NOMINAL_GATE, "AdmissionFairSharing"})


def suites(folder: Path) -> Iterator[Suite]:
    for file, check in _CHECKS.items():
        path = folder / "kueue" / f"{file}.json"
        if path.is_file():
            yield gated(path, check, _GATES)


# -- the world of a case -----------------------------------------------------------------------------------------------


def _state(case: Data) -> QuotaState:
    given, fair = case["given"], (case.get("config") or {}).get("fairSharing")
    strategies = (fair or {}).get("preemptionStrategies")
    options = Options(
        fair_sharing=fair is not None,
        strategies=tuple(strategies or Options().strategies),
        nominal_first=case.get("featureGates", {}).get(_NOMINAL_GATE, True),
        compat=True,
    )
    state = QuotaState(options)
    for manifest in given.get("clusterQueues") or []:
        state.put_queue(read_queue_settings(manifest))
    for manifest in given.get("cohorts") or []:
        state.put_cohort(read_cohort_settings(manifest))
    for manifest in given.get("admitted") or []:
        state.reserve(_reservation(state, _workload(case, manifest)))
    return state


def _workload(case: Data, manifest: Data) -> Workload:
    return read_workload(manifest, boosted=_gate(case, "PriorityBoost"))


def _reservation(state: QuotaState, workload: Workload) -> Reservation:
    assert workload.admission is not None
    return Reservation(workload, state.queues[workload.admission.cluster_queue], usage(total_requests(workload)))


def _gate(case: Data, name: str) -> bool:
    return bool(case.get("featureGates", {}).get(name, False))


def _pairs(amounts: dict[str, Any] | None) -> dict[FlavorResource, int]:
    return {FlavorResource.parse(pair): amount for pair, amount in (amounts or {}).items()}


# -- victims -----------------------------------------------------------------------------------------------------------


def _targets(case: Data) -> str | None:
    given, expected, state = case["given"], case["expect"], _state(case)
    preemptor, queue = _workload(case, given["incoming"]), state.queues[given["targetClusterQueue"]]
    need, short = _asked(preemptor, given["assignment"])
    before = _usages(state)
    targets = find_targets(state, preemptor, queue, need, short)
    wanted = sorted((target["workload"], target["reason"]) for target in expected.get("targets") or [])
    return (
        mismatch(wanted, sorted((target.key, target.reason.value) for target in targets))
        or mismatch(before, _usages(state))
        or _told_alike(expected.get("conditions"), {target.key: _told(target, preemptor, queue) for target in targets})
    )


def _asked(preemptor: Workload, assignment: Data | None) -> tuple[Usage, set[FlavorResource]]:
    """All that was assigned, and the pairs of it that do not fit."""
    need: dict[FlavorResource, int] = {}
    short: set[FlavorResource] = set()
    assigned = {entry["name"]: entry for entry in (assignment or {}).get("podSets") or ()}
    for entry in total_requests(preemptor):
        chosen = assigned[entry.name]["flavors"]
        for resource, amount in entry.scaled_to(assigned[entry.name].get("count", entry.count)).requests.items():
            if resource not in chosen:
                continue
            pair = FlavorResource(chosen[resource]["flavor"], resource)
            need[pair] = need.get(pair, 0) + amount
            if chosen[resource]["mode"] == "Preempt":
                short.add(pair)
    return need, short


def _usages(state: QuotaState) -> dict[str, dict[FlavorResource, int]]:
    nodes = (*state.tree.queues.values(), *state.tree.cohorts.values())
    return {repr(node): {pair: amount for pair, amount in node.usage.items() if amount} for node in nodes}


def _told_alike(expected: Data | None, found: dict[str, list[tuple[str, ...]]]) -> str | None:
    """Of the tables that say what the victims are told."""
    if expected is None:
        return None
    wanted = {
        key: sorted((entry["type"], entry["status"], entry["reason"], entry["message"]) for entry in entries)
        for key, entries in expected.items()
    }
    return mismatch(wanted, found)


def _told(target: PreemptionTarget, preemptor: Workload, queue: ClusterQueueState) -> list[tuple[str, ...]]:
    """What the victim's status says of it then; who leaves already is not told again."""
    victim = target.reservation.workload
    if not victim.evicted:
        victim = preempt(victim, target.reason, target.message(preemptor, queue.node), now=0)
    found = {kind: victim.conditions[kind] for kind in (EVICTED, PREEMPTED) if kind in victim.conditions}
    return sorted((kind, entry.status, entry.reason, entry.message) for kind, entry in found.items())


# -- order and policy --------------------------------------------------------------------------------------------------


def _order(case: Data) -> str | None:
    given, state, usages = case["given"], QuotaState(), {}
    reservations = []
    for entry in given["candidates"] or ():
        queue = state.queues.get(entry["clusterQueue"]) or state.put_queue(
            ClusterQueueSettings(entry["clusterQueue"], None, {}, ())
        )
        reservation = Reservation(_workload(case, entry["workload"]), queue, {})
        reservations.append(reservation)
        if entry.get("localQueueFSUsage") is not None:
            usages[reservation.key] = Fraction(str(entry["localQueueFSUsage"]))
    precedence = CandidatePrecedence(usage=_usage_of(usages) if _gate(case, "AdmissionFairSharing") else None)
    found = precedence.in_order(reservations, given["preemptorClusterQueue"])
    return mismatch(case["expect"]["candidates"] or [], [each.workload.name for each in found])


def _usage_of(usages: dict[str, Fraction]) -> Callable[[Reservation], Fraction | None]:
    return lambda reservation: usages.get(reservation.key)


def _policy(case: Data) -> str | None:
    given = case["given"]
    precedence = CandidatePrecedence(buffer=_BUFFER if _gate(case, _BUFFER_GATE) else 0)
    preemptor, candidate = _workload(case, given["preemptor"]), _workload(case, given["candidate"])
    return mismatch(case["expect"]["result"], precedence.allows(given["policy"], preemptor, candidate))


def _contest(case: Data) -> str | None:
    given, state = case["given"], _state(case)
    listed = given.get("candidateClusterQueues") or []
    candidates = [each for each in state.reservations.values() if each.queue.name in listed]
    own = state.queues[given["preemptorClusterQueue"]].node
    precedence = CandidatePrecedence()
    contest = TargetOrdering(own, precedence.by_queue(candidates, own.name), Shares(), precedence)
    actions = list(given.get("actions") or [])
    order: list[str] = []
    while (node := contest.pick()) is not None:
        order.append(node.name)
        if actions and actions.pop(0) == "drop":
            contest.drop(node)
        else:
            contest.pop(node)
    return mismatch(case["expect"]["order"] or [], order)


def _message(case: Data) -> str | None:
    given = case["given"]
    preemptor = _workload(case, given["preemptor"])
    text = eviction_message(preemptor, given["reason"], given["preemptorPath"], given["preempteePath"])
    return mismatch(case["expect"]["result"], text)


def _priority(case: Data) -> str | None:
    workload, expected = _workload(case, case["given"]["workload"]), case["expect"]
    return mismatch(
        (expected["base"], expected["boost"], expected["effective"]), (workload.base, workload.boost, workload.priority)
    )


# -- shares ------------------------------------------------------------------------------------------------------------


def _shares(case: Data) -> str | None:
    given = case["given"]
    queues = [given[key] for key in ("clusterQueue", "lendingClusterQueue") if given.get(key)]
    state = _state({"given": {"clusterQueues": queues, "cohorts": given.get("cohorts")}})
    node = state.tree.queues[given["clusterQueue"]["metadata"]["name"]]
    for more in (given.get("usage"), given.get("additionalRequest")):
        state.tree.add(node, _pairs(more))
    nodes: dict[tuple[str, str], QuotaNode] = {
        **{("ClusterQueue", name): each for name, each in state.tree.queues.items()},
        **{("Cohort", name): each for name, each in state.tree.cohorts.items()},
    }
    shares = Shares()
    found = {key: shares.of(each) for key, each in nodes.items()}
    wanted = {
        (entry["node"], entry["name"]): (entry["borrowing"], entry["dominantResource"], entry["dominantResourceShare"])
        for entry in case["expect"]["shares"] or ()
    }
    return mismatch(wanted, {key: (share.borrowing, share.resource, share.published) for key, share in found.items()})


def _borrowing(case: Data) -> str | None:
    given, expected, state = case["given"], case["expect"], _state(case)
    node = state.tree.queues["cq"]
    state.tree.add(node, _pairs(given.get("usage")))
    return mismatch(
        (expected["borrowing"], expected["borrowingOnRequested"]),
        (Shares().of(node).borrowing, borrows_on(node, _pairs(given.get("requestedFRs")))),
    )


def _share_text(case: Data) -> str | None:
    drs = case["given"]["drs"]
    weight = int(Fraction(str(drs["fairWeight"])) * 10**9)
    share = DominantShare(drs["borrowing"], drs["dominantResource"], Fraction(str(drs["unweightedRatio"])), weight)
    return mismatch(case["expect"]["result"], str(share))


_CHECKS: dict[str, Callable[[Data], str | None]] = {
    "preemption/TestPreemption": _targets,
    "preemption/TestHierarchicalPreemptions": _targets,
    "preemption/TestFairPreemptions": _targets,
    "preemption/TestCandidatesOrdering": _order,
    "preemption/TestSatisfiesPreemptionPolicy": _policy,
    "preemption/TestMakeClusterQueueOrdering": _contest,
    "preemption/TestPreemptionMessage": _message,
    "preemption/TestPriorityInfo": _priority,
    "cache-scheduler/TestDominantResourceShare": _shares,
    "cache-scheduler/TestIsBorrowingOn": _borrowing,
    "cache-scheduler/TestPreciseWeightedShareSerialized": _share_text,
}
