"""Kueue's tables set feature gates; what they ask for must exist here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.conformance.suite import Check, Data, Suite, suite

_ABOUT_INSIDES = {"VectorizedResourceRequests"}
"""Gates about how that program keeps its data, whatever the outcome."""
_ALWAYS = {"FlavorFungibilityPreserveScanProgress", "MultiKueueIncrementalDispatcherRespectConfigOrder"}
"""Gates of which Quotree has only the behaviour with the gate on."""


def off_here(case: Data) -> str:
    """Why the case is left out: it switches off what Quotree always does; empty where it does not."""
    off = sorted(gate for gate in _ALWAYS if case.get("featureGates", {}).get(gate) is False)
    return f"the feature gate {', '.join(off)} is always on" if off else ""


def gated(
    file: Path,
    check: Check,
    gates: frozenset[str] = frozenset(),
    why_not: Callable[[Data], str] = lambda case: "",
) -> Suite:
    """The cases that set no other gates than these; `why_not` may leave out others by their kind."""

    def reason(case: Data) -> str:
        unknown = set(case.get("featureGates", {})) - gates - _ABOUT_INSIDES - _ALWAYS - {"PriorityBoost"}
        if unknown:
            return f"the feature gate {', '.join(sorted(unknown))} is not asked"
        return off_here(case) or why_not(case)

    return suite("kueue", file, check, reason)
