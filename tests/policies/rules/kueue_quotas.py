"""A quota of cpu, and the evaluation about it alone, for the tests of Kueue's rules."""

from __future__ import annotations

from typing import Any

from policies import judge
from policies.judging.rule import Proposal
from policies.judging.verdict import Verdict
from policies.model.findings import Action
from policies.rules import registry
from tests.builders import flavor, group, holding

Fragment = dict[str, Any]


def spot(manifest: Fragment, cpu: object) -> Fragment:
    """The same Cohort or ClusterQueue with quota for cpu in flavor spot."""
    return holding(manifest, group("cpu", flavor("spot", cpu=cpu)))


def evaluate(proposal: Proposal) -> Verdict:
    """The verdict without the advice about other objects: flavors that these small worlds leave out, and such."""
    whole = judge.evaluate(proposal)
    advice = {rule.id for rule in registry().values() if rule.default is Action.WARN and not rule.alone}
    return Verdict(tuple(j for j in whole.findings if j.rule.id not in advice), whole.not_evaluated)
