"""Defines rules, and registers checks as rules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeAlias

from policies.cel.expression import Expression
from policies.judging.proposal import Proposal
from policies.model.change import Occasion
from policies.model.findings import Action, Finding, NotEvaluated
from policies.model.objects import GroupKind

Check: TypeAlias = Callable[[Proposal], Iterator[Finding | NotEvaluated]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A named check.

    id: the name of the violation in kebab-case, such as `parent-cycle`.
    source: the document or the code of a project that the rule follows.
    kinds: the kinds whose changes can cause a finding. The check does not run for others.
    default: the action of the rule if the configuration sets none.
    check: yields the findings of a proposal.
    alone: whether only the changed object decides, not other objects.
    cel: the rule in Kubernetes' expression language, for the time when the webhook is down; only with `alone`.
    no_cel: why a rule with `alone` has no `cel`.
    status: the HTTP status of a refusal: 422 for an object that cannot be read, 403 for policy.
    only: the check runs only for changes with this occasion; None: for all changes.
    of_change: whether the rule judges only changes. A stored object may be in the same state.
    denies_some: whether a finding can be an error although `default` is not deny.
    """

    id: str
    source: str
    kinds: frozenset[GroupKind]
    default: Action
    check: Check
    alone: bool = False
    cel: tuple[Expression, ...] = ()
    no_cel: str = ""
    status: HTTPStatus = HTTPStatus.FORBIDDEN
    only: Occasion | None = None
    of_change: bool = False
    denies_some: bool = False

    @property
    def reason(self) -> str:
        """The reason in API responses: the id in PascalCase."""
        return "".join(word.capitalize() for word in self.id.split("-"))

    @property
    def title(self) -> str:
        return self.page.splitlines()[0]

    @property
    def page(self) -> str:
        """The documentation page: what is wrong, why it is refused, an example, the fix."""
        return inspect.getdoc(self.check) or ""


REGISTERED: dict[str, Rule] = {}
"""The rules of all modules that were imported. `policies.rules.registry` imports all."""


def rule(
    id: str,
    *,
    source: str,
    kinds: Iterable[GroupKind],
    default: Action = Action.DENY,
    alone: bool = False,
    cel: Iterable[Expression] = (),
    no_cel: str = "",
    status: HTTPStatus = HTTPStatus.FORBIDDEN,
    only: Occasion | None = None,
    of_change: bool = False,
    denies_some: bool = False,
) -> Callable[[Check], Check]:
    """Register a check as a rule; see Rule for the arguments. The docstring of the check is its documentation page.

    Raises ValueError if the id is taken, or if arguments contradict each other.
    """

    def register(check: Check) -> Check:
        more = alone, tuple(cel), no_cel, status, only, of_change, denies_some
        made = Rule(id, source, frozenset(kinds), default, check, *more)
        if fault := _fault(made):
            raise ValueError(f"rule {id}: {fault}")
        REGISTERED[id] = made
        return check

    return register


def _fault(made: Rule) -> str:
    first = REGISTERED.get(made.id)
    if first is not None:
        return f"{first.check.__module__} has this id; give each rule its own"
    if int(made.alone) != bool(made.cel) + bool(made.no_cel):
        return "one that decides alone has either a form in `cel` or a reason in `no_cel`, and no other rule has one"
    if not all(made.kinds.issuperset(expression.kinds) for expression in made.cel):
        return "`cel` names a kind that the rule does not judge"
    return ""
