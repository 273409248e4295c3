"""Generates the kinds that the rules of each module judge, so that only the rules for a kind have to be loaded."""

from __future__ import annotations

from collections import defaultdict

from generators.files import as_json
from policies.rules import KINDS, registry, spelled


def generate() -> dict[str, str]:
    judged: dict[str, set[str]] = defaultdict(set)
    for rule in registry().values():
        judged[rule.check.__module__].update(map(spelled, rule.kinds))
    return {f"policies/rules/{KINDS}": as_json({module: sorted(kinds) for module, kinds in sorted(judged.items())})}
