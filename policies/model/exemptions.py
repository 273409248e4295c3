"""Exemptions: annotations that exempt an object from a rule until a day, with a reason.

ignore.quotree.dev/<rule-id>: "reason; until=YYYY-MM-DD; ref=..."
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from policies.model import fields
from policies.model.suggestion import suggest

PREFIX = "ignore.quotree.dev/"
EXAMPLE = '"migration of the old tree; until=2026-12-31; ref=QUOTA-17"'

_KEYS = ("until", "ref")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch
_KEYED = re.compile(r"([A-Za-z]+)[ \t]*=(.*)", re.DOTALL).fullmatch
_LONGEST_REASON = 500  # characters; each message of an exempt finding has the reason


@dataclass(frozen=True, slots=True)
class Exemption:
    """An exemption from one rule.

    `until`: the last day, in UTC.
    `ref`: a reference, such as a ticket.
    `flaw`: why the exemption is not valid; empty if it is.
    """

    rule: str
    reason: str = ""
    until: date | None = None
    ref: str = ""
    flaw: str = ""

    @property
    def field(self) -> str:
        return fields.join("metadata.annotations", PREFIX + self.rule)

    def expired(self, now: datetime) -> bool:
        return self.until is not None and now.astimezone(UTC).date() > self.until

    def excuses(self, rule: str, now: datetime) -> bool:
        return self.rule == rule and not self.flaw and not self.expired(now)


def read(annotations: Mapping[str, object]) -> tuple[Exemption, ...]:
    """The exemptions among these annotations, sorted by rule."""
    found = [
        parse(key.removeprefix(PREFIX), text)
        for key, text in annotations.items()
        if isinstance(key, str) and key.startswith(PREFIX) and isinstance(text, str)
    ]
    return tuple(sorted(found, key=lambda exemption: exemption.rule))


def parse(rule: str, text: str) -> Exemption:
    """Read the annotation of an exemption. If it is not valid, the exemption has a flaw."""
    reason, *rest = (part.strip() for part in text.split(";"))
    values: dict[str, str] = {}
    for part in filter(None, rest):
        keyed = _KEYED(part)
        if keyed is None:
            return Exemption(rule, flaw=f"{_shown(part)} is neither until=... nor ref=...; a reason has no semicolon")
        key, value = keyed[1], keyed[2].strip()
        if key not in _KEYS:
            hint = suggest(f"{key}=", [f"{known}=" for known in _KEYS])
            return Exemption(rule, flaw=f"{_shown(part)} is unknown; {hint}")
        if key in values:
            return Exemption(rule, flaw=f"{key}= is given twice")
        values[key] = value
    until = _day(values.get("until", ""))
    return Exemption(rule, reason, until, values.get("ref", ""), _flaw(reason, values, until))


def _flaw(reason: str, values: Mapping[str, str], until: date | None) -> str:
    if not reason or (_KEYED(reason) and reason.startswith(_KEYS)):
        return "it gives no reason"
    if len(reason) > _LONGEST_REASON:
        return f"its reason has {len(reason)} characters; {_LONGEST_REASON} are enough, and ref= may point to more"
    if "until" not in values:
        return "it has no end date; add until="
    return "" if until else f"{_shown(values['until'])} is not a date; use the form until=2026-12-31"


def _day(text: str) -> date | None:
    if not _DATE(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
