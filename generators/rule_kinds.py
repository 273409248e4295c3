"""Which kinds each rule judges, so that the rules of others need not be loaded."""

from __future__ import annotations

import json

from policies.rules import KINDS, registry, spelled


def generate() -> dict[str, str]:
    judged = {rule.check.__module__: sorted(map(spelled, rule.kinds)) for rule in registry().values()}
    return {f"policies/rules/{KINDS}": json.dumps(judged, indent=1, sort_keys=True) + "\n"}
