"""YuniKorn's own tables of its arithmetic on amounts."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from policies.dialects import yunikorn
from policies.dialects.yunikorn_config import resources, shares
from policies.model.quantity import BadQuantity
from tests.conformance import yunikorn_arithmetic as arithmetic
from tests.conformance.suite import Data, Suite, mismatch, suite


def suite_of(file: Path) -> Suite:
    return suite("yunikorn", file, _differs, _unknown)


def _unknown(case: Data) -> str:
    operation = case["given"]["op"]
    return "" if operation in OPERATIONS else f"an operation that is not known here: {operation}"


def _differs(case: Data) -> str | None:
    operation, args, expect = OPERATIONS[case["given"]["op"]], case["given"]["args"], case["expect"]
    try:
        got, failed = operation(*args), False
    except (BadQuantity, ValueError):
        got, failed = None, True
    if isinstance(got, tuple):
        got, below = got
        failed = bool(below)
    if expect.get("error") is not None or failed:
        same = mismatch(expect.get("error") is not None, failed)
        return same if same or got is None else mismatch(expect["result"], got)
    return None if _same(expect["result"], got) else mismatch(expect["result"], got)


def _same(expected: Any, got: Any) -> bool:
    if isinstance(got, float):
        texts = {"NaN": math.nan, "+Inf": math.inf, "-Inf": -math.inf}
        return math.isclose(texts.get(expected, expected), got)
    if isinstance(expected, list):
        return len(expected) == len(got) and all(map(_same, expected, got))
    return bool(expected == got)


def _of_conf(texts: dict[str, str] | None) -> dict[str, int]:
    return {name: yunikorn.conf_quantity(name, text) for name, text in (texts or {}).items()}


def _fits_where_named(larger: Any, smaller: Any) -> bool:
    return not resources.over(smaller or {}, larger or {})


def _fits_exactly(larger: Any, smaller: Any) -> bool:
    return not arithmetic.over_exactly(smaller or {}, larger or {})


def _separately(*args: Any) -> int:
    left, right = shares.fair_share(*args[:3]), shares.fair_share(*args[3:])
    return (left > right) - (left < right)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "ParseQuantity": partial(yunikorn.conf_quantity, "memory"),
    "ParseVCore": partial(yunikorn.conf_quantity, "vcore"),
    "NewResourceFromConf": _of_conf,
    "NewResourceFromString": resources.from_tag,
    "Add": resources.plus,
    "AddOnlyExisting": arithmetic.plus_existing,
    "Sub": resources.minus,
    "SubOnlyExisting": arithmetic.minus_existing,
    "SubErrorNegative": arithmetic.minus_to_zero,
    "SubEliminateNegative": lambda left, right: arithmetic.minus_to_zero(left, right)[0],
    "Multiply": resources.times,
    "MultiplyBy": resources.times,
    "ComponentWiseMin": resources.least,
    "ComponentWiseMinPermissive": resources.least,
    "ComponentWiseMinOnlyExisting": arithmetic.least_existing,
    "ComponentWiseMax": resources.largest,
    "MergeIfNotPresent": arithmetic.filled,
    "IsZero": resources.is_zero,
    "StrictlyGreaterThanZero": resources.is_positive,
    "HasNegativeValue": resources.has_negative,
    "Equals": arithmetic.equal,
    "DeepEquals": lambda left, right: left == right,
    "EqualsOrEmpty": lambda a, b: (resources.is_zero(a) and resources.is_zero(b)) or arithmetic.equal(a, b),
    "MatchAny": arithmetic.share_a_type,
    "StrictlyGreaterThan": arithmetic.above,
    "StrictlyGreaterThanOrEquals": arithmetic.at_least,
    "StrictlyGreaterThanOnlyExisting": arithmetic.above_existing,
    "StrictlyGreaterThanOrEqualsOnlyExisting": arithmetic.at_least_existing,
    "FitIn": arithmetic.fits,
    "FitInMaxUndef": _fits_where_named,
    "FitInActual": _fits_exactly,
    "FitInScore": arithmetic.misfit,
    "getFairShare": shares.fair_share,
    "GetShares": shares.shares,
    "CompUsageRatio": arithmetic.usage_compared,
    "CompUsageRatioSeparately": _separately,
    "CompUsageRatioSpecificTypes": arithmetic.usage_compared,
    "FairnessRatio": arithmetic.fairness,
    "CalculateAbsUsedCapacity": arithmetic.percent_used,
    "DominantResourceType": arithmetic.dominant,
    "TypeMatching": arithmetic.percent_matching,
}
