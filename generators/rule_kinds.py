"""Generates the list of kinds that each rule judges, so that only the rules for a kind have to be loaded."""

from __future__ import annotations

from generators.files import as_json
from policies.rules import KINDS, registry, spelled


def generate() -> dict[str, str]:
    judged = {rule.check.__module__: sorted(map(spelled, rule.kinds)) for rule in registry().values()}
    return {f"policies/rules/{KINDS}": as_json(dict(sorted(judged.items())))}
