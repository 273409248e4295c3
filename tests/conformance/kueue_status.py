"""Kueue's tables of a Workload's status: conditions, checks, requeuing, eviction, second pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from scheduling.cycle.second_pass import needs_second_pass
from scheduling.objects import times
from scheduling.objects.queue_settings import read_queue_settings
from scheduling.objects.reading import admission, check, conditions, read_workload, reclaimable
from scheduling.objects.workload import DEACTIVATED, EVICTED, PODS_READY_TIMEOUT, CheckState, Condition, Workload
from scheduling.status.checks import checks_of, nominated_elsewhere, required_checks, retry_at, set_check, sync_checks
from scheduling.status.conditions import with_condition
from scheduling.status.deadlines import WaitForPodsReady, pods_ready_deadline
from scheduling.status.eviction import lost_quota, pending_again
from scheduling.status.observability import LEGACY
from scheduling.status.progress import finish, limited_to_sizes, with_reclaimable
from scheduling.status.requeue import requeue_at
from scheduling.status.reservation import sync_admitted
from tests.conformance.kueue_gates import gated
from tests.conformance.suite import Check, Data, Suite, mismatch, nanoseconds
from tests.scheduling.cluster import GRANULAR

_GATES = frozenset({"UnadmittedWorkloadsObservability", "TopologyAwareScheduling"})
_UNTOLD = "2025-01-01T00:00:00Z"
_GENERATION = 1
"""Of a workload of which a case shows the status alone."""


def suites(folder: Path) -> Iterator[Suite]:
    for name, each in _CHECKS.items():
        path = folder / "kueue" / (name if "/" in name else f"workload/{name}")
        path = path.with_suffix(".json")
        if path.is_file():
            yield gated(path, each, _GATES, _fails_to_write)


def _fails_to_write(case: Data) -> str:
    """No step here writes, so none can fail to."""
    given, expected = case["given"], case["expect"]
    arguments, result = given.get("args") or {}, expected.get("result")
    failed = expected.get("error") or arguments.get("patchErr") or given.get("patchErr") or given.get("err")
    if failed or (isinstance(result, dict) and result.get("err")):
        return "the API server refuses the write"
    return "" if given.get("origStates", []) is not None else "there is no list to write to"


def _now(case: Data) -> int:
    return times.parse(case["given"].get("now") or _UNTOLD)


def _status(**parts: Any) -> Workload:
    return Workload(namespace="ns", name="w", generation=_GENERATION, **parts)


def _told(found: dict[str, Condition], *, messages: bool = True) -> dict[str, object]:
    """Conditions without their times."""
    return {
        kind: (entry.status, entry.reason, entry.message if messages else "", entry.generation)
        for kind, entry in found.items()
    }


# -- conditions --------------------------------------------------------------------------------------------------------


def _admitted(case: Data) -> str | None:
    given, expected = case["given"], case["expect"]
    before = _status(
        conditions=conditions(given.get("conditions")),
        admission=admission(given.get("admission")),
        checks=tuple(map(check, given.get("checkStates") or [])),
        past_seconds=given["pastAdmittedTime"],
    )
    granular = case.get("featureGates", {}).get("UnadmittedWorkloadsObservability", False)
    after = sync_admitted(before, _now(case), GRANULAR if granular else LEGACY)
    past = after.past_seconds if expected["admittedTime"] else 0  # the table compares it where it says some
    return (
        mismatch(expected["change"], after is not before)
        or mismatch(
            _told(conditions(expected["conditions"]), messages=False), _told(dict(after.conditions), messages=False)
        )
        or mismatch(expected["admittedTime"], past)
    )


def _set_condition(case: Data) -> str | None:
    given = case["given"]
    before = _status(conditions=conditions((given.get("oldStatus") or {}).get("conditions")))
    found = with_condition(
        before, given["condType"], given["condStatus"], given["reason"], given["message"], _now(case)
    )
    wanted = conditions((case["expect"].get("status") or {}).get("conditions"))
    return mismatch(_told(wanted), _told(dict(found.conditions)))


def _finished(case: Data) -> str | None:
    arguments, expected = case["given"]["args"], case["expect"]["result"]
    found = finish(read_workload(arguments["wl"]), arguments["reason"], arguments["message"], _now(case))
    wanted = read_workload(expected["wl"])
    return mismatch(wanted, replace(found, resource_version=wanted.resource_version))


def _asks(predicate: Callable[[Workload], object]) -> Check:
    def ask(case: Data) -> str | None:
        return mismatch(case["expect"]["result"], predicate(read_workload(case["given"]["workload"])))

    return ask


# -- checks ------------------------------------------------------------------------------------------------------------


def _checks(case: Data, *, of_admission: bool) -> str | None:
    workload = read_workload(case["given"]["workload"])
    queue = read_queue_settings(case["given"]["clusterQueue"])
    if of_admission:
        assert workload.admission is not None
        found = checks_of(workload.admission, queue)
    else:
        found = required_checks(workload, queue)
    return mismatch(sorted(case["expect"]["admissionChecks"] or []), sorted(found))


def _retry(case: Data) -> str | None:
    found = retry_at(map(check, case["given"].get("checkStates") or []))
    return mismatch(times.parse(case["expect"]["retryTime"]), found)


def _check_set(case: Data) -> str | None:
    given = case["given"]
    states = tuple(map(check, given.get("origStates") or []))
    found = set_check(states, check(given["state"]), _now(case))
    wanted = tuple(map(check, case["expect"]["states"] or []))
    return mismatch(wanted, tuple(_as_told(mine, other) for mine, other in zip(found, wanted, strict=True)))


def _as_told(found: CheckState, wanted: CheckState) -> CheckState:
    """Without a transition that the table does not tell."""
    return found if wanted.since else replace(found, since=0)


def _skipped(case: Data) -> str | None:
    state, workload = case["given"].get("acs"), read_workload(case["given"]["workload"])
    found = nominated_elsewhere(check(state) if state else None, workload, elastic=bool(case["given"]["isElastic"]))
    return mismatch(case["expect"]["result"], found)


def _checks_synced(case: Data) -> str | None:
    given, expected = case["given"], case["expect"]
    before = _status(checks=tuple(map(check, given.get("states") or [])))
    after = sync_checks(before, given.get("list") or [], _now(case))
    return mismatch(expected["change"], after is not before) or _same_states(expected["states"], after)


def _checks_of_queue(case: Data) -> str | None:
    workload = read_workload(case["given"]["workload"])
    queue = read_queue_settings(case["given"]["clusterQueue"])
    after = sync_checks(workload, required_checks(workload, queue), _now(case))
    return _same_states(case["expect"]["admissionChecks"], after)


def _same_states(expected: list[Data] | None, after: Workload) -> str | None:
    wanted = sorted((check(entry) for entry in expected or []), key=lambda state: state.name)
    found = sorted(after.checks, key=lambda state: state.name)
    return mismatch([replace(state, since=0) for state in wanted], [replace(state, since=0) for state in found])


# -- requeuing, eviction, pods that are done ---------------------------------------------------------------------------


def _requeued(case: Data) -> str | None:
    given, expected = case["given"], case["expect"]
    before = read_workload(given["workload"])
    after = requeue_at(before, times.parse(given["waitUntil"]), counted=given["incrementCount"])
    assert after.requeue is not None
    return mismatch(expected["updated"], after is not before) or mismatch(
        (expected.get("count"), times.parse(expected.get("requeueAt"))), (after.requeue.count, after.requeue.at)
    )


def _not_ready(case: Data) -> str | None:
    settings, now = case["given"].get("waitForPodsReady"), _now(case)
    workload = read_workload(case["given"]["workload"])
    found = pods_ready_deadline(workload, _waiting(settings)) if settings else None
    left = max(0, found.at - now) if found else 0
    wanted = (case["expect"]["underlyingCause"], nanoseconds(case["expect"]["recheckAfter"]))
    return mismatch(wanted, (found.cause if found else "", left))


def _waiting(settings: Data) -> WaitForPodsReady:
    recovery = settings.get("recoveryTimeout")
    return WaitForPodsReady(
        timeout=nanoseconds(settings["timeout"]),
        recovery=nanoseconds(recovery) if recovery else None,
    )


def _timed_out(case: Data) -> str | None:
    evicted = read_workload(case["given"]["workload"]).holding(EVICTED)
    found = evicted if evicted is not None and evicted.reason == PODS_READY_TIMEOUT else None
    wanted = case["expect"]["condition"]
    return mismatch(case["expect"]["evictedByTimeout"], found is not None) or mismatch(
        next(iter(conditions([wanted]).values())) if wanted else None, found
    )


def _latency(case: Data) -> str | None:
    given, expected = case["given"], case["expect"]
    before, after = given.get("oldWorkload"), given.get("newWorkload")
    found = pending_again(read_workload(before), read_workload(after), _now(case)) if before and after else None
    wanted = (expected["ok"], expected["clusterQueue"], expected["reason"], nanoseconds(expected["latency"]))
    return mismatch(wanted, (True, *found) if found else (False, "", "", 0))


def _transition(case: Data) -> str | None:
    return mismatch(case["expect"]["result"], lost_quota(case["given"]["prev"], case["given"]["new"]))


def _same_pods(case: Data) -> str | None:
    before = _status(reclaimable=reclaimable(case["given"].get("a")))
    same = with_reclaimable(before, reclaimable(case["given"].get("b"))) is before
    return mismatch(case["expect"]["result"], same)


def _limited(case: Data) -> str | None:
    workload = read_workload(case["given"]["workload"])
    found = limited_to_sizes(workload, reclaimable(case["given"].get("reclaimablePods")))
    return mismatch(reclaimable(case["expect"]["result"]), found)


def _reclaimable_set(case: Data) -> str | None:
    before = _status(reclaimable=reclaimable((case["given"].get("oldStatus") or {}).get("reclaimablePods")))
    found = with_reclaimable(before, reclaimable(case["given"].get("reclaimablePods")))
    return mismatch(reclaimable((case["expect"]["status"] or {}).get("reclaimablePods")), dict(found.reclaimable))


def _evicted_by_deactivation(workload: Workload) -> bool:
    found = workload.holding(EVICTED)
    return found is not None and found.reason.startswith(DEACTIVATED)


_CHECKS: dict[str, Check] = {
    "TestSyncAdmittedCondition": _admitted,
    "TestSetConditionAndUpdate": _set_condition,
    "TestFinish": _finished,
    "TestIsOnHold": _asks(lambda workload: workload.on_hold),
    "TestIsEvictedByDeactivation": _asks(_evicted_by_deactivation),
    "TestNeedsSecondPass": _asks(needs_second_pass),
    "TestFilterChecksForAdmission": partial(_checks, of_admission=True),
    "TestAdmissionChecksForWorkload": partial(_checks, of_admission=False),
    "TestGetMaxRetryTime": _retry,
    "TestSetCheckState": _check_set,
    "TestShouldSkipClusterNomination": _skipped,
    "TestSetRequeueState": _requeued,
    "TestIsEvictedByPodsReadyTimeout": _timed_out,
    "TestEvictionPendingLatency": _latency,
    "TestFromQuotaReservedOrAdmittedToPending": _transition,
    "TestReclaimablePodsAreEqual": _same_pods,
    "TestLimitReclaimablePodsToPodSetSizes": _limited,
    "TestUpdateReclaimablePods": _reclaimable_set,
    "controller-core/TestAdmittedNotReadyWorkload": _not_ready,
    "controller-core/TestSyncCheckStates": _checks_synced,
    "controller-core/TestReconcileSyncAdmissionChecks": _checks_of_queue,
}
