"""The verdict on a proposal: all findings, and whether the change is allowed."""

from __future__ import annotations

from dataclasses import dataclass, field

from policies.judging.rule import Rule
from policies.model.exemptions import Exemption
from policies.model.findings import Finding, Severity


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding with its rule and its effect on the change.

    `preexisting`: whether it is a warning and not an error because the violation existed before with at least the same
    size.
    `exemption`: the exemption that turns it into a warning, or None.
    `consequences`: the findings that follow from it and are not listed separately.
    """

    rule: Rule
    severity: Severity
    finding: Finding
    preexisting: bool = False
    exemption: Exemption | None = None
    consequences: tuple[Judged, ...] = ()

    @property
    def lasting(self) -> tuple[object, ...]:
        """The identity without list indices, which stays the same if a list entry is inserted before it."""
        return self.rule.id, *self.finding.lasting

    @property
    def rank(self) -> tuple[object, ...]:
        return (
            self.severity.rank,
            self.finding.object,
            self.rule.id,
            self.finding.field,
            self.finding.subject,
        )


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A rule that could not judge some objects or all of them, for one reason.

    `reason`: why not.
    `error`: the internal error of the rule; None if it lacked objects.
    """

    rule: Rule
    reason: str
    error: Exception | None = field(default=None, compare=False)

    @classmethod
    def failed(cls, rule: Rule, error: Exception) -> Unjudged:
        what = " ".join(str(error).split())
        return cls(rule, f"internal error: {type(error).__name__}{': ' if what else ''}{what}", error)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict.

    `findings`: the worst first, in a stable order.
    `not_evaluated`: the rules that did not judge.
    """

    findings: tuple[Judged, ...] = ()
    not_evaluated: tuple[Unjudged, ...] = ()

    def of(self, severity: Severity) -> tuple[Judged, ...]:
        return tuple(judged for judged in self.findings if judged.severity is severity)

    @property
    def allowed(self) -> bool:
        return not self.of(Severity.ERROR)

    @property
    def failed(self) -> tuple[Unjudged, ...]:
        return tuple(each for each in self.not_evaluated if each.error is not None)

    def complete(self) -> Verdict:
        """This verdict. Raises the error of a rule that failed internally, but not for a rule that lacked objects."""
        for each in self.failed:
            assert each.error is not None
            raise each.error
        return self
