"""Whatever is refused, and whatever is warned of, comes with a way out."""

from __future__ import annotations

from policies.model.findings import Severity
from tests.policies.rules.test_cases import Case, every_case, judged, proposed


@every_case
def test_every_complaint_says_what_to_do(rule: str, case: Case) -> None:
    for complaint in judged(rule, proposed(case)):
        if complaint.severity in (Severity.ERROR, Severity.WARNING):
            assert complaint.finding.fix.strip(), complaint.finding.message
