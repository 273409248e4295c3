"""Outcomes of what-ifs, as `analysis.what_if.outcome` makes them."""

from __future__ import annotations

from typing import Any

from analysis.what_if.outcome import FindingRow, WhatIfOutcome
from policies.model.findings import Severity
from policies.model.objects import Ref


def answer(**found: Any) -> WhatIfOutcome:
    """Of a change of which nothing comes but what is given."""
    return WhatIfOutcome("2026-11-23T10:00:00Z", **found)


def finding(severity: Severity, message: str) -> FindingRow:
    return FindingRow(severity, Ref("", "ClusterQueue", "", "a"), message, "", "a-rule")
