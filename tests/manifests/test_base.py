"""The kustomize base, without a kubelet; tests/apiserver applies it to a real API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from cli.commands.serve import webhook as command
from cluster.health import HealthServer
from cluster.served import FOLLOWED
from cluster.sources import sources
from policies.dialects.core import CONFIG_MAP
from policies.dialects.frameworks.replicated import LEADER, REPLICA_SET
from policies.dialects.kueue_jobs import KINDS
from webhook.app import CONVERTING
from webhook.ledger.contents import LEDGER_KINDS
from webhook.ledger.store import NAME, NAMESPACE
from webhook.review_handler import DEMANDING, MUTATING, VALIDATING

ROOT = Path(__file__).parents[2]
BASE = ROOT / "manifests" / "base"
OBJECTS: list[dict[str, Any]] = [
    document
    for name in yaml.load((BASE / "kustomization.yaml").read_text(), yaml.CSafeLoader)["resources"]
    for document in yaml.load_all((BASE / name).read_text(), yaml.CSafeLoader)
]
WEBHOOKS = [
    pytest.param(webhook, id=webhook["name"])
    for configuration in OBJECTS
    if configuration["kind"].endswith("WebhookConfiguration")
    for webhook in configuration["webhooks"]
]
TREES = {
    "cohorts",
    "clusterqueues",
    "resourceflavors",
    "admissionchecks",
    "multikueueconfigs",
    "multikueueclusters",
    "localqueues",
    "queues",
    "namespaces",
    "configmaps",
}


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [obj for obj in OBJECTS if obj["kind"] == kind]


def container() -> dict[str, Any]:
    (deployment,) = of_kind("Deployment")
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    return dict(only)


def test_webhook_configurations_and_routes_have_the_same_paths() -> None:
    called = {param.values[0]["clientConfig"]["service"]["path"] for param in WEBHOOKS}

    assert called == {*VALIDATING, *MUTATING} - {DEMANDING}, "which a component calls"


@pytest.mark.parametrize("webhook", WEBHOOKS)
def test_a_webhook_has_only_judged_resources_and_the_right_failure_policy(webhook: dict[str, Any]) -> None:
    path = webhook["clientConfig"]["service"]["path"]
    resources = {resource for rule in webhook["rules"] for resource in rule["resources"]}
    groups = {group for rule in webhook["rules"] for group in rule["apiGroups"]}
    everything = str(webhook["rules"])

    assert "*" not in everything
    scaled = {f"{each.plural}/scale" for each in KINDS.values() if each.scaled}
    expected = {"workloads/status", "queues/status", "pods/resize"} | scaled  # admission, state, requests of Pods
    assert {name for name in resources if "/" in name} <= expected
    assert groups <= {**VALIDATING, **MUTATING}[path]
    assert webhook["sideEffects"] == "NoneOnDryRun"
    assert webhook["matchPolicy"] == "Equivalent"
    assert webhook["admissionReviewVersions"] == ["v1"]
    assert webhook["timeoutSeconds"] <= 3
    closed = path in VALIDATING and resources <= TREES
    assert webhook["failurePolicy"] == ("Fail" if closed else "Ignore")
    assert "caBundle" not in webhook["clientConfig"]


def test_without_components_no_pod_depends_on_the_webhook() -> None:
    closed = [param.values[0] for param in WEBHOOKS if param.values[0]["failurePolicy"] == "Fail"]

    assert "pods" not in {resource for each in closed for rule in each["rules"] for resource in rule["resources"]}


@pytest.mark.parametrize("webhook", WEBHOOKS)
def test_a_webhook_for_namespaced_objects_excludes_system_namespaces(webhook: dict[str, Any]) -> None:
    if all(rule["scope"] == "Cluster" and rule["resources"] != ["namespaces"] for rule in webhook["rules"]):
        assert "namespaceSelector" not in webhook
        return
    (expression,) = webhook["namespaceSelector"]["matchExpressions"]
    assert expression["key"] == "kubernetes.io/metadata.name"
    assert expression["operator"] == "NotIn"
    assert {"kube-system", "quotree-system"} <= set(expression["values"])


def test_the_roles_allow_only_the_needed_access() -> None:
    roles = of_kind("ClusterRole")
    rules = [rule for role in roles for rule in role["rules"]]
    read = {resource for rule in rules if rule["verbs"] == ["list", "watch"] for resource in rule["resources"]}
    owners = [rule for rule in rules if rule["verbs"] == ["get"]]
    asked = [rule for rule in rules if rule["verbs"] == ["create"]]
    written = [rule for rule in rules if rule["verbs"] not in (["list", "watch"], ["get"], ["create"])]

    assert read == {versions[0].plural for versions in FOLLOWED.values()}
    named = {name for rule in owners for name in rule["resources"]}
    assert named == {"workloads", *(each.plural for each in (*KINDS.values(), REPLICA_SET, LEADER))}
    assert [rule["resources"] for rule in asked] == [["subjectaccessreviews"]]  # nothing is stored of them
    assert all(rule["resourceNames"] for rule in written)
    assert "*" not in str([role["rules"] for role in (*roles, *of_kind("Role"))])
    assert {role["metadata"]["name"] for role in roles} == {
        binding["roleRef"]["name"] for binding in of_kind("ClusterRoleBinding")
    }


def test_only_config_maps_of_yunikorn_may_be_read_and_only_the_ledger_written() -> None:
    rules = [rule for role in (*of_kind("ClusterRole"), *of_kind("Role")) for rule in role["rules"]]
    read, written = [rule for rule in rules if "configmaps" in rule["resources"]]

    assert read["resources"] == written["resources"] == ["configmaps"]
    assert set(read["resourceNames"]) == {source.name for source in sources() if source.kind == CONFIG_MAP}
    assert read["verbs"] == ["list", "watch"]  # such a rule allows exactly what names one of them by field selector
    assert written["resourceNames"] == [NAME]
    assert written["verbs"] == ["get", "list", "watch", "patch"]


def test_the_ledger_is_installed_without_data_in_the_namespace_of_its_role() -> None:
    (ledger,) = [obj for obj in of_kind("ConfigMap") if obj["metadata"]["name"] == NAME]
    (role,) = of_kind("Role")

    assert role["metadata"]["namespace"] == ledger["metadata"]["namespace"] == NAMESPACE
    assert "data" not in ledger  # so that a second `kubectl apply` takes no entry out


def test_the_kinds_in_the_ledger_have_failure_policy_fail() -> None:
    closed = [param.values[0] for param in WEBHOOKS if param.values[0]["failurePolicy"] == "Fail"]
    resources = {
        (rule["apiGroups"][0], each) for webhook in closed for rule in webhook["rules"] for each in rule["resources"]
    }
    ordered = {(FOLLOWED[kind][0].group, FOLLOWED[kind][0].plural) for kind in LEDGER_KINDS}

    assert resources - {("", "pods")} == ordered


def test_the_names_in_the_arguments_are_those_of_existing_objects() -> None:
    args = container()["args"]
    names = {kind: of_kind(kind)[0]["metadata"]["name"] for kind in ("Service", "ServiceAccount")}

    for kind, flag in (
        ("ValidatingWebhookConfiguration", "--validating"),
        ("MutatingWebhookConfiguration", "--mutating"),
    ):
        (configuration,) = of_kind(kind)
        assert f"{flag}={configuration['metadata']['name']}" in args
    assert f"--service={names['Service']}" in args
    (deployment,) = of_kind("Deployment")
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == names["ServiceAccount"]
    (role,) = of_kind("Role")
    secret = next(arg for arg in args if arg.startswith("--secret=")).partition("/")[2]
    assert secret in {name for rule in role["rules"] for name in rule.get("resourceNames", [])}


def test_the_process_writes_only_to_crds_with_a_conversion() -> None:
    crds = [yaml.load(path.read_text(), yaml.CSafeLoader) for path in (ROOT / "manifests" / "crds").glob("*.*.yaml")]
    converted = {crd["metadata"]["name"]: crd["spec"]["conversion"] for crd in crds if "conversion" in crd["spec"]}
    (service,) = of_kind("Service")
    rules = [rule for role in of_kind("ClusterRole") for rule in role["rules"]]
    (rule,) = [rule for rule in rules if rule["resources"] == ["customresourcedefinitions"]]

    assert converted
    assert {arg.removeprefix("--conversion=") for arg in container()["args"] if "--conversion" in arg} == set(converted)
    assert set(rule["resourceNames"]) == set(converted)
    for conversion in converted.values():
        called = {key: service["metadata"][key] for key in ("name", "namespace")} | {"path": CONVERTING}
        assert conversion["webhook"]["clientConfig"] == {"service": called}


def test_the_pod_is_restricted() -> None:
    (deployment,) = of_kind("Deployment")
    pod, only = deployment["spec"]["template"]["spec"], container()

    assert deployment["spec"]["replicas"] == 3
    assert pod["securityContext"]["runAsNonRoot"]
    assert only["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {volume["name"] for volume in pod["volumes"]} == {mount["name"] for mount in only["volumeMounts"]}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert only[probe]["httpGet"]["port"] == "metrics"  # not the port that others may crowd


def test_the_probes_use_existing_paths() -> None:
    server = HealthServer("127.0.0.1", 0, list, list, CollectorRegistry())
    try:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert server.answer(container()[probe]["httpGet"]["path"])[0] == 200
    finally:
        server.server_close()


def test_the_arguments_are_options_of_the_command() -> None:
    flags = {flag for option in command.params for flag in option.opts}

    assert {arg.partition("=")[0] for arg in container()["args"] if arg.startswith("--")} <= flags
