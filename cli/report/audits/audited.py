"""What `quotree audit` reports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from cli.input.against import Against
from cli.input.documents import Unreadable
from policies.audit.audited import Audit


@dataclass(frozen=True, slots=True)
class Audited:
    """`as_of` is when the objects were so; None for files. `unreadable` is what could not be judged."""

    against: Against
    audit: Audit
    as_of: datetime | None = None
    unreadable: tuple[Unreadable, ...] = ()
