"""The rules that have cases, and what the judge says of each case; `generators/rule_cases.py` reads them."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from generators.rule_cases import CASES, RuleCase, cases, proposed
from policies.judge import evaluate, folded
from policies.judging.rule import Proposal
from policies.judging.ruling import findings, silenced
from policies.judging.verdict import Judged, Verdict
from policies.rules import about

RULES = sorted(file.stem for file in CASES.glob("*.yaml"))


class CaseName(NamedTuple):
    rule: str
    case: str


@cache
def outcomes() -> list[tuple[CaseName, RuleCase, Proposal, Verdict, list[Judged]]]:
    """Each case of each rule, what it proposes and what all rules and this one say; worked out once for all tests."""
    return [
        (CaseName(rule, case["name"]), case, proposal, verdict, of_rule(rule, verdict))
        for rule in RULES
        for case in cases(rule)
        for proposal in [proposed(case)]
        for verdict in [evaluate(proposal)]
    ]


def judged(rule: str, proposal: Proposal) -> list[Judged]:
    return of_rule(rule, evaluate(proposal))


def of_rule(rule: str, verdict: Verdict) -> list[Judged]:
    """The findings of the rule, including those folded under a finding of another rule."""
    every = (each for top in verdict.findings for each in (top, *top.consequences))
    return sorted((each for each in every if each.rule.id == rule), key=lambda each: each.rank)


def by_all(proposal: Proposal) -> Verdict:
    """The verdict where every rule of the kinds is asked."""
    asked = [rule for rule in about(proposal.kinds()) if not silenced(rule, proposal.configuration)]
    found = [findings(rule, proposal, rule.check(proposal)) for rule in asked]
    every = sorted((judged for some, _ in found for judged in some), key=lambda judged: judged.rank)
    return Verdict(tuple(folded(every)), tuple(unjudged for _, some in found for unjudged in some))
