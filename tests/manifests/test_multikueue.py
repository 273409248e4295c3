"""What the manager of other clusters may do, at home and on its workers."""

from __future__ import annotations

from typing import Any

import yaml

from cli.input.settings import read_gates
from cluster.resource import PODS
from reconciler.configured import DEFAULTS, read_configured
from reconciler.jobs.kinds import SHIPPED
from reconciler.multikueue.configured import KUBECONFIGS
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


def test_at_home_it_may_follow_what_it_follows_and_write_statuses_alone() -> None:
    role = only("ClusterRole", NAME, MULTIKUEUE)

    assert allowed(role, "list") == {(each.resource.group, each.resource.plural) for each in (CLUSTERS, CONFIGS)}
    written = (*(each.resource for each in (CLUSTERS, CHECK_VIEW)), *JOBS)
    assert allowed(role, "patch") == {(each.group, f"{each.plural}/status") for each in written}


def test_it_reads_secrets_in_the_namespace_of_kubeconfigs_alone_and_writes_none() -> None:
    role, binding = only("Role", NAME, MULTIKUEUE), only("RoleBinding", NAME, MULTIKUEUE)

    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == KUBECONFIGS != "quotree-system"
    assert role["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]}]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "quotree-reconciler", "namespace": "quotree-system"}
    ]
    others = [obj for obj in (*OBJECTS, *MULTIKUEUE) if obj["kind"] in ("ClusterRole", "Role") and obj != role]
    rules = [rule for obj in others for rule in obj["rules"] if "secrets" in rule["resources"]]
    assert not [rule for rule in rules if {"list", "watch"} & set(rule["verbs"]) and "resourceNames" not in rule]


def test_nothing_else_is_kept_where_kubeconfigs_are() -> None:
    assert only("Namespace", KUBECONFIGS, MULTIKUEUE)["kind"] == "Namespace"
    there = [obj for obj in (*OBJECTS, *MULTIKUEUE) if obj["metadata"].get("namespace") == KUBECONFIGS]
    assert {obj["kind"] for obj in there} == {"Role", "RoleBinding"}


def test_without_its_component_there_is_neither_a_right_nor_a_look_at_its_kinds() -> None:
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


def test_the_kustomization_around_it_moves_no_namespace() -> None:
    around = yaml.load((MANIFESTS / "with-multikueue" / "kustomization.yaml").read_text(), yaml.CSafeLoader)

    assert (around["resources"], around["components"]) == (["../with-reconciler"], ["../components/multikueue"])
    assert "namespace" not in around


def test_on_a_worker_it_may_follow_what_it_follows_there_and_nothing_else() -> None:
    (role,) = [obj for obj in WORKER if obj["kind"] == "ClusterRole"]
    kinds = {(each.resource.group, each.resource.plural) for each in remote_kinds("o", ())}

    jobs = {(each.group, each.plural) for each in (*JOBS, PODS)}
    made = {("kueue.x-k8s.io", "workloads"), *jobs}

    assert allowed(role, "list") == kinds | jobs
    assert (allowed(role, "create"), allowed(role, "delete")) == (made, made)
    assert "secrets" not in str(role)
    assert "*" not in str(role)
