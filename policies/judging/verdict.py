"""What the rules say of a proposal: every finding, and whether the change may pass."""

from __future__ import annotations

from dataclasses import dataclass, field

from policies.judging.rule import Rule
from policies.model.exemptions import Exemption
from policies.model.findings import Finding, Severity


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding with the rule that made it and what it means for the change.

    `preexisting`: the same violation, no smaller, was there before, so it does not refuse the change. `exemption` is
    what excuses it. `consequences` are findings that follow from it and are not listed by themselves.
    """

    rule: Rule
    severity: Severity
    finding: Finding
    preexisting: bool = False
    exemption: Exemption | None = None
    consequences: tuple[Judged, ...] = ()

    @property
    def lasting(self) -> tuple[object, ...]:
        """What it is known by in another version of the files."""
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
    """A rule that did not judge, and why. `error`: the rule failed with this internal error; None: it lacked facts."""

    rule: Rule
    reason: str
    error: Exception | None = field(default=None, compare=False)

    @classmethod
    def failed(cls, rule: Rule, error: Exception) -> Unjudged:
        what = " ".join(str(error).split())
        return cls(rule, f"internal error: {type(error).__name__}{': ' if what else ''}{what}", error)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`findings` are worst first and in a stable order; `not_evaluated` are rules that did not judge."""

    findings: tuple[Judged, ...] = ()
    not_evaluated: tuple[Unjudged, ...] = ()

    def of(self, severity: Severity) -> tuple[Judged, ...]:
        return tuple(judged for judged in self.findings if judged.severity is severity)

    @property
    def allowed(self) -> bool:
        return not self.of(Severity.ERROR)

    @property
    def failed(self) -> tuple[Unjudged, ...]:
        """The rules that failed with an internal error."""
        return tuple(each for each in self.not_evaluated if each.error is not None)

    def complete(self) -> Verdict:
        """The same verdict, for what must not rest on a part of the rules. Raises the error of a rule that failed."""
        for each in self.failed:
            assert each.error is not None
            raise each.error
        return self
