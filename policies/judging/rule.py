"""What a rule is, and how a check becomes one."""

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

    id: kebab-case, such as `parent-cycle`; it names what is wrong.
    source: the document or the code of a project that the rule follows.
    kinds: the kinds whose change can bring a finding; the check does not run for others.
    default: the action of the rule if the configuration sets none.
    check: yields the findings of a proposal.
    alone: the changed object alone decides, whatever else exists.
    cel: a rule with `alone` in Kubernetes' expression language, for the time when the webhook is down.
    no_cel: why a rule with `alone` has no `cel`.
    status: the HTTP status of a refusal: 422 for an object that cannot be read, 403 for policy.
    only: a change without this occasion never brings a finding.
    of_change: the rule judges a change; a stored object may be in that state.
    denies_some: a finding can be an error though `default` is not.
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
        """The Kubernetes reason: the same words in PascalCase."""
        return "".join(word.capitalize() for word in self.id.split("-"))

    @property
    def title(self) -> str:
        return self.page.splitlines()[0]

    @property
    def page(self) -> str:
        """The documentation page: what is wrong, why it is refused, an example, the fix."""
        return inspect.getdoc(self.check) or ""


REGISTERED: dict[str, Rule] = {}
"""The rules of the modules that are loaded; `policies.rules.registry` loads all."""


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
    """Register a check under the id that names what is wrong. The docstring of the check is its page.

    Raises ValueError where the id is taken, or where a rule contradicts itself.
    """

    def register(check: Check) -> Check:
        made = Rule(
            id,
            source,
            frozenset(kinds),
            default,
            check,
            alone,
            tuple(cel),
            no_cel,
            status,
            only,
            of_change,
            denies_some,
        )
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
