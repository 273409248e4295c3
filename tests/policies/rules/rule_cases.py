"""The cases of every rule, as data: `cases/<rule-id>.yaml` lists what the rule says of a change, and what it lets pass.

    - name: what holds, as a sentence
      given: [manifests that are stored before]      # optional
      apply: [manifests]                             # and, or instead,
      delete: [{apiVersion, kind, metadata}]
      profile: compat                                # strict by default
      user: {name: anna, groups: [dev]}              # who asks; unknown by default
      now: 2026-12-31                                # the day in UTC; long ago by default
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

import yaml

from policies.configuration.file import API_VERSION, KIND, read_configuration
from policies.judge import evaluate
from policies.judging.proposal import Proposal
from policies.judging.verdict import Judged
from policies.model.change import Circumstances, User
from policies.rules import registry
from tests.builders import change, typed, world

CASES = Path(__file__).parent / "cases"
RULES = sorted(file.stem for file in CASES.glob("*.yaml"))

Case = dict[str, Any]


@cache
def cases(rule: str) -> list[Case]:
    """The cases of a rule, to be read only: all tests share them."""
    text = (CASES / f"{rule}.yaml").read_text(encoding="utf-8")
    found: list[Case] = yaml.load(text, yaml.CSafeLoader)  # ten times as fast as safe_load
    return found


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


@cache
def outcomes(rule: str) -> list[tuple[Case, Proposal, list[Judged]]]:
    """Each case of a rule, what it proposes and what the rule says; worked out once for all tests."""
    return [(case, proposal, judged(rule, proposal)) for case in cases(rule) for proposal in [proposed(case)]]


def judged(rule: str, proposal: Proposal) -> list[Judged]:
    """What the rule says, also where that follows from what another says."""
    every = (each for top in evaluate(proposal).findings for each in (top, *top.consequences))
    return sorted((each for each in every if each.rule.id == rule), key=lambda each: each.rank)
