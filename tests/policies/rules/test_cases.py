"""The cases of every rule, as data: `cases/<rule-id>.yaml` lists what the rule says of a change, and what it lets pass.

    - name: what holds, as a sentence
      given: [manifests that are stored before]      # optional
      apply: [manifests]                             # and, or instead,
      delete: [{apiVersion, kind, metadata}]
      profile: compat                                # strict where nothing is said
      user: {name: anna, groups: [dev]}              # who asks; not known where nothing is said
      now: 2026-12-31                                # the day in UTC; long ago where nothing is said
      configuration: {yunikorn: {version: "2.0"}}    # a Configuration without apiVersion, kind and profile
      findings: [{object: Queue eng, field: spec.parent, severity: error, says: a piece of the message or the fix}]

Only findings of the file's own rule count; an empty list means that it has none.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time
from functools import cache
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml

from policies.configuration.file import API_VERSION, KIND, read_configuration
from policies.judge import evaluate
from policies.judging.proposal import Proposal, propose
from policies.judging.sentence import statement
from policies.judging.verdict import Judged
from policies.model.change import Change, Circumstances, User
from policies.model.findings import Profile, Severity
from policies.rules import registry
from tests.builders import change, typed, world

CASES = Path(__file__).parent / "cases"
PAGES = Path(__file__).parents[3] / "docs" / "rules"
REFUSING = {"error", "warning"}

Case = dict[str, Any]


@cache
def cases(rule: str) -> list[Case]:
    """The cases of a rule, to be read only: all tests share them."""
    text = (CASES / f"{rule}.yaml").read_text(encoding="utf-8")
    found: list[Case] = yaml.load(text, yaml.CSafeLoader)  # ten times as fast as safe_load
    return found


def everything(*profiles: Profile) -> list[Any]:
    return [
        pytest.param(file.stem, case, id=f"{file.stem}: {case['name']}")
        for file in sorted(CASES.glob("*.yaml"))
        for case in cases(file.stem)
        if case.get("profile", "strict") in profiles
    ]


every_case = pytest.mark.parametrize(("rule", "case"), everything(*Profile))
every_strict_case = pytest.mark.parametrize(("rule", "case"), everything(Profile.STRICT))


def proposed(case: Case, *, backwards: bool = False) -> Proposal:
    step = -1 if backwards else 1
    settings = {"apiVersion": API_VERSION, "kind": KIND, "profile": case.get("profile", "strict")}
    proposal = change(
        world(*case.get("given", [])[::step]),
        *case.get("apply", [])[::step],
        delete=[typed(manifest).ref for manifest in case.get("delete", [])[::step]],
        configuration=read_configuration({**settings, **case.get("configuration", {})}, registry()),
    )
    return replace(proposal, circumstances=_circumstances(case))


def _circumstances(case: Case) -> Circumstances:
    day, user = case.get("now"), case.get("user", {})
    who = User(user.get("name", ""), tuple(user.get("groups", ())))
    return Circumstances(now=datetime.combine(day, time(), UTC), user=who) if day else Circumstances(user=who)


def judged(rule: str, proposal: Proposal) -> list[Judged]:
    return [finding for finding in evaluate(proposal).findings if finding.rule.id == rule]


def known(finding: Judged) -> tuple[str, str, str]:
    return str(finding.finding.object), finding.finding.field, finding.severity.value


@every_case
def test_the_rule_says_this_and_no_more(rule: str, case: Case) -> None:
    found = judged(rule, proposed(case))

    assert [(f["object"], f["field"], f["severity"]) for f in case["findings"]] == [known(finding) for finding in found]
    for expected, finding in zip(case["findings"], found, strict=True):
        assert expected["says"] in statement(finding)


@every_case
def test_the_order_of_documents_means_nothing(rule: str, case: Case) -> None:
    forwards, backwards = (judged(rule, proposed(case, backwards=backwards)) for backwards in (False, True))

    assert [(known(f), statement(f)) for f in forwards] == [(known(f), statement(f)) for f in backwards]


@every_strict_case
def test_applying_once_more_what_is_stored_is_refused_by_nobody(rule: str, case: Case) -> None:
    """In `compat` the answer is upstream's, which refuses some of these edits."""
    proposal = proposed(case)
    stored = [typed(manifest) for manifest in case.get("apply", [])]
    again = propose(proposal.after, [Change(thing, thing) for thing in stored], proposal.configuration)

    assert [f.finding.message for f in judged(rule, again) if f.severity is Severity.ERROR] == []


@every_case
def test_what_a_patch_cures_is_cured(rule: str, case: Case) -> None:
    proposal = proposed(case)
    found = judged(rule, proposal)
    cured = [finding.finding.identity for finding in found if finding.finding.patch]
    patches: dict[object, list[Any]] = {}
    for finding in found:
        patches.setdefault(finding.finding.object, []).extend(finding.finding.patch)

    manifests = [
        jsonpatch.apply_patch(manifest, patches.get(typed(manifest).ref, [])) for manifest in case.get("apply", [])
    ]
    left = judged(rule, change(proposal.before, *manifests, configuration=proposal.configuration))

    assert [f.finding.identity for f in left if f.finding.identity in cured] == []


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
