"""Kueue's own table of faults of its Configuration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from policies.configuration.kueue.gates import CAPACITIES, COUNTERS, FeatureGates
from policies.configuration.kueue.validation import faults
from tests.conformance.kueue_gates import gated
from tests.conformance.suite import Data, Suite, mismatch

_GATES = frozenset({CAPACITIES, COUNTERS, "QuotaCheckStrategy"})


def suites(folder: Path) -> Iterator[Suite]:
    path = folder / "kueue" / "config" / "TestValidate.json"
    if path.is_file():
        yield gated(path, _same_faults, _GATES)


def _same_faults(case: Data) -> str | None:
    found = list(faults(case["given"]["configuration"], FeatureGates(case.get("featureGates", {}))))
    wanted = case["expect"].get("errors") or []
    return mismatch(case["expect"]["allowed"], not found) or mismatch(
        sorted((error["type"], error["field"]) for error in wanted),
        sorted((fault.type, fault.field) for fault in found),
    )
