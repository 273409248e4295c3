"""A change that waits to be allowed or refused, and its judgement on top of entries whose changes may be stored or not.

If the entries A and B are open, four forests are possible: without both, with A, with B, with both. The change is
allowed if all of them allow it, refused if all refuse it, and waits otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from policies.judge import Judgement
from policies.model.change import Change
from policies.model.findings import Severity
from policies.model.forest import Forest
from policies.model.objects import Ref
from webhook.ledger.contents import possible_forests, related_entries
from webhook.ledger.entry import LedgerEntry
from webhook.ledger.store import LedgerUnavailable

FEW_FORESTS, MANY_FORESTS = 8, 256
"""How many possible forests of a change are judged at once, and how many after it has waited. With even more, the
change is refused. More than a few are possible for some milliseconds only, and waiting costs less than judging them."""


class LedgerBusy(LedgerUnavailable):
    """The ledger works, but too many other changes around this one are open. Users can cause that on purpose."""

    result = "busy"


class AlreadyExists(Exception):
    """The name of a new object is taken. The API server would not store the object, so the change is not entered."""

    def __init__(self, ref: Ref) -> None:
        super().__init__(f"{ref} already exists")


class SequencedState(Enum):
    """The state of a change.

    ALLOWED: allowed, and in the ledger unless it is a dry run.
    REFUSED: refused, whether other changes are stored or not.
    UNDECIDED: it depends on whether other changes are stored.
    FAILED: it could not be judged or entered.
    """

    ALLOWED = "allowed"
    REFUSED = "refused"
    UNDECIDED = "undecided"
    FAILED = "failed"


@dataclass(slots=True, eq=False)
class RequestedChange:
    """A change that is to be allowed or refused. Times are in seconds of the sequencer's clock.

    `judge`: returns the judgement of the change on a forest.
    `entry`: the change as the ledger records it; None for a dry run, which is not recorded.
    `deadline`, `since`: when the change must be answered, and when it arrived.
    `max_forests`: the most possible forests that are judged.

    The sequencer sets the rest:
    `judgement`: None if none was possible; then `failure` says why.
    `others`: the entries of other changes that the result depends on.
    `served`: whether a turn of the ledger has dealt with it.
    `entering`: when the write of its entry began.
    """

    change: Change
    judge: Callable[[Forest], Judgement]
    entry: LedgerEntry | None
    deadline: float
    since: float = math.inf
    max_forests: int = FEW_FORESTS
    state: SequencedState = SequencedState.UNDECIDED
    judgement: Judgement | None = None
    others: tuple[LedgerEntry, ...] = ()
    failure: Exception | None = None
    served: bool = False
    entering: float = math.inf

    def wait(self, others: tuple[LedgerEntry, ...], failure: Exception | None) -> None:
        """Make the change wait for these entries. `failure` is the answer if they are still open at the deadline."""
        self.state, self.judgement, self.others, self.failure = SequencedState.UNDECIDED, None, others, failure


def decide(each: RequestedChange, forest: Forest, entries: list[LedgerEntry]) -> None:
    """Judge one change. An internal error fails only this change, not the others of the turn."""
    each.failure = None
    try:
        _decide(each, forest, entries)
    except Exception as error:
        each.state, each.failure = SequencedState.FAILED, error


def _decide(each: RequestedChange, forest: Forest, entries: list[LedgerEntry]) -> None:
    """Judge one change in every forest that the entries can lead to. It is allowed only if all of them allow it.

    The answer has the warnings of the forest with the fewest: an object that was applied just before is most likely
    stored.
    """
    related = related_entries(each.change, forest, entries)
    each.others = tuple(related)
    possible = possible_forests(forest, related, each.max_forests)
    if possible is None:
        each.state = SequencedState.UNDECIDED
        each.failure = LedgerBusy(
            f"{len(related)} changes around {each.change.ref} are not stored yet, the first is the {related[0]};"
            " try again in a minute"
        )
        return
    refused: Judgement | None = None
    allowed: Judgement | None = None
    for outcome in possible:
        judgement = each.judge(outcome)
        if judgement.verdict.allowed:
            allowed = min(filter(None, (allowed, judgement)), key=lambda each: len(each.verdict.of(Severity.WARNING)))
        else:
            refused = refused or judgement
        if allowed and refused:
            break
    each.judgement = refused or allowed
    if refused:
        each.state = SequencedState.UNDECIDED if allowed else SequencedState.REFUSED
    else:
        each.state = SequencedState.ALLOWED
