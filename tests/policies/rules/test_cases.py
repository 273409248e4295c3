"""Properties of each case of each rule; `rule_cases.py` defines a case. A failure names its case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonpatch

from generators.rule_cases import CASES, cases, proposed
from policies.judging.rule import propose
from policies.judging.sentence import assertion
from policies.judging.verdict import Judged
from policies.model.change import Change
from policies.model.findings import Severity
from policies.rules import registry
from tests.builders import change, typed
from tests.policies.rules.rule_cases import by_all, judged, outcomes

PAGES = Path(__file__).parents[3] / "docs" / "rules"
REFUSING = {"error", "warning"}


def known(finding: Judged) -> tuple[str, str, str]:
    return str(finding.finding.object), finding.finding.field, finding.severity.value


def test_each_case_has_exactly_the_expected_findings() -> None:
    for name, case, _, _, found in outcomes():
        said = [known(finding) for finding in found]
        assert [(f["object"], f["field"], f["severity"]) for f in case["findings"]] == said, name
        for expected, finding in zip(case["findings"], found, strict=True):
            assert expected["says"] in assertion(finding), name


def test_rule_cases_have_the_verdict_of_all_rules() -> None:
    for name, _, proposal, verdict, _ in outcomes():
        assert verdict == by_all(proposal), name


def test_the_order_of_documents_means_nothing() -> None:
    for name, case, _, _, forwards in outcomes():
        if all(len(case.get(part, ())) < 2 for part in ("given", "apply", "delete")):
            continue  # it reads the same backwards
        backwards = judged(name.rule, proposed(case, backwards=True))

        assert [(known(f), assertion(f)) for f in forwards] == [(known(f), assertion(f)) for f in backwards], name


def test_reapplying_a_stored_object_is_not_refused() -> None:
    """The profile `compat` follows upstream, which refuses some of these edits."""
    for name, case, proposal, _, _ in outcomes():
        if case.get("profile", "strict") == "compat":
            continue
        stored = [typed(manifest) for manifest in case.get("apply", [])]
        again = propose(proposal.after, [Change(each, each) for each in stored], proposal.configuration)

        assert [f.finding.message for f in judged(name.rule, again) if f.severity is Severity.ERROR] == [], name


def test_patches_fix_their_findings() -> None:
    for name, case, proposal, _, found in outcomes():
        cured = [finding.finding.identity for finding in found if finding.finding.patch]
        if not cured:
            continue
        patches: dict[object, list[Any]] = {}
        for finding in found:
            patches.setdefault(finding.finding.object, []).extend(finding.finding.patch)

        manifests = [
            jsonpatch.apply_patch(manifest, patches.get(typed(manifest).ref, [])) for manifest in case.get("apply", [])
        ]
        left = judged(name.rule, change(proposal.before, *manifests, configuration=proposal.configuration))

        assert [f.finding.identity for f in left if f.finding.identity in cured] == [], name


def test_every_error_and_warning_has_a_fix() -> None:
    for name, _, _, _, found in outcomes():
        for complaint in found:
            if complaint.severity in (Severity.ERROR, Severity.WARNING):
                assert complaint.finding.fix.strip(), (name, complaint.finding.message)


def test_every_rule_has_cases_that_pass_and_cases_that_do_not() -> None:
    assert {file.stem for file in CASES.glob("*.yaml")} == set(registry())
    for rule in registry():
        findings = [case["findings"] for case in cases(rule)]
        assert [] in findings, f"{rule} has no case that passes"
        assert any(f["severity"] in REFUSING for some in findings for f in some), f"{rule} has no case that is refused"


def test_every_case_has_its_own_name() -> None:
    for file in CASES.glob("*.yaml"):
        names = [case["name"] for case in cases(file.stem)]
        assert sorted(set(names)) == sorted(names)


def test_every_rule_has_its_page() -> None:
    assert [rule for rule in registry() if not (PAGES / f"{rule}.md").is_file()] == []
