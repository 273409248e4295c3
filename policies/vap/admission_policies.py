"""Makes the ValidatingAdmissionPolicies and bindings of the CEL forms of rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from policies.cel.expression import Expression
from policies.dialects import core
from policies.judging.rule import Rule
from policies.model.findings import Action
from policies.model.objects import GroupKind
from policies.rules import registry
from policies.schema.declarations import FILES, load

Manifest = dict[str, Any]

_BUILT_IN = {core.NAMESPACE: ("namespaces", ("v1",))}
"""The resource and the versions of kinds without a CustomResourceDefinition."""

_ACTIONS = {Action.DENY: "Deny", Action.WARN: "Warn", Action.AUDIT: "Audit"}


def policies() -> list[Manifest]:
    """A ValidatingAdmissionPolicy and its binding for each CEL form, with the default action of its rule."""
    return [manifest for rule, form in forms() for manifest in _policy(rule, form)]


def forms() -> list[tuple[Rule, Expression]]:
    return [(rule, form) for rule in registry().values() for form in rule.cel]


def _policy(rule: Rule, form: Expression) -> Iterable[Manifest]:
    name = policy_name(rule, form)
    variables = [{"name": name, "expression": expression} for name, expression in form.variables]
    yield _object(
        "ValidatingAdmissionPolicy",
        name,
        {
            "failurePolicy": "Fail",
            "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": [_matched(k) for k in form.kinds]},
            "variables": [*variables, {"name": "wrong", "expression": form.wrong}],
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
    binding = {"policyName": name, "validationActions": [_ACTIONS[rule.default]]}
    yield _object("ValidatingAdmissionPolicyBinding", name, binding)


def policy_name(rule: Rule, form: Expression) -> str:
    """The name of the policy and its binding. The kinds in it distinguish the forms of one rule."""
    return f"{rule.id}.{'-'.join(kind.kind.lower() for kind in form.kinds)}.quotree.dev"


def served(kind: GroupKind) -> tuple[str, tuple[str, ...]]:
    """The resource, and the versions in which clients can write objects of this kind."""
    if kind in _BUILT_IN:
        return _BUILT_IN[kind]
    declared = load(FILES[kind])
    return declared["names"]["plural"], tuple(version["name"] for version in declared["versions"])


def _matched(kind: GroupKind) -> Manifest:
    plural, versions = served(kind)
    return {
        "apiGroups": [kind.group],
        "apiVersions": list(versions),
        "operations": ["CREATE", "UPDATE"],
        "resources": [plural],
    }


def _object(kind: str, name: str, spec: Manifest) -> Manifest:
    api = "admissionregistration.k8s.io/v1"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}
