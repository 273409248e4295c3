"""Running the cases of suites: which findings are missing, and which are unexpected."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from cli.input.suites import Expected, SuiteCase
from policies.dialects import READERS
from policies.judge import Before, judge_files, stored_state
from policies.judging.sentence import sentence
from policies.judging.verdict import Judged
from policies.model.change import Circumstances
from policies.model.forest import Forest


@dataclass(frozen=True, slots=True)
class SuiteOutcome:
    case: SuiteCase
    missing: tuple[Expected, ...]
    unexpected: tuple[Judged, ...]

    @property
    def holds(self) -> bool:
        return not self.missing and not self.unexpected


def run(case: SuiteCase) -> SuiteOutcome:
    """The outcome of the change; the existing objects of the case are taken as everything that exists.

    What follows from another finding may be expected, and need not be.
    """
    world = Forest.of((it.object for it in case.existing), READERS)
    manifests = {it.object.ref: it.manifest for it in case.existing if it.manifest is not None}
    state = stored_state(Before(world, manifests), case.configuration)
    deleted = [state.world.get(it.object.ref) or it.object for it in case.delete]
    circumstances = Circumstances(now=case.now or datetime.now(UTC))
    tops = judge_files(state, case.apply, deleted, case.configuration, circumstances).verdict.complete().findings
    found = (*tops, *(below for top in tops for below in top.consequences))
    partner = _matched(case.expected, found)
    return SuiteOutcome(
        case,
        tuple(expected for i, expected in enumerate(case.expected) if i not in partner.values()),
        tuple(judged for i, judged in enumerate(tops) if i not in partner),
    )


def _matched(expected: tuple[Expected, ...], found: tuple[Judged, ...]) -> dict[int, int]:
    """Index of a finding -> index of the expectation that it meets, with as many pairs as possible.

    An expectation that several findings meet leaves the one that a stricter expectation needs.
    """
    partner: dict[int, int] = {}
    held: dict[int, int] = {}
    for wanted in range(len(expected)):
        reached: dict[int, int] = {}
        waiting = [wanted]
        for here in waiting:
            new = [i for i, judged in enumerate(found) if i not in reached and fits(expected[here], judged)]
            reached.update((i, here) for i in new)
            free = next((i for i in new if i not in partner), None)
            if free is not None:
                _hand_on(free, reached, partner, held)
                break
            waiting += [partner[i] for i in new]
    return partner


def _hand_on(free: int, reached: dict[int, int], partner: dict[int, int], held: dict[int, int]) -> None:
    """Give the free finding to the expectation that reached it, the finding of that to the one before, and so on."""
    give: int | None = free
    while give is not None:
        taker = reached[give]
        before = held.get(taker)
        partner[give], held[taker] = taker, give
        give = before


def fits(expected: Expected, judged: Judged) -> bool:
    finding = judged.finding
    return (
        (expected.rule, expected.severity) == (judged.rule.id, judged.severity)
        and expected.object in ("", str(finding.object))
        and expected.field in ("", finding.field)
        and expected.says in sentence(judged)
    )
