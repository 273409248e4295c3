"""Reads the test cases of rules. `cases/<rule-id>.yaml` lists changes with the findings that the rule reports.

    - name: what holds, as a sentence
      given: [manifests that are stored before]      # optional
      apply: [manifests]                             # and, or instead,
      delete: [{apiVersion, kind, metadata}]
      profile: compat                                # strict by default
      user: {name: anna, groups: [dev]}              # the user; unknown by default
      now: 2026-12-31                                # the day in UTC; long ago by default
      configuration: {yunikorn: {version: "2.0"}}    # a Configuration without apiVersion, kind and profile
      findings: [{object: Queue eng, field: spec.parent, severity: error, says: a piece of the message or the fix}]

Only findings of the rule in the file's name count. An empty list means that the rule has no findings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, time
from functools import cache, partial
from typing import Any

from generators.files import ROOT, documents
from policies.configuration.file import API_VERSION, KIND, read_configuration
from policies.configuration.settings import Configuration
from policies.dialects import READERS, read
from policies.dialects.core import CONFIG_MAP
from policies.dialects.reading import Parsed
from policies.dialects.strict import strict
from policies.judging.rule import Proposal, propose
from policies.model.change import Change, Circumstances, User
from policies.model.forest import Forest
from policies.model.objects import KubeObject
from policies.rules import registry

CASES = ROOT / "tests" / "policies" / "rules" / "cases"
_KNOWN = frozenset(READERS) - {CONFIG_MAP}
"""A case lists all stored objects of these kinds. ConfigMaps are only complete in cases about them."""

RuleCase = dict[str, Any]


@cache
def cases(rule: str) -> list[RuleCase]:
    """The cases of a rule. Do not change them, since all callers share them."""
    (found,) = documents(CASES / f"{rule}.yaml")
    return list(found)


def proposed(case: RuleCase, *, backwards: bool = False) -> Proposal:
    """The change of the case. `backwards`: read its manifests in reverse order, which must not change the findings."""
    given, applied, deleted = (case.get(part, [])[:: -1 if backwards else 1] for part in ("given", "apply", "delete"))
    settings = {"profile": case.get("profile", "strict"), **case.get("configuration", {})}
    configuration = _configuration(json.dumps(settings))
    typed = partial(_typed, orchestrated=configuration.kueue.orchestrated)
    before = Forest.of(map(typed, given), _KNOWN)
    objects = [strict(Parsed(typed(manifest), manifest)).object for manifest in applied]
    changes = [Change(before.get(obj.ref), obj) for obj in objects]
    changes += [Change(before.get(_typed(manifest).ref), None) for manifest in deleted]
    return propose(before, changes, configuration, _circumstances(case))


@cache
def _configuration(settings: str) -> Configuration:
    """The configuration of a case. It is cached, since most cases have the same one."""
    return read_configuration({"apiVersion": API_VERSION, "kind": KIND, **json.loads(settings)}, registry())


def _typed(manifest: Mapping[str, Any], *, orchestrated: bool = False) -> KubeObject:
    obj = read(manifest, orchestrated=orchestrated)
    if obj is None:
        raise ValueError(f"no dialect reads {manifest.get('kind')}")
    return obj


def _circumstances(case: RuleCase) -> Circumstances:
    day, user = case.get("now"), case.get("user", {})
    who = User(user.get("name", ""), tuple(user.get("groups", ())))
    return Circumstances(now=datetime.combine(day, time(), UTC), user=who) if day else Circumstances(user=who)
