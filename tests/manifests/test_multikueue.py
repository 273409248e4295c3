"""The rights of the MultiKueue manager, in its own cluster and on workers."""

from __future__ import annotations

from typing import Any

import yaml

from cli.input.settings import read_gates
from cluster.resource import PODS
from reconciler.configured import DEFAULTS, KUBECONFIGS, read_configured
from reconciler.jobs.kinds import SHIPPED
from reconciler.multikueue.objects import CLUSTERS, CONFIGS
from reconciler.multikueue.remote import remote_kinds
from reconciler.objects.watched import CHECK_VIEW
from tests.manifests.component import MANIFESTS, OBJECTS, allowed, objects, only

NAME = "quotree-reconciler-multikueue"
COMPONENT = MANIFESTS / "components" / "multikueue"
MULTIKUEUE = objects(COMPONENT)
JOBS = tuple(kind.resource for kind in SHIPPED.values())
WORKER: list[dict[str, Any]] = list(
    yaml.load_all((MANIFESTS / "multikueue-worker" / "rbac.yaml").read_text(), yaml.CSafeLoader)
)


def test_in_its_own_cluster_the_manager_may_write_only_statuses() -> None:
    role = only("ClusterRole", NAME, MULTIKUEUE)

    assert allowed(role, "list") == {(each.resource.group, each.resource.plural) for each in (CLUSTERS, CONFIGS)}
    written = (*(each.resource for each in (CLUSTERS, CHECK_VIEW)), *JOBS)
    assert allowed(role, "patch") == {(each.group, f"{each.plural}/status") for each in written}


def test_the_manager_reads_secrets_only_in_the_kubeconfig_namespace() -> None:
    role, binding = only("Role", NAME, MULTIKUEUE), only("RoleBinding", NAME, MULTIKUEUE)

    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == KUBECONFIGS != "quotree-system"
    assert role["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]}]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "quotree-reconciler", "namespace": "quotree-system"}
    ]
    others = [obj for obj in (*OBJECTS, *MULTIKUEUE) if obj["kind"] in ("ClusterRole", "Role") and obj != role]
    rules = [rule for obj in others for rule in obj["rules"] if "secrets" in rule["resources"]]
    assert not [rule for rule in rules if {"list", "watch"} & set(rule["verbs"]) and "resourceNames" not in rule]


def test_the_kubeconfig_namespace_has_only_the_role_and_its_binding() -> None:
    assert only("Namespace", KUBECONFIGS, MULTIKUEUE)["kind"] == "Namespace"
    there = [obj for obj in (*OBJECTS, *MULTIKUEUE) if obj["metadata"].get("namespace") == KUBECONFIGS]
    assert {obj["kind"] for obj in there} == {"Role", "RoleBinding"}


def test_without_the_component_multikueue_is_off_and_has_no_rights() -> None:
    (container,) = only("Deployment")["spec"]["template"]["spec"]["containers"]
    gates = [arg.partition("=")[2] for arg in container["args"] if arg.startswith("--feature-gates=")]
    (patch,) = yaml.load((COMPONENT / "kustomization.yaml").read_text(), yaml.CSafeLoader)["patches"]
    (operation,) = yaml.load(patch["patch"], yaml.CSafeLoader)
    more = operation["value"].partition("=")[2]

    assert operation["path"] == "/spec/template/spec/containers/0/args/-"
    assert (read_gates(gates), read_gates([*gates, more])) == ({"MultiKueue": False}, {"MultiKueue": True})
    assert read_configured(DEFAULTS, gates=read_gates(gates)).settings.multikueue is None
    assert read_configured(DEFAULTS, gates=read_gates([*gates, more])).settings.multikueue is not None
    rights = str([obj["rules"] for obj in OBJECTS if obj["kind"] in ("ClusterRole", "Role")])
    assert "multikueueclusters" not in str([only("ClusterRole")["rules"], only("Role")["rules"]])
    assert "multikueueconfigs/status" not in rights


def test_the_kustomization_with_multikueue_sets_no_namespace() -> None:
    around = yaml.load((MANIFESTS / "with-multikueue" / "kustomization.yaml").read_text(), yaml.CSafeLoader)

    assert (around["resources"], around["components"]) == (["../with-reconciler"], ["../components/multikueue"])
    assert "namespace" not in around


def test_on_a_worker_the_manager_has_only_the_needed_rights() -> None:
    (role,) = [obj for obj in WORKER if obj["kind"] == "ClusterRole"]
    kinds = {(each.resource.group, each.resource.plural) for each in remote_kinds("o", ())}

    jobs = {(each.group, each.plural) for each in (*JOBS, PODS)}
    made = {("kueue.x-k8s.io", "workloads"), *jobs}

    assert allowed(role, "list") == kinds | jobs
    assert (allowed(role, "create"), allowed(role, "delete")) == (made, made)
    assert "secrets" not in str(role)
    assert "*" not in str(role)
