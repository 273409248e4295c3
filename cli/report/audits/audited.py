"""What `quotree audit` reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from cli.input.against import Against
from cli.input.baseline import Baseline
from cli.input.documents import Unreadable
from policies.audit.audited import Audit


@dataclass(frozen=True, slots=True)
class Audited:
    """`as_of` is when the objects were so; None for files. `unreadable` is what could not be judged."""

    against: Against
    audit: Audit
    as_of: datetime | None = None
    unreadable: tuple[Unreadable, ...] = ()
    has_baseline: bool = False


def within(audited: Audited, root: str) -> Audited:
    """Of the trees whose root has this name alone."""
    return replace(audited, audit=audited.audit.only(lambda each: each.below(root)))


def without_old(audited: Audited, baseline: Baseline) -> Audited:
    """Without what the baseline has, counted. `quotree validate` tells of entries that find nothing any more."""
    return replace(audited, audit=audited.audit.without(baseline.known), has_baseline=True)
