"""Findings, which rules report, their actions and severities, and the patches that fix them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from policies.model import fields
from policies.model.objects import Defect, Ref
from policies.model.suggestion import is_slip

_INDEX = re.compile(r"\[\d+\]")


class Profile(StrEnum):
    """`strict` closes the gaps of the three projects; `compat` answers as their own webhooks do."""

    STRICT = "strict"
    COMPAT = "compat"


class Action(StrEnum):
    """What happens to the findings of a rule."""

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
        """The position in the order of severities; 0 for the worst."""
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}
SEVERITY = {Action.DENY: Severity.ERROR, Action.WARN: Severity.WARNING, Action.AUDIT: Severity.INFO}

FAILING: Mapping[str, frozenset[Severity]] = {
    "error": frozenset({Severity.ERROR}),
    "warning": frozenset({Severity.ERROR, Severity.WARNING}),
    "never": frozenset(),
}
"""The severities that fail a run, by the value of `--fail-on`."""

BOTH = frozenset(Profile)
STRICT_ONLY = frozenset({Profile.STRICT})
COMPAT_ONLY = frozenset({Profile.COMPAT})


@dataclass(frozen=True, slots=True)
class Cause:
    """Another object that contributes to a finding, such as a sibling, or a parent with too little quota."""

    object: Ref
    field: str
    message: str


ObjectField: TypeAlias = tuple[Ref, str]
"""An object and the path of one of its fields. An empty path stands for all references to the object."""


def enclosing_fields(object: Ref, field: str) -> tuple[ObjectField, ...]:
    """The fields around a field. If one of these is misspelt, the field is not read."""
    return tuple((object, each) for each in fields.enclosing(field))


def kind_field(missing: Ref) -> ObjectField:
    """The kind of a missing object. If it is misspelt, the object exists, but as another one."""
    return missing, "kind"


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule. Its identity is (rule, object, field, subject).

    `field`: the path of the field in the version of the manifest.
    `subject`: distinguishes findings about one field, such as the name of a resource.
    `excess`: the size of the violation, in any unit that is constant for its identity. A finding that existed before
    the change, with no smaller excess, does not refuse the change.
    `causes`: other objects that contribute to it.
    `patch`: the fix as JSON Patch operations on the object as it was written; empty if no fix is certain.
    `text_patch`: the same for a field inside a YAML text of the object. Each path leads to the text and continues in
    it.
    `profiles`: the profiles in which it counts.
    `action`: its default action; None for that of the rule.
    `follows`: the fields that may cause it. It is a consequence of any other finding at one of them.
    `concerns`: further fields at which it counts as a cause of other findings.
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
    follows: tuple[ObjectField, ...] = ()
    concerns: tuple[ObjectField, ...] = ()

    @property
    def identity(self) -> tuple[Ref, str, str]:
        return (self.object, self.field, self.subject)

    @property
    def edits(self) -> tuple[Mapping[str, Any], ...]:
        """The fix for a user who edits the text of the object."""
        return self.patch + self.text_patch

    @property
    def lasting(self) -> tuple[Ref, str, str]:
        """The identity without list indices. So an old fault stays the same if an entry is inserted before it."""
        return (self.object, _INDEX.sub("[]", self.field), self.subject)


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """The result of a rule that lacks the objects that it needs. It must not be reported as passed."""

    reason: str


Patch: TypeAlias = tuple[Mapping[str, Any], ...]
_WRITE = (", write ", ": write ")


def apart(text: str, otherwise: str) -> tuple[str, str]:
    """Split a text into fault and fix. The fix follows the last semicolon, or begins with `write`.

    `otherwise`: the fix for a text that has none.
    """
    message, separator, cure = text.rpartition("; ")
    if separator:
        return message, cure
    for word in _WRITE:
        message, separator, cure = text.rpartition(word)
        if separator:
            return message, f"write {cure}"
    return text, otherwise


def patch(defect: Defect) -> Patch:
    """The fix as JSON Patch operations; empty if it is not certain, or if the path of the field is ambiguous."""
    if defect.remove:
        return remove(defect.field)
    return rename(defect.field, defect.rename) or write(defect.field, defect.write)


def rename(field: str, name: str) -> Patch:
    """A patch that renames the field or key at this path; empty without a name."""
    steps = fields.steps(field) if name else None
    if not steps:
        return ()
    return ({"op": "move", "from": fields.pointer(*steps), "path": fields.pointer(*steps[:-1], name)},)


def write(field: str, value: str | int | None) -> Patch:
    """A patch that replaces the value at this path; empty for None."""
    steps = fields.steps(field) if value is not None else None
    return ({"op": "replace", "path": fields.pointer(*steps), "value": value},) if steps else ()


def remove(field: str) -> Patch:
    """A patch that removes the field or key at this path."""
    steps = fields.steps(field)
    return ({"op": "remove", "path": fields.pointer(*steps)},) if steps else ()


def write_only(field: str, wrong: str, near: Sequence[str]) -> Patch:
    """A patch that writes the only similar name; empty if there are several, or if the digits differ."""
    return write(field, near[0]) if len(near) == 1 and is_slip(wrong, near[0]) else ()
