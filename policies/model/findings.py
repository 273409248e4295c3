"""What a rule reports, and what is done about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from policies.model import fields
from policies.model.objects import Ref

_INDEX = re.compile(r"\[\d+\]")


class Profile(StrEnum):
    """`strict` closes the gaps that the three projects leave; `compat` answers as their own webhooks do today."""

    STRICT = "strict"
    COMPAT = "compat"


class Action(StrEnum):
    """What is done about a finding of a rule."""

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"
    OFF = "off"


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}
SEVERITY = {Action.DENY: Severity.ERROR, Action.WARN: Severity.WARNING, Action.AUDIT: Severity.INFO}

FAILING: Mapping[str, frozenset[Severity]] = {
    "error": frozenset({Severity.ERROR}),
    "warning": frozenset({Severity.ERROR, Severity.WARNING}),
    "never": frozenset(),
}
"""The severities that fail a run, by what `--fail-on` says."""

BOTH = frozenset(Profile)
STRICT_ONLY = frozenset({Profile.STRICT})
COMPAT_ONLY = frozenset({Profile.COMPAT})


@dataclass(frozen=True, slots=True)
class Cause:
    """Another object that has a part in a finding: a sibling that counts, a parent that holds too little."""

    object: Ref
    field: str
    message: str


PlaceOf: TypeAlias = tuple[Ref, str]
"""An object and a field of it; without a field, what refers to the object."""


def reading(object: Ref, field: str) -> tuple[PlaceOf, ...]:
    """The places that must be right for the field to be read: a misspelt `spec` hides all that is in it."""
    return tuple((object, each) for each in fields.enclosing(field))


def kind_of(missing: Ref) -> PlaceOf:
    """The place that must be right for an object to be there at all: a misspelt kind makes it another one."""
    return missing, "kind"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault.

    `field` is the path as the user wrote it. `subject` tells findings of one field apart (a resource, a member of a
    list); (rule, object, field, subject) is the finding's identity. `excess` says by how much, in any unit that stays
    the same for this identity: a finding that was there before with no less excess does not refuse the change.
    `profiles` are those under which it counts. `action` is this finding's own default where it differs from the rule's.
    `follows`: the places that cause it: where another finding stands at one of them, or `concerns` it, this one is
    its consequence. `patch` is the fix as JSON Patch operations on `object` as it was written, where it can be said.
    `text_patch` is the same for a field inside a YAML text of the object: each path leads to the text and on into it.
    """

    object: Ref
    field: str
    message: str
    fix: str = ""
    subject: str = ""
    excess: int = 0
    causes: tuple[Cause, ...] = ()
    patch: tuple[Mapping[str, Any], ...] = ()
    text_patch: tuple[Mapping[str, Any], ...] = ()
    profiles: frozenset[Profile] = BOTH
    action: Action | None = None
    follows: tuple[PlaceOf, ...] = ()
    concerns: tuple[PlaceOf, ...] = ()

    @property
    def identity(self) -> tuple[Ref, str, str]:
        return (self.object, self.field, self.subject)

    @property
    def edits(self) -> tuple[Mapping[str, Any], ...]:
        """The fix for a user who edits the text of the object."""
        return self.patch + self.text_patch

    @property
    def lasting(self) -> tuple[Ref, str, str]:
        """The identity without list indices: an entry put in front of an old fault does not make that a new one."""
        return (self.object, _INDEX.sub("[]", self.field), self.subject)


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """A rule's word that it lacks the facts to judge; never to be read as a pass."""

    reason: str
