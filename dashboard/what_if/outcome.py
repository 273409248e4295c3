"""What comes of a change, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dashboard.reading.backend import Manifest
from policies.model.findings import Severity
from policies.model.objects import Ref
from scheduling.simulation.submissions import LeftOut


class FindingRow(NamedTuple):
    """A finding, with the names that the findings of /v1 have."""

    severity: Severity
    object: Ref
    message: str
    fix: str
    rule: str


class MissedRule(NamedTuple):
    """A rule that could not be evaluated."""

    rule: str
    reason: str


class NodeRow(NamedTuple):
    """A flavor and resource of a node, with the numbers that differ: what it is called, before, after."""

    node: str
    effect: str
    pair: str
    numbers: tuple[tuple[str, str, str], ...]


class OverRow(NamedTuple):
    node: str
    pair: str
    used: str
    limit: str


class LossRow(NamedTuple):
    """`what` is preempted or evicted; `whom` is who it makes room for."""

    job: str
    queue: str
    what: str
    why: str
    whom: str


class GainRow(NamedTuple):
    job: str
    queue: str


class RiskRow(NamedTuple):
    node: str
    pair: str
    borrowed: str
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WhatIfOutcome:
    """`work` has an explanation of /v1 for each new workload. `only_reach` counts nodes whose reach alone changes.

    `more` has how many entries of a list are not shown, by its name. `unreadable` is what would not be stored,
    `left_out` what the caller may not list. `as_of` is when the cluster was read.
    """

    as_of: str
    findings: Sequence[FindingRow] = ()
    nodes: Sequence[NodeRow] = ()
    over: Sequence[OverRow] = ()
    losses: Sequence[LossRow] = ()
    gains: Sequence[GainRow] = ()
    risks: Sequence[RiskRow] = ()
    work: Sequence[Manifest] = ()
    in_no_queue: Sequence[LeftOut] = ()
    not_judged: Sequence[str] = ()
    not_evaluated: Sequence[MissedRule] = ()
    unreadable: Sequence[str] = ()
    left_out: Sequence[str] = ()
    assumptions: Sequence[str] = ()
    settled: bool = True
    only_reach: int = 0
    more: Mapping[str, int] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        return any(each.severity is Severity.ERROR for each in self.findings)
