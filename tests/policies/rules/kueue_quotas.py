"""Resource groups in few words, for the tests of Kueue's rules."""

from __future__ import annotations

from typing import Any

from policies import judge
from policies.judging.proposal import Proposal
from policies.judging.verdict import Verdict
from policies.model.findings import Action
from policies.rules import registry

Fragment = dict[str, Any]


def quota(nominal: object, borrow: object = None, lend: object = None) -> Fragment:
    limits = {"borrowingLimit": borrow, "lendingLimit": lend}
    return {"nominalQuota": nominal, **{key: limit for key, limit in limits.items() if limit is not None}}


def flavor(name: str, **resources: object) -> Fragment:
    """`flavor("spot", cpu="4", memory=quota("8Gi", lend="2Gi"))`."""
    quotas = {key: value if isinstance(value, dict) else quota(value) for key, value in resources.items()}
    return {"name": name, "resources": [{"name": key, **value} for key, value in quotas.items()]}


def group(covered: str, *flavors: Fragment) -> Fragment:
    """`covered` holds the names with a blank between."""
    return {"coveredResources": covered.split(), "flavors": list(flavors)}


def holding(manifest: Fragment, *groups: Fragment) -> Fragment:
    """The same Cohort or ClusterQueue with these resource groups."""
    return {**manifest, "spec": {**manifest["spec"], "resourceGroups": list(groups)}}


def spot(manifest: Fragment, cpu: object) -> Fragment:
    """The same Cohort or ClusterQueue with quota for cpu in flavor spot."""
    return holding(manifest, group("cpu", flavor("spot", cpu=cpu)))


def evaluate(proposal: Proposal) -> Verdict:
    """The verdict without the advice about other objects: flavors that these small worlds leave out, and such."""
    whole = judge.evaluate(proposal)
    advice = {rule.id for rule in registry().values() if rule.default is Action.WARN and not rule.alone}
    return Verdict(tuple(j for j in whole.findings if j.rule.id not in advice), whole.not_evaluated)
