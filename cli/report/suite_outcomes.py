"""Runs the cases of test suites, and finds missing and unexpected findings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from cli.input.suites import Expected, SuiteCase
from policies.dialects import READERS
from policies.judge import StateBefore, judge_files, stored_state
from policies.judging.sentence import sentence
from policies.judging.verdict import Judged
from policies.model.change import Circumstances
from policies.model.forest import Forest


@dataclass(frozen=True, slots=True)
class SuiteOutcome:
    """The result of a case. `missing`: expectations without a finding. `unexpected`: findings that nothing expects."""

    case: SuiteCase
    missing: tuple[Expected, ...]
    unexpected: tuple[Judged, ...]

    @property
    def holds(self) -> bool:
        return not self.missing and not self.unexpected


def run(case: SuiteCase) -> SuiteOutcome:
    """Run the case. Before the change, only the `existing` objects of the case exist.

    A case may expect the consequences of a finding, but need not.
    """
    world = Forest.of((it.object for it in case.existing), READERS)
    manifests = {it.object.ref: it.manifest for it in case.existing if it.manifest is not None}
    state = stored_state(StateBefore(world, manifests), case.configuration)
    deleted = [state.world.get(it.object.ref) or it.object for it in case.delete]
    circumstances = Circumstances(now=case.now or datetime.now(UTC))
    tops = judge_files(state, case.apply, deleted, case.configuration, circumstances).verdict.complete().findings
    found = (*tops, *(below for top in tops for below in top.consequences))
    matched = _matched(case.expected, found)
    return SuiteOutcome(
        case,
        tuple(expected for i, expected in enumerate(case.expected) if i not in matched.values()),
        tuple(judged for i, judged in enumerate(tops) if i not in matched),
    )


def _matched(expected: tuple[Expected, ...], found: tuple[Judged, ...]) -> dict[int, int]:
    """Pairs of findings and expectations, as indices: a finding to the expectation that it meets.

    This is a maximum matching by augmenting paths: if a finding meets several expectations, the choice leaves findings
    for as many other expectations as possible.
    """
    expectation_of: dict[int, int] = {}
    finding_of: dict[int, int] = {}
    for unmatched in range(len(expected)):
        reached_from: dict[int, int] = {}
        frontier = [unmatched]
        for expectation in frontier:
            new = [i for i, it in enumerate(found) if i not in reached_from and fits(expected[expectation], it)]
            reached_from.update((i, expectation) for i in new)
            free = next((i for i in new if i not in expectation_of), None)
            if free is not None:
                _augment(free, reached_from, expectation_of, finding_of)
                break
            frontier += [expectation_of[i] for i in new]
    return expectation_of


def _augment(
    free: int, reached_from: dict[int, int], expectation_of: dict[int, int], finding_of: dict[int, int]
) -> None:
    """Flip the augmenting path: each expectation on it gets the finding that led to it, and releases its old one."""
    finding: int | None = free
    while finding is not None:
        expectation = reached_from[finding]
        released = finding_of.get(expectation)
        expectation_of[finding], finding_of[expectation] = expectation, finding
        finding = released


def fits(expected: Expected, judged: Judged) -> bool:
    finding = judged.finding
    return (
        (expected.rule, expected.severity) == (judged.rule.id, judged.severity)
        and expected.object in ("", str(finding.object))
        and expected.field in ("", finding.field)
        and expected.says in sentence(judged)
    )
