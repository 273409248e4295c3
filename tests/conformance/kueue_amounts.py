"""Kueue's tables of amounts, of LimitRanges and of priorities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from policies.amounts.limit_ranges import Limits, summarize, violations
from policies.amounts.requests import readable
from policies.model.pools import count
from policies.model.quantity import Quantities, Quantity
from scheduling.objects import amounts
from scheduling.objects.amounts import Requests
from scheduling.objects.priority import PriorityClasses, UnknownPriorityClass, read_priority_classes
from scheduling.objects.reading import priority_boost, read_workload
from tests.conformance.kueue_gates import gated
from tests.conformance.suite import Check, Data, Suite, mismatch

_MANY = 2**31 - 1
"""How often a request for nothing fits."""


def suites(folder: Path) -> Iterator[Suite]:
    for file, check in _CHECKS.items():
        path = folder / "kueue" / f"{file}.json"
        if path.is_file():
            yield gated(path, check)


# -- resources ---------------------------------------------------------------------------------------------------------


def _from_quantity(case: Data) -> str | None:
    given, expected = case["given"], case["expect"]
    amount = count(given["resource"], Quantity.parse(given["quantity"]))
    unlimited = amount == amounts.UNLIMITED
    wanted = (expected["unlimited"], 0 if expected["unlimited"] else expected["value"])
    return mismatch(wanted, (unlimited, 0 if unlimited else amount))


def _clamped(case: Data) -> str | None:
    given = case["given"]
    return mismatch(case["expect"]["result"], amounts.requested(given["resource"], Quantity.parse(given["quantity"])))


def _round_trip(case: Data) -> str | None:
    given = case["given"]
    written = amounts.quantity_of(given["resource"], given["value"])
    return mismatch(case["expect"]["result"], str(written)) or mismatch(
        given["value"], amounts.requested(given["resource"], written)
    )


def _approximate(case: Data) -> str | None:
    given, wanted = case["given"], case["expect"]["result"]
    amount = amounts.UNLIMITED if given["amount"] == "unlimited" else given["amount"]
    return mismatch(float(wanted), amounts.approximate(given["resource"], amount))


def _count_in(case: Data) -> str | None:
    given, expected = case["given"], case["expect"]
    count, limiting = _fitting(given.get("requests") or {}, given.get("capacity") or {})
    if "result" in expected:
        return mismatch(expected["result"], count)
    return mismatch((expected["count"], expected.get("limitingResource") or ""), (count, limiting))


def _fitting(requests: Requests, capacity: Requests) -> tuple[int, str]:
    """How often the requests fit, and the first resource that limits this; (0, "") for no requests."""
    counts = [
        (max(0, min(capacity.get(resource, 0) // amount, _MANY)) if amount else _MANY, resource)
        for resource, amount in requests.items()
    ]
    return min(counts, default=(0, ""))


def _greater(case: Data) -> str | None:
    a, b = (case["given"].get(side) or {} for side in "ab")
    found = sorted(resource for resource, amount in a.items() if resource in b and amount > b[resource])
    return mismatch(case["expect"]["result"] or [], found)


# -- limitrange --------------------------------------------------------------------------------------------------------

_FIELDS = {
    "min": "minimum",
    "max": "maximum",
    "maxLimitRequestRatio": "ratio",
    "default": "limits",
    "defaultRequest": "requests",
}


def limits(item: Data) -> Limits:
    return Limits(**{name: readable(item.get(field)) for field, name in _FIELDS.items()})


def _summary(case: Data) -> str | None:
    wanted = {kind: limits(item) for kind, item in (case["expect"]["result"] or {}).items()}
    return mismatch(_values(wanted), _values(summarize(case["given"].get("ranges") or [])))


def _values(summary: dict[str, Limits]) -> dict[str, list[Quantities]]:
    return {kind: [getattr(entry, name) for name in _FIELDS.values()] for kind, entry in summary.items()}


def _pod_spec(case: Data) -> str | None:
    summary = {kind: limits(item) for kind, item in (case["given"].get("summary") or {}).items()}
    found = violations(summary, case["given"]["podSpec"] or {}, "spec.podSets[0].template.spec")
    wanted = [(error["field"], error["detail"]) for error in case["expect"]["result"] or []]
    return mismatch(sorted(wanted), sorted((violation.field, violation.message) for violation in found))


# -- priority ----------------------------------------------------------------------------------------------------------


def _boosted(case: Data) -> bool:
    return bool(case.get("featureGates", {}).get("PriorityBoost", False))


def _boost(case: Data) -> str | None:
    annotations = case["given"]["workload"]["metadata"].get("annotations") or {}
    boost = priority_boost(annotations) if _boosted(case) else 0
    expected = case["expect"]
    return mismatch((expected["boost"], expected["error"]), (boost or 0, boost is None))


def _effective(case: Data) -> str | None:
    manifest, expected = case["given"]["workload"], case["expect"]
    priority = read_workload(manifest, boosted=_boosted(case)).priority
    boost = priority_boost(manifest["metadata"].get("annotations") or {}) if _boosted(case) else 0
    failed = mismatch(expected["error"], boost is None) if "error" in expected else None
    return failed or mismatch(expected.get("priority", expected.get("result")), priority)


def _classes(items: Data | None, kind: str) -> PriorityClasses:
    return read_priority_classes({**item, "kind": kind} for item in (items or {}).get("items") or [])


def _default_exists(case: Data) -> str | None:
    classes = _classes(case["given"]["workloadPriorityClassList"], "WorkloadPriorityClass")
    return mismatch(case["expect"]["exist"], "default" in classes.of_workloads)


def _by_pod_class(case: Data) -> str | None:
    classes = _classes(case["given"]["priorityClassList"], "PriorityClass")
    return _priority(case, lambda: classes.by_pod_class(case["given"].get("priorityClassName") or ""))


def _by_workload_class(case: Data) -> str | None:
    classes = _classes(case["given"]["workloadPriorityClassList"], "WorkloadPriorityClass")
    return _priority(case, lambda: classes.by_workload_class(case["given"]["workloadPriorityClassName"]))


def _priority(case: Data, look_up: Callable[[], tuple[object, int]]) -> str | None:
    expected = case["expect"]
    try:
        reference, value = look_up()
    except UnknownPriorityClass:
        return None if (expected["error"] or {}).get("reason") == "NotFound" else "expected a class, got none"
    wanted = expected["priorityClassRef"]
    as_pair = tuple(wanted[key] for key in ("group", "kind", "name")) if wanted else None
    return mismatch((None, as_pair, expected["priorityClassValue"]), (expected["error"], reference, value))


_CHECKS: dict[str, Check] = {
    "resources/TestAmountAsApproximateFloat64": _approximate,
    "resources/TestAmountFromQuantity": _from_quantity,
    "resources/TestCountIn": _count_in,
    "resources/TestCountInWithLimitingResource": _count_in,
    "resources/TestGreaterKeys": _greater,
    "resources/TestResourceQuantityRoundTrips": _round_trip,
    "resources/TestResourceValueClampsOutsideInt64": _clamped,
    "limitrange/TestSummarize": _summary,
    "limitrange/TestValidatePodSpec": _pod_spec,
    "priority/TestDefaultWorkloadPriorityClassExist": _default_exists,
    "priority/TestEffectivePriority": _effective,
    "priority/TestGetPriorityFromPriorityClass": _by_pod_class,
    "priority/TestGetPriorityFromWorkloadPriorityClass": _by_workload_class,
    "priority/TestParseEffectivePriority": _effective,
    "priority/TestPriority": _effective,
    "priority/TestPriorityBoost": _boost,
}
