"""What a rule is and what it reports."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from policies.model.errors import UnknownRule
from policies.model.objects import GroupKind, Ref

if TYPE_CHECKING:
    from policies.model.proposal import Proposal


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


SEVERITY = {Action.DENY: Severity.ERROR, Action.WARN: Severity.WARNING, Action.AUDIT: Severity.INFO}

BOTH = frozenset(Profile)
STRICT_ONLY = frozenset({Profile.STRICT})
COMPAT_ONLY = frozenset({Profile.COMPAT})


@dataclass(frozen=True, slots=True)
class Cause:
    """Another object that has a part in a finding: a sibling that counts, a parent that holds too little."""

    object: Ref
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    `field` is the path as the user wrote it. `subject` tells findings of one field apart (a resource, a member of a
    list); (rule, object, field, subject) is the finding's identity. `excess` says by how much, in any unit that stays
    the same for this identity: a finding that was there before with no less excess does not refuse the change.
    `profiles` are those under which it counts. `action` is this finding's own default where it differs from the rule's.
    `patch` is the fix as JSON Patch operations on `object` as it was given, where it can be said.
    """

    object: Ref
    field: str
    message: str
    fix: str = ""
    subject: str = ""
    excess: int = 0
    causes: tuple[Cause, ...] = ()
    patch: tuple[Mapping[str, Any], ...] = ()
    profiles: frozenset[Profile] = BOTH
    action: Action | None = None

    @property
    def identity(self) -> tuple[Ref, str, str]:
        return (self.object, self.field, self.subject)


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """A rule's word that it lacks the facts to judge; never to be read as a pass."""

    reason: str


Check = Callable[["Proposal"], Iterator["Finding | NotEvaluated"]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A named check. `kinds` are those whose change can bring a finding; for others the check is not even asked.

    `alone`: the changed object decides by itself, whatever else there is.
    """

    id: str
    source: str
    kinds: frozenset[GroupKind]
    default: Action
    check: Check
    alone: bool = False

    @property
    def reason(self) -> str:
        """The Kubernetes reason: the same words in PascalCase."""
        return "".join(word.capitalize() for word in self.id.split("-"))

    @property
    def title(self) -> str:
        return self.page.splitlines()[0]

    @property
    def page(self) -> str:
        """The documentation page: what is wrong, why it is refused, an example, the fix."""
        return inspect.getdoc(self.check) or ""


REGISTRY: dict[str, Rule] = {}


def rule(
    id: str, *, source: str, kinds: Iterable[GroupKind], default: Action = Action.DENY, alone: bool = False
) -> Callable[[Check], Check]:
    """Register a check under the id that names what is wrong. The docstring of the check is its page."""

    def register(check: Check) -> Check:
        REGISTRY[id] = Rule(id, source, frozenset(kinds), default, check, alone)
        return check

    return register


def registry() -> Mapping[str, Rule]:
    """Every rule by its id."""
    import policies.rules  # noqa: F401  here, since each rule imports this module

    return REGISTRY


def find(id: str) -> Rule:
    """The rule of this id. Raises UnknownRule, with the nearest id where one is near."""
    rules = registry()
    if id in rules:
        return rules[id]
    near = get_close_matches(id, rules, n=1)
    raise UnknownRule(f"there is no rule {id!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
