"""What the rules say of a proposal: every finding, and whether the change may pass."""

from __future__ import annotations

from dataclasses import dataclass

from policies.judging.rule import Rule
from policies.model.exemptions import Exemption
from policies.model.findings import Finding, Severity


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding with the rule that made it and what it means for the change.

    `standing`: it was there before, no less than now, so it does not refuse the change. `exemption` is what excuses it.
    `consequences` are findings that follow from it and are not listed by themselves.
    """

    rule: Rule
    severity: Severity
    finding: Finding
    standing: bool = False
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
    rule: Rule
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """`findings` are worst first and in a stable order; `not_evaluated` are rules that lacked their facts."""

    findings: tuple[Judged, ...] = ()
    not_evaluated: tuple[Unjudged, ...] = ()

    def of(self, severity: Severity) -> tuple[Judged, ...]:
        return tuple(judged for judged in self.findings if judged.severity is severity)

    @property
    def allowed(self) -> bool:
        return not self.of(Severity.ERROR)
