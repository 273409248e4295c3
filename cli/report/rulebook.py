"""Every rule, for the commands that list them."""

from __future__ import annotations

from policies.dialects import kueue, volcano
from policies.judging.rule import Rule
from policies.rules import registry

_DIALECTS = {kueue.GROUP: "Kueue", volcano.GROUP: "Volcano", volcano.JOB.group: "Volcano"}


def by_id() -> list[Rule]:
    return sorted(registry().values(), key=lambda rule: rule.id)


def dialects_of(rule: Rule) -> str:
    """The projects whose kinds the rule is about; kinds of Kubernetes by their own names."""
    return ", ".join(sorted({_DIALECTS.get(kind.group, kind.kind) for kind in rule.kinds}))


def kinds_of(rule: Rule) -> list[str]:
    """The kinds as kubectl names them: Queue.scheduling.volcano.sh."""
    return sorted(f"{kind.kind}.{kind.group}" if kind.group else kind.kind for kind in rule.kinds)
