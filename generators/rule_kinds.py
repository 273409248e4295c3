"""Which kinds each rule judges, so that the rules of others need not be loaded."""

from __future__ import annotations

from generators.files import as_json
from policies.rules import KINDS, registry, spelled


def generate() -> dict[str, str]:
    judged = {rule.check.__module__: sorted(map(spelled, rule.kinds)) for rule in registry().values()}
    return {f"policies/rules/{KINDS}": as_json(dict(sorted(judged.items())))}
