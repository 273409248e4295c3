"""The parts that are generated from the descriptions of job kinds."""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml

from generators import filled
from generators.job_kinds import generate, rbac_rules, webhook_rules
from policies.configuration.kueue.reading import read
from policies.dialects.frameworks import FRAMEWORKS, SHAPES, batch, jobset, kubeflow
from policies.dialects.kueue_jobs import KINDS
from policies.model.errors import BadConfiguration
from policies.model.objects import GroupKind
from reconciler.configured import read_configured
from tests.profiles import each_case

(JOB_SET,) = jobset.FRAMEWORKS
OF_KUBEFLOW = [each for each in kubeflow.FRAMEWORKS if each.kind.group == "kubeflow.org"]


@cache
def text(path: str) -> str:
    return filled(path, generate()[path])


def webhooks(which: str) -> dict[str, list[dict[str, Any]]]:
    configuration = yaml.safe_load(text(f"manifests/base/{which}-webhooks.yaml"))
    return {webhook["name"]: webhook["rules"] for webhook in configuration["webhooks"]}


def asked(rules: list[dict[str, Any]]) -> set[tuple[str, str, str, str]]:
    return {
        (group, version, resource, rule["scope"])
        for rule in rules
        for group in rule["apiGroups"]
        for version in rule["apiVersions"]
        for resource in rule["resources"]
    }


def of(kinds: list[GroupKind]) -> set[tuple[str, str, str, str]]:
    described = (KINDS[kind] for kind in kinds)
    return {(each.kind.group, each.version, each.plural, "Namespaced") for each in described}


def test_rules_of_one_api_group_are_merged_and_sorted() -> None:
    found = yaml.safe_load(webhook_rules([JOB_SET, *OF_KUBEFLOW, batch.JOB], "CREATE"))

    assert [rule["apiGroups"] for rule in found] == [["batch"], ["jobset.x-k8s.io"], ["kubeflow.org"]]
    assert found[0] == {
        "apiGroups": ["batch"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["jobs"],
        "scope": "Namespaced",
    }
    assert found[2]["apiVersions"] == ["v1", "v2beta1"]


def test_a_long_list_of_resources_has_a_line_for_each() -> None:
    text = rbac_rules([JOB_SET, *OF_KUBEFLOW], "patch", "/status")

    assert max(map(len, text.splitlines())) <= 100
    assert yaml.safe_load(text) == [
        {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets/status"], "verbs": ["patch"]},
        {
            "apiGroups": ["kubeflow.org"],
            "resources": [f"{name}jobs/status" for name in ("jax", "mpi", "paddle", "pytorch", "tf", "xgboost")],
            "verbs": ["patch"],
        },
    ]


def test_each_job_kind_is_in_the_validating_webhook() -> None:
    assert of([*KINDS]) <= asked(webhooks("validating")["kueue-jobs.quotree.dev"])


def test_each_job_kind_is_in_exactly_one_mutating_webhook() -> None:
    alone, others = (webhooks("mutating")[f"{name}.quotree.dev"] for name in ("kueue-jobs", "kueue-other-jobs"))

    assert of([*SHAPES]) <= asked(alone) | asked(others)
    assert not asked(alone) & asked(others)


def test_kinds_with_pod_templates_are_mutated_on_create_and_update() -> None:
    rules = webhooks("mutating")["kueue-templates.quotree.dev"]

    assert asked(rules) == of([kind for kind, each in KINDS.items() if each.templates])
    assert all(rule["operations"] == ["CREATE", "UPDATE"] for rule in rules)


def row(name: str) -> str:
    (line,) = [line for line in text("docs/kinds-of-jobs.md").splitlines() if line.startswith(f"| `{name}` | ")]
    return line


@each_case("name", FRAMEWORKS)
def test_the_table_shows_which_job_kinds_are_on(name: str) -> None:
    """The columns are the default of the code and the shipped configuration."""
    config_map = yaml.safe_load(text("manifests/components/reconciler/configuration.yaml"))
    shipped = read(yaml.safe_load(config_map["data"]["configuration.yaml"])).integrations
    *_, default, with_reconciler = [cell.strip() for cell in row(name).strip("|").split("|")]

    assert default == ("on" if name in read({}).integrations.frameworks else "")
    assert with_reconciler == ("on" if name in shipped.frameworks else "")
    assert ("refuses the name" in row(name)) == (not can_be_named(name))


def can_be_named(name: str) -> bool:
    head = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    try:
        read_configured({**head, "integrations": {"frameworks": [name]}})
    except BadConfiguration:
        return False
    return True
