"""What the configuration file may contain, and the messages about an invalid one."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from policies.configuration.file import API_VERSION, KIND, read_configuration
from policies.configuration.settings import ADMITTING_USERS, Configuration, Dialect, VolcanoResourceGroup
from policies.model.errors import BadConfiguration
from policies.rules import registry
from policies.text.positions import DocumentRoot
from policies.text.yaml_values import read


def configured(**keys: Any) -> Configuration:
    return read_configuration({"apiVersion": API_VERSION, "kind": KIND, **keys}, registry())


def refusal(**keys: Any) -> str:
    with pytest.raises(BadConfiguration) as caught:
        configured(**keys)
    return str(caught.value)


@pytest.mark.parametrize(("written", "ledger"), [("off", False), ("on", True), ("false", False), ("", True)])
def test_the_ledger_is_on_unless_it_is_switched_off(written: str, ledger: bool) -> None:
    (root,) = read(f"ledger: {written}")

    assert isinstance(root, DocumentRoot)
    assert configured(**root.value).ledger is ledger


def test_invalid_ledger_value_is_rejected() -> None:
    assert refusal(ledger="of") == "ledger: expected true or false"


# -- a day from which a rule denies, and rules that may be waived ------------------------------------------------------


@pytest.mark.parametrize("written", ["2026-12-01", date(2026, 12, 1)])
def test_start_date_may_be_a_string_or_a_yaml_date(written: object) -> None:
    (override,) = configured(rules=[{"rule": "*", "action": "deny", "from": written}]).overrides

    assert override.since == date(2026, 12, 1)


@pytest.mark.parametrize("written", ["2026-13-01", "20261201", "soon", 20261201, datetime(2026, 12, 1, tzinfo=UTC)])
def test_invalid_start_date_is_rejected(written: object) -> None:
    assert "is not a date" in refusal(rules=[{"rule": "*", "action": "deny", "from": written}])


def test_start_date_is_allowed_only_for_deny() -> None:
    assert "rules[0].from: only the action deny can have a start date" in refusal(
        rules=[{"rule": "*", "action": "warn", "from": "2026-12-01"}]
    )


def test_waivable_rules_must_exist_and_not_be_exemption_rules() -> None:
    assert configured(exemptions={"waivable": ["depth-exceeded"]}).waivable == {"depth-exceeded"}
    assert "exemptions.waivable[0]: there is no rule 'depth-exeeded'; did you mean 'depth-exceeded'?" in refusal(
        exemptions={"waivable": ["depth-exeeded"]}
    )
    assert "cannot be waived" in refusal(exemptions={"waivable": ["exemption-expired"]})
    assert "did you mean 'waivable'" in refusal(exemptions={"waiveable": []})


# -- who admits --------------------------------------------------------------------------------------------------------


def test_admitting_users_default_to_the_manifests() -> None:
    assert configured().kueue.admitting_users == ADMITTING_USERS
    assert configured(kueue={"admittingUsers": []}).kueue.admitting_users == ADMITTING_USERS
    assert configured(kueue={"admittingUsers": ["robot"]}).kueue.admitting_users == ("robot",)
    assert "kueue.admittingUsers" in refusal(kueue={"admittingUsers": ["robot", ""]})


# -- resource groups of Volcano ----------------------------------------------------------------------------------------


def test_resource_groups_are_read_as_volcano_writes_them() -> None:
    group = {
        "resourceGroup": "management",
        "object": {"key": "namespace", "value": ["ns-1"]},
        "labels": {"type": "m"},
        "affinity": '{"nodeAffinity": {}}',
        "tolerations": [{"key": "taint"}],
        "schedulerName": "volcano",
    }

    assert configured(volcano={"resourceGroups": [group, {"resourceGroup": "cpu"}]}).volcano.resource_groups == (
        VolcanoResourceGroup(
            "management", "namespace", ("ns-1",), {"type": "m"}, {"nodeAffinity": {}}, ({"key": "taint"},), "volcano"
        ),
        VolcanoResourceGroup("cpu"),
    )


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({}, "volcano.resourceGroups[0].resourceGroup: is required"),
        ({"object": {"key": "label"}}, "volcano.resourceGroups[0].object.key: 'label' is not valid; it must be one of"),
        ({"object": {"value": [1]}}, "volcano.resourceGroups[0].object.value: expected a list of strings"),
        ({"affinity": "{"}, "volcano.resourceGroups[0].affinity: expected JSON"),
        ({"affinity": "[]"}, "volcano.resourceGroups[0].affinity: expected a JSON object"),
        ({"labels": {"a": 1}}, "volcano.resourceGroups[0].labels: expected a mapping of strings"),
        ({"tolerations": ["a"]}, "volcano.resourceGroups[0].tolerations: expected a list of mappings"),
        ({"lables": {}}, "did you mean 'labels'"),
    ],
)
def test_invalid_resource_group_is_rejected(wrong: dict[str, Any], says: str) -> None:
    group = {"resourceGroup": "a", **wrong} if wrong else {}

    assert says in refusal(volcano={"resourceGroups": [group]})


# -- YuniKorn ----------------------------------------------------------------------------------------------------------


def test_yunikorn_is_followed_by_default() -> None:
    assert configured().yunikorn.follow
    assert not configured(yunikorn={"follow": False}).yunikorn.follow
    assert "yunikorn.follow: expected true or false" in refusal(yunikorn={"follow": "no"})


# -- quota at gates ----------------------------------------------------------------------------------------------------


def test_gates_argument_applies_unless_the_file_overrides_it() -> None:
    def gates(**keys: Any) -> frozenset[Dialect]:
        manifest = {"apiVersion": API_VERSION, "kind": KIND, **keys}
        return read_configuration(manifest, registry(), [Dialect.VOLCANO]).gates

    assert gates() == {Dialect.VOLCANO}
    assert gates(volcano={"maxQueueDepth": 3}) == {Dialect.VOLCANO}
    assert gates(yunikorn={"enforce": "gates"}) == {Dialect.VOLCANO, Dialect.YUNIKORN}
    assert gates(volcano={"enforce": "off"}) == frozenset()
    assert configured().gates == frozenset()


def test_reconciler_manages_enforced_dialects_and_named_dialects() -> None:
    enforced = {"volcano": {"enforce": "gates"}}

    assert configured(**enforced).reconciler.dialects == {Dialect.KUEUE, Dialect.VOLCANO}
    alone = configured(**enforced, reconciler={"dialects": ["yunikorn"]})
    assert alone.reconciler.dialects == {Dialect.YUNIKORN, Dialect.VOLCANO}


def test_volcano_sum_checks_are_off_by_default() -> None:
    assert not configured().volcano.checks_sums
    assert configured(volcano={"checkSums": True}).volcano.checks_sums
    assert not configured().volcano.root_from_nodes
    assert configured(volcano={"rootFromNodes": True}).volcano.root_from_nodes


def test_replaced_volcano_programs_are_read() -> None:
    assert configured().reconciler.replaces == frozenset()
    assert configured(reconciler={"replaces": ["vc-scheduler"]}).reconciler.replaces == {"vc-scheduler"}
    assert "reconciler.replaces[0]: 'volcano' is unknown" in refusal(reconciler={"replaces": ["volcano"]})


def test_kinds_of_jobs_are_named_as_in_the_configuration_of_kueue() -> None:
    assert configured(kueue={"frameworks": ["batch/job"]}).kueue.frameworks == ("batch/job",)
    assert "kueue.frameworks[1]: 'job' is unknown" in refusal(kueue={"frameworks": ["batch/job", "job"]})


def test_free_after_defaults_by_profile() -> None:
    assert configured().counts_ending
    assert not configured(profile="compat").counts_ending
    assert not configured(kueue={"freeAfter": "requested"}).counts_ending
    assert configured(profile="compat", kueue={"freeAfter": "ended"}).counts_ending
    assert "kueue.freeAfter" in refusal(kueue={"freeAfter": "never"})


def test_the_namespaces_where_jobs_are_managed_are_selected_as_in_kueues_file() -> None:
    selector = {"matchExpressions": [{"key": "team", "operator": "Exists"}]}
    found = configured(kueue={"managedJobsNamespaceSelector": selector, "manageJobsWithoutQueueName": True}).kueue

    assert (found.namespaces.matches({"team": "a"}), found.namespaces.matches({})) == (True, False)
    assert found.without_queue
    assert configured().kueue.namespaces.matches({})
    assert not configured().kueue.without_queue
    said = refusal(kueue={"managedJobsNamespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}})
    assert "kueue.managedJobsNamespaceSelector.matchExpressions[0].values: the operator In needs values" in said
    assert "expected a mapping" in refusal(kueue={"managedJobsNamespaceSelector": "all"})
