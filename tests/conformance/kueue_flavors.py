"""Kueue's tables of the choice of flavors: one workload in one ClusterQueue, with preemption answered by the case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from policies.dialects.kueue_flavor import read_flavor
from scheduling.flavors.assigner import assign
from scheduling.flavors.assignment import (
    FlavorAssignment,
    FlavorAttempt,
    FlavorChoice,
    PodSetAssignment,
    needed,
    total_usage,
)
from scheduling.flavors.eligibility import topology_only
from scheduling.flavors.messages import text
from scheduling.flavors.modes import FlavorOutcome, Grade, Mode, Simulate, better
from scheduling.flavors.partial_admission import search
from scheduling.flavors.scan_progress import Progress
from scheduling.objects import amounts
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.queue_settings import Fungibility, read_cohort_settings, read_queue_settings
from scheduling.objects.reading import read_workload
from scheduling.objects.requests import Counting, PodSetRequests, total_requests
from scheduling.objects.workload import ALLOWED_FLAVORS, Workload
from scheduling.quota.state import ClusterQueueState, Options, QuotaState
from tests.conformance.kueue_gates import gated
from tests.conformance.suite import Check, Data, Suite, mismatch

_GATES = frozenset(
    {
        "ConcurrentAdmission",
        "ElasticJobsViaWorkloadSlices",
        "QuotaCheckStrategy",
        "ReclaimablePods",
        "UnadmittedWorkloadsObservability",
    }
)
_MODES = {
    "NoFit": Mode.NO_FIT,
    "NoPreemptionCandidates": Mode.NO_CANDIDATES,
    "NoCandidates": Mode.NO_CANDIDATES,
    "Preempt": Mode.PREEMPT,
    "Reclaim": Mode.RECLAIM,
    "Fit": Mode.FIT,
}
_OUTCOMES = {
    FlavorOutcome.NO_FIT: "NoFit",
    FlavorOutcome.PREEMPT: "Preempt",
    FlavorOutcome.DEFERRED_FIT: "DeferredFit",
    FlavorOutcome.FIT: "Fit",
}
_POSSIBILITIES = {Mode.NO_CANDIDATES: "NoCandidates", Mode.PREEMPT: "Preempt", Mode.RECLAIM: "Reclaim"}


def suites(folder: Path) -> Iterator[Suite]:
    for file, check in _CHECKS.items():
        path = folder / "kueue" / f"{file}.json"
        if path.is_file():
            yield gated(path, check, _GATES, _places_in_topology)


def _places_in_topology(case: Data) -> str:
    """Where in a topology pods go is not decided here: a workload that asks for it never gets as far as flavors."""
    given = case["given"]
    if not any(key in given for key in ("clusterQueue", "clusterQueues")):
        return ""
    state, queue = _world(case)
    asked = any(pod_set.asks_for_topology for pod_set in _workload(case).pod_sets)
    return "places in a topology are not assigned" if asked or topology_only(state, queue.settings) else ""


# -- the world of a case -----------------------------------------------------------------------------------------------


def _world(case: Data) -> tuple[QuotaState, ClusterQueueState]:
    """What the case builds, and the ClusterQueue that the workload waits in: the first one."""
    given = case["given"]
    options = Options(fair_sharing=bool(given.get("enableFairSharing")), ignore_undeclared=_lax(case), compat=True)
    state = QuotaState(options)
    for manifest in given.get("resourceFlavors") or []:
        flavor = read_flavor(manifest)
        state.flavors[flavor.name] = flavor
    for manifest in given.get("cohorts") or []:
        state.put_cohort(read_cohort_settings(manifest))
    queues = [state.put_queue(read_queue_settings(manifest)) for manifest in _queue_manifests(given)]
    usages = (("clusterQueueUsage", "testClusterQueueUsage"), ("secondaryClusterQueueUsage", "otherClusterQueueUsage"))
    for queue, names in zip(queues, usages, strict=False):
        for name in names:
            usage = {FlavorResource.parse(pair): amount for pair, amount in (given.get(name) or {}).items()}
            state.tree.add(queue.node, usage)
    return state, queues[0]


def _queue_manifests(given: Data) -> list[Data]:
    if given.get("clusterQueues"):
        return list(given["clusterQueues"])
    second = given.get("secondaryClusterQueue")
    return [given["clusterQueue"], *([second] if second else []), *(given.get("siblingClusterQueues") or [])]


def _lax(case: Data) -> bool:
    """Whether a resource that the ClusterQueue does not cover is let through."""
    if case.get("featureGates", {}).get("QuotaCheckStrategy") is False:
        return False
    configured = (case.get("config") or {}).get("resources") or {}
    strategy = case["given"].get("quotaCheckStrategy") or configured.get("quotaCheckStrategy")
    return strategy == "IgnoreUndeclared"


def _workload(case: Data) -> Workload:
    given = case["given"]
    manifest = given.get("workload") or {"metadata": {"name": "w"}, "spec": {"podSets": _pod_sets(given)}}
    if given.get("reclaimablePods"):
        manifest = {**manifest, "status": {"reclaimablePods": given["reclaimablePods"]}}
    workload = read_workload(manifest)
    if not case.get("featureGates", {}).get("ConcurrentAdmission"):
        kept = {key: value for key, value in workload.annotations.items() if key != ALLOWED_FLAVORS}
        workload = replace(workload, annotations=kept)
    return workload


def _pod_sets(given: Data) -> list[Data]:
    return list(given.get("podSets") or ([given["podSet"]] if given.get("podSet") else []))


def _oracle(given: Data) -> Simulate:
    reported = given.get("preemptionOracle") or {}

    def ask(pair: FlavorResource, _: int) -> Grade:
        answer = reported.get(str(pair))
        if answer is None:
            return Grade(Mode.PREEMPT, 0)
        return Grade(_MODES[answer["possibility"]], answer.get("borrowingAfterSimulation") or 0)

    return ask


def _predecessor(case: Data) -> list[PodSetRequests]:
    """The slice that the workload replaces."""
    given = case["given"]
    if not case.get("featureGates", {}).get("ElasticJobsViaWorkloadSlices"):
        return []
    replaced = given.get("preemptWorkloadSlice") or given.get("replaceWl") or {}
    return [_held(entry) for entry in replaced.get("totalRequests") or []]


def _held(entry: Data) -> PodSetRequests:
    count, requests = entry.get("count") or 0, entry.get("requests") or {}
    return PodSetRequests(entry["name"], count, requests, amounts.divided(requests, count), entry.get("flavors") or {})


def _assignment(case: Data) -> FlavorAssignment:
    state, queue = _world(case)
    workload = _workload(case)
    counting = Counting(reclaimable_pods=case.get("featureGates", {}).get("ReclaimablePods", True))
    return assign(
        state,
        queue,
        workload,
        simulate=_oracle(case["given"]),
        requests=total_requests(workload, counting),
        predecessor=_predecessor(case),
    )


# -- whole assignments -------------------------------------------------------------------------------------------------


def _as_expected(case: Data) -> str | None:
    expected, found = case["expect"], _assignment(case)
    wanted = expected["assignment"] or {}
    observed = case.get("featureGates", {}).get("UnadmittedWorkloadsObservability", False)
    usage = {str(pair): amount for pair, amount in found.usage.items()}
    return (
        mismatch(expected["representativeMode"], _OUTCOMES[found.outcome])
        or mismatch(wanted.get("borrowing") or 0, found.level)
        or mismatch((wanted.get("usage") or {}).get("quota") or {}, usage)
        or (mismatch(wanted.get("noFitReason") or "", found.no_fit) if observed else None)
        or _same_pod_sets(wanted.get("podSets") or [], found.pod_sets, observed)
    )


def _same_pod_sets(wanted: list[Data], found: tuple[PodSetAssignment, ...], observed: bool) -> str | None:
    if len(wanted) != len(found):
        return mismatch([entry["name"] for entry in wanted], [entry.name for entry in found])
    pairs = zip(wanted, found, strict=True)
    return next(filter(None, (_same_pod_set(entry, assigned, observed) for entry, assigned in pairs)), None)


def _same_pod_set(wanted: Data, found: PodSetAssignment, observed: bool) -> str | None:
    choices = {
        resource: {"name": choice.flavor, "mode": _OUTCOMES[choice.outcome], "triedFlavorIdx": choice.tried}
        for resource, choice in found.choices.items()
    }
    return (
        mismatch((wanted["name"], wanted["count"]), (found.name, found.count))
        or mismatch(wanted.get("flavors") or {}, choices)
        or mismatch(amounts.read(wanted.get("requests")), dict(found.requests))
        or mismatch(set((wanted.get("status") or {}).get("reasons") or []), set(map(text, found.reasons)))
        or _same_attempts(wanted.get("flavorAssignmentAttempts") or [], found, observed)
    )


def _same_attempts(wanted: list[Data], found: PodSetAssignment, observed: bool) -> str | None:
    """Where a flavor fits, those behind it need not have been looked at."""
    attempts = {attempt.flavor: attempt for attempt in found.attempts}
    if not wanted:
        return None
    if found.outcome != FlavorOutcome.FIT or not any(attempt.mode == Mode.FIT for attempt in found.attempts):
        missed = mismatch({entry["flavor"] for entry in wanted}, set(attempts))
        if missed:
            return missed
    seen = ((entry, attempts[entry["flavor"]]) for entry in wanted if entry["flavor"] in attempts)
    return next(filter(None, (_same_attempt(entry, attempt, observed) for entry, attempt in seen)), None)


def _same_attempt(wanted: Data, attempt: FlavorAttempt, observed: bool) -> str | None:
    return (
        mismatch((wanted["flavor"], wanted["mode"]), (attempt.flavor, _OUTCOMES[attempt.mode.outcome]))
        or mismatch(wanted.get("borrow") or 0, attempt.level)
        or mismatch(wanted.get("preemptionPossibility"), _POSSIBILITIES.get(attempt.mode))
        or mismatch(set(wanted.get("reasons") or []), set(map(text, attempt.reasons)))
        or (mismatch(wanted.get("noFitReason") or "", attempt.no_fit) if observed else None)
    )


# -- parts of assignments ----------------------------------------------------------------------------------------------


def _flavors_chosen(case: Data) -> str | None:
    expected, found = case["expect"], _assignment(case)
    chosen = {resource: choice.flavor for entry in found.pod_sets for resource, choice in entry.choices.items()}
    wanted = expected.get("resourceFlavors")
    if wanted is None:
        wanted = expected.get("flavors") or {}
    return mismatch(expected["representativeMode"], _OUTCOMES[found.outcome]) or mismatch(wanted, chosen)


def _flavor_allowed(case: Data) -> str | None:
    expected, found = case["expect"], _assignment(case)
    chosen = {choice.flavor for entry in found.pod_sets for choice in entry.choices.values()}
    wanted = {expected["flavor"]} if expected.get("flavor") else set()
    return mismatch(expected["representativeMode"], _OUTCOMES[found.outcome]) or mismatch(wanted, chosen)


def _no_fit(case: Data) -> str | None:
    expected, found = case["expect"], _assignment(case)
    reported = {attempt.flavor: attempt.no_fit for entry in found.pod_sets for attempt in entry.attempts}
    wanted = expected.get("flavorAttempts") or {}
    if found.outcome == FlavorOutcome.FIT:
        wanted = {flavor: reason for flavor, reason in wanted.items() if flavor in reported}
    return mismatch(expected.get("noFitReason") or "", found.no_fit) or mismatch(
        wanted, {flavor: reported.get(flavor) for flavor in wanted}
    )


def _needed(case: Data) -> str | None:
    """What an assignment needs, given by the case instead of found."""
    given = case["given"]
    asked = total_requests(_workload(case))
    assigned = [
        _given(entry, requests)
        for entry, requests in zip((given["assignment"] or {}).get("podSets") or (), asked, strict=True)
    ]
    replaced = given.get("replaceWorkloadSlice") or {}
    usage = total_usage(assigned, [_held(entry) for entry in replaced.get("totalRequests") or []], asked)
    found = needed(FlavorAssignment(tuple(assigned), usage, 0, FlavorOutcome.FIT), compat=True)
    return mismatch(case["expect"]["result"] or {}, {str(pair): amount for pair, amount in found.items()})


def _given(entry: Data, requests: PodSetRequests) -> PodSetAssignment:
    choices = {
        resource: FlavorChoice(choice["name"], Mode.FIT, 0, -1, FlavorOutcome.FIT)
        for resource, choice in (entry.get("flavors") or {}).items()
    }
    return PodSetAssignment(entry["name"], entry["count"], requests.scaled_to(entry["count"]).requests, choices)


# -- rules of their own ------------------------------------------------------------------------------------------------


def _preferred(case: Data) -> str | None:
    given = case["given"]
    manifest = {"metadata": {"name": "q"}, "spec": {"flavorFungibility": given.get("flavorFungibility") or {}}}
    fungibility: Fungibility = read_queue_settings({"kind": "ClusterQueue", **manifest}).fungibility
    return mismatch(case["expect"]["preferred"], better(_grade(given["a"]), _grade(given["b"]), fungibility))


def _grade(entry: Mapping[str, object]) -> Grade:
    level = entry.get("borrowingLevel") or 0
    assert isinstance(level, int)
    return Grade(_MODES[str(entry["preemptionMode"])], level)


def _reduced(case: Data) -> str | None:
    limit, expected = case["given"]["countLimit"], case["expect"]

    def probe(counts: Iterable[int]) -> int | None:
        total = sum(counts)
        return total if total <= limit else None

    count = search(_workload(case).pod_sets, probe)
    return mismatch((expected["found"], expected["count"]), (count is not None, count or 0))


def _progress(state: Data | None) -> Progress:
    reported = state or {}
    return Progress(
        tried=tuple(reported.get("lastTriedFlavorIdx") or ()),
        generation=reported.get("clusterQueueGeneration") or 0,
        cycle=reported.get("schedulingCycle") or 0,
        scheduling_hash=reported.get("schedulingHash") or "",
    )


def _outdated(case: Data) -> str | None:
    given = case["given"]
    found = _progress(given["last"]).outdated(
        given["currentCQGeneration"],
        given["currentSchedulingCycle"],
        given.get("currentSchedulingHash") or "",
    )
    return mismatch(case["expect"]["result"], found)


_CHECKS: dict[str, Check] = {
    "flavorassigner/TestAssignFlavors": _as_expected,
    "flavorassigner/TestDeletedFlavors": _as_expected,
    "flavorassigner/TestReclaimBeforePriorityPreemption": _flavors_chosen,
    "flavorassigner/TestHierarchical": _flavors_chosen,
    "flavorassigner/TestAssignFlavorsWithAllowedFlavors": _flavor_allowed,
    "flavorassigner/TestIsNoFitDueToCapacityAndLimits": _no_fit,
    "flavorassigner/TestAssignment_TotalRequestsFor": _needed,
    "flavorassigner/TestIsPreferred": _preferred,
    "flavorassigner/TestSearch": _reduced,
    "scheduler/TestLastAssignmentOutdated": _outdated,
}
