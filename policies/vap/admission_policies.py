"""The ValidatingAdmissionPolicies and bindings that say the expressions of `policies.vap.cel` to an API server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policies.dialects import core, kueue, volcano
from policies.model.objects import GroupKind
from policies.model.rule import Action, Rule, registry
from policies.vap.cel import EXPRESSIONS, Expression

Manifest = dict[str, Any]

SERVED: Mapping[GroupKind, tuple[str, tuple[str, ...]]] = {
    core.NAMESPACE: ("namespaces", ("v1",)),
    volcano.QUEUE: ("queues", ("v1beta1",)),
    kueue.COHORT: ("cohorts", ("v1beta2", "v1beta1", "v1alpha1")),
    kueue.CLUSTER_QUEUE: ("clusterqueues", ("v1beta2", "v1beta1")),
    kueue.WORKLOAD: ("workloads", ("v1beta2", "v1beta1")),
}
"""The resource names and the versions in which an API server may be asked to store these kinds."""

_ACTIONS = {Action.DENY: "Deny", Action.WARN: "Warn", Action.AUDIT: "Audit"}


def policies() -> list[Manifest]:
    """A ValidatingAdmissionPolicy and its binding for each expression, with the default action of its rule."""
    rules = registry()
    return [thing for said in EXPRESSIONS for thing in _policy(said, rules[said.rule])]


def _policy(said: Expression, rule: Rule) -> Iterable[Manifest]:
    variables = [{"name": name, "expression": expression} for name, expression in said.variables]
    yield _object(
        "ValidatingAdmissionPolicy",
        said.name,
        {
            "failurePolicy": "Fail",
            "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": [_matched(k) for k in said.kinds]},
            "variables": [*variables, {"name": "wrong", "expression": said.wrong}],
            "validations": [
                {
                    "expression": "variables.wrong == ''",
                    "message": f"{rule.title} [{rule.id}]",
                    "messageExpression": f"variables.wrong + ' [{rule.id}]'",
                    "reason": "Invalid",
                }
            ],
        },
    )
    binding = {"policyName": said.name, "validationActions": [_ACTIONS[rule.default]]}
    yield _object("ValidatingAdmissionPolicyBinding", said.name, binding)


def _matched(kind: GroupKind) -> Manifest:
    plural, versions = SERVED[kind]
    return {
        "apiGroups": [kind.group],
        "apiVersions": list(versions),
        "operations": ["CREATE", "UPDATE"],
        "resources": [plural],
    }


def _object(kind: str, name: str, spec: Manifest) -> Manifest:
    api = "admissionregistration.k8s.io/v1"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}
