"""The policies in Kubernetes' expression language; what they answer is tested on an API server, in tests/apiserver."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from policies.model.rule import registry
from policies.vap import cel
from policies.vap.admission_policies import SERVED, policies

CRDS = Path(__file__).parents[3] / "manifests" / "crds"


def test_every_rule_of_one_object_is_said_or_left_out_with_a_reason() -> None:
    alone = {rule.id for rule in registry().values() if rule.alone}
    said = {expression.rule for expression in cel.EXPRESSIONS}

    assert said | set(cel.LEFT_OUT) == alone
    assert said.isdisjoint(cel.LEFT_OUT)


def test_each_is_a_policy_with_its_binding_and_speaks_only_of_kinds_of_its_rule() -> None:
    names = [(thing["kind"], thing["metadata"]["name"]) for thing in policies()]

    assert len(set(names)) == len(names) == 2 * len(cel.EXPRESSIONS)
    for expression in cel.EXPRESSIONS:
        assert set(expression.kinds) <= registry()[expression.rule].kinds


def test_the_default_action_of_the_rule_is_the_action_of_its_binding() -> None:
    bindings = {
        thing["metadata"]["name"].partition(".")[0]: thing["spec"]["validationActions"]
        for thing in policies()
        if thing["kind"] == "ValidatingAdmissionPolicyBinding"
    }

    assert bindings["guarantee-exceeds-deserved"] == ["Deny"]
    assert bindings["legacy-quota-annotation"] == ["Warn"]


@pytest.mark.parametrize("file", sorted(CRDS.glob("*.io.yaml")) + sorted(CRDS.glob("*.sh.yaml")), ids=lambda p: p.name)
def test_no_served_version_of_a_kind_is_passed_over(file: Path) -> None:
    spec = yaml.safe_load(file.read_text())["spec"]
    served = {version["name"] for version in spec["versions"] if version["served"]}
    for kind, (plural, versions) in SERVED.items():
        if (kind.group, kind.kind) == (spec["group"], spec["names"]["kind"]):
            assert plural == spec["names"]["plural"]
            assert served <= set(versions)
