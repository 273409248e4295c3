"""The manifests of the reconciler, without a kubelet; see tests/apiserver for the rest."""

from __future__ import annotations

from typing import Any

import yaml
from prometheus_client import CollectorRegistry

from cli.commands.serve import reconciler as command
from cluster.api.front_proxy import NAME as FRONT_PROXY
from cluster.health import HealthServer
from policies.dialects.kueue_kinds import GROUP
from reconciler.api.aggregated import API_SERVICE
from reconciler.api.aggregated import GROUP as GROUP_OF_API
from reconciler.api.routes import VISIBILITY
from reconciler.configured import read_configured
from reconciler.controllers.jobs.controller import JobsController
from reconciler.controllers.pods import PodsController
from reconciler.controllers.provisioning import ProvisioningController
from reconciler.jobs.kinds import SHIPPED
from reconciler.objects.topology_views import TOPOLOGY_KINDS
from reconciler.objects.watched import DEVICE_VIEWS, WATCHED_KINDS
from reconciler.shell.permit import KUEUE_LEASE
from tests.manifests.component import COMPONENT, MANIFESTS, NAME, OBJECTS, allowed, documents, only


def pod() -> dict[str, Any]:
    return dict(only("Deployment")["spec"]["template"]["spec"])


def container() -> dict[str, Any]:
    (single,) = pod()["containers"]
    return dict(single)


def test_the_base_installs_only_the_webhook() -> None:
    base = yaml.safe_load((MANIFESTS / "base" / "kustomization.yaml").read_text())
    both = yaml.safe_load((MANIFESTS / "with-reconciler" / "kustomization.yaml").read_text())

    assert "components" not in base
    assert (both["resources"], both["components"]) == (["../base"], ["../components/reconciler"])
    assert yaml.safe_load((COMPONENT / "kustomization.yaml").read_text())["kind"] == "Component"


def test_the_component_sets_manage_jobs_in_the_webhook_configuration() -> None:
    (patch,) = documents("reconciler", "jobs-wait.yaml")
    (shipped,) = yaml.safe_load_all((MANIFESTS / "base" / "configuration.yaml").read_text())
    text = yaml.safe_load(shipped["data"]["configuration.yaml"])

    assert patch["metadata"] == shipped["metadata"]
    assert yaml.safe_load(patch["data"]["configuration.yaml"]) == {**text, "kueue": {"manageJobs": True}}


def test_the_reconciler_may_list_and_watch_exactly_what_it_watches() -> None:
    jobs = JobsController(lambda _: None, SHIPPED.values()).watched
    core = (*WATCHED_KINDS, *TOPOLOGY_KINDS, *DEVICE_VIEWS)
    controllers = (*jobs, *PodsController.watched, *ProvisioningController.watched)
    followed = {(each.resource.group, each.resource.plural) for each in (*core, *controllers)}
    role = only("ClusterRole")

    assert allowed(role, "list") == followed
    assert allowed(role, "watch") == followed


def test_the_reconciler_may_patch_jobs_and_their_finalizers() -> None:
    role = only("ClusterRole")
    jobs = {(kind.resource.group, kind.resource.plural) for kind in SHIPPED.values()}

    assert jobs <= allowed(role, "patch")
    assert {(group, f"{plural}/finalizers") for group, plural in jobs} <= allowed(role, "update")
    of_jobs = {pair for pair in allowed(role, "patch") if (pair[0], pair[1].partition("/")[0]) in jobs}
    assert of_jobs == jobs | {("batch", "jobs/status")}  # the status of others is written for MultiKueue alone


def test_the_reconciler_may_patch_and_delete_pods_and_not_create_them() -> None:
    rules = [rule for rule in only("ClusterRole")["rules"] if any("pods" in each for each in rule["resources"])]

    assert [(rule["resources"], rule["verbs"]) for rule in rules] == [
        (["pods"], ["get", "list", "watch", "patch", "delete"]),
        (["pods/status"], ["patch"]),
        (["pods/finalizers"], ["update"]),
    ]


def test_the_reconciler_may_create_provisioning_requests_and_not_change_them() -> None:
    role, request, template = (
        only("ClusterRole"),
        ("autoscaling.x-k8s.io", "provisioningrequests"),
        ("", "podtemplates"),
    )
    may = {verb for verb in ("create", "delete", "patch", "update") if request in allowed(role, verb)}
    assert may == {"create", "delete"}
    assert all(template in allowed(role, verb) for verb in ("create", "patch", "delete"))
    assert (GROUP, "admissionchecks/status") in allowed(role, "patch")
    owners = {(GROUP, "workloads/finalizers"), (request[0], f"{request[1]}/finalizers")}
    assert owners <= allowed(role, "update")


def test_no_rule_has_wildcards_or_reads_other_config_maps() -> None:
    roles = [obj for obj in OBJECTS if obj["kind"] in ("ClusterRole", "Role")]
    assert "*" not in str([role["rules"] for role in roles])
    read = [rule for role in roles for rule in role["rules"] if "configmaps" in rule["resources"]]
    assert [(rule["resourceNames"], rule["verbs"]) for rule in read] == [([FRONT_PROXY], ["get", "list", "watch"])]


def test_the_api_service_points_to_the_service_of_the_reconciler() -> None:
    passed, service = only("APIService", API_SERVICE)["spec"], only("Service")

    assert (f"{passed['version']}.{passed['group']}", passed["group"]) == (API_SERVICE, GROUP_OF_API)
    assert passed["service"]["name"] == service["metadata"]["name"]
    assert passed["service"]["port"] == service["spec"]["ports"][0]["port"]
    assert "insecureSkipTLSVerify" not in passed
    assert f"--api-service={API_SERVICE}" in container()["args"]
    (trusting,) = [rule for rule in only("ClusterRole")["rules"] if "apiservices" in rule["resources"]]
    assert (trusting["resourceNames"], trusting["verbs"]) == ([API_SERVICE], ["get", "list", "watch", "patch"])


def test_tenants_may_use_the_api_group_only_for_their_namespace() -> None:
    user, admin = (
        {
            (verb, resource)
            for verb in ("get", "list", "watch", "create")
            for group, resource in allowed(only("ClusterRole", role), verb)
            if group == GROUP_OF_API
        }
        for role in ("quotree-batch-user", "quotree-batch-admin")
    )

    assert user == {
        ("get", "localqueues/pendingworkloads"),
        ("get", "workloads/explanation"),
        ("get", "jobs/state"),
        ("list", "namespacetrees"),
    }
    assert admin == user | {("get", "clusterqueues/pendingworkloads"), ("list", "trees")}


def test_the_reconciler_may_use_only_the_secret_of_its_certificate() -> None:
    roles = [obj for obj in OBJECTS if obj["kind"] in ("ClusterRole", "Role")]
    rules = [(role["kind"], rule) for role in roles for rule in role["rules"] if "secrets" in rule["resources"]]

    (one, created), (other, own) = rules
    assert {one, other} == {"Role"}
    assert (created["verbs"], own["verbs"]) == (["create"], ["get", "list", "watch", "patch"])
    assert own["resourceNames"] == ["quotree-reconciler-certificate"]
    assert "--secret=quotree-system/quotree-reconciler-certificate" in container()["args"]


def test_the_reconciler_may_create_token_reviews_and_access_reviews() -> None:
    assert {("authentication.k8s.io", "tokenreviews"), ("authorization.k8s.io", "subjectaccessreviews")} <= allowed(
        only("ClusterRole"), "create"
    )


def test_the_service_reaches_v1_under_the_name_in_its_certificate() -> None:
    service = only("Service")["spec"]
    (port,) = [each for each in container()["ports"] if each["name"] == service["ports"][0]["targetPort"]]

    assert service["selector"] == only("Deployment")["spec"]["selector"]["matchLabels"]
    assert f"--api-port={port['containerPort']}" in container()["args"]
    assert f"--service={only('Service')['metadata']['name']}" in container()["args"]


def test_the_user_roles_have_the_rights_that_v1_checks() -> None:
    user, admin = only("ClusterRole", "quotree-batch-user"), only("ClusterRole", "quotree-batch-admin")
    lists = {(VISIBILITY, f"{kind}/pendingworkloads") for kind in ("clusterqueues", "localqueues")}

    assert lists <= allowed(admin, "get")
    assert lists & allowed(user, "get") == {(VISIBILITY, "localqueues/pendingworkloads")}
    assert {(GROUP, "clusterqueues"), (GROUP, "cohorts"), ("", "nodes")} <= allowed(admin, "list")
    assert ("", "nodes") not in allowed(user, "list")


def test_the_reconciler_writes_its_own_lease_and_reads_that_of_kueue() -> None:
    (kueue,) = [rule for rule in only("ClusterRole")["rules"] if rule["resources"] == ["leases"]]
    assert (kueue["resourceNames"], kueue["verbs"]) == ([KUEUE_LEASE], ["list", "watch"])

    created, own = [rule for rule in only("Role")["rules"] if rule["resources"] == ["leases"]]
    assert created["verbs"] == ["create"]
    assert (own["resourceNames"], own["verbs"]) == ([NAME], ["get", "update", "patch"])
    assert f"--lease={only('Role')['metadata']['namespace']}/{NAME}" in container()["args"]


def test_each_binding_binds_its_role_to_the_service_account_of_the_pod() -> None:
    for kind in ("ClusterRole", "Role"):
        binding = only(f"{kind}Binding")
        assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": NAME}
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": NAME, "namespace": "quotree-system"}]
    assert pod()["serviceAccountName"] == only("ServiceAccount")["metadata"]["name"]


def test_a_batch_user_may_read_queues_and_change_only_jobs() -> None:
    user, admin = only("ClusterRole", "quotree-batch-user"), only("ClusterRole", "quotree-batch-admin")

    jobs = {(kind.resource.group, kind.resource.plural) for kind in SHIPPED.values()}
    assert allowed(user, "update") == {*jobs, ("", "pods")}
    assert {pair for pair in allowed(user, "get") if pair[0] == GROUP} == {
        ("kueue.x-k8s.io", name) for name in ("localqueues", "workloads", "localqueues/status", "workloads/status")
    }
    for verb in ("get", "list", "create", "delete"):
        assert allowed(user, verb) <= allowed(admin, verb)
    assert not {pair for pair in allowed(admin, "update") if "/" in pair[1]}


def test_two_replicas_run_and_one_may_be_unavailable() -> None:
    labels = only("Deployment")["spec"]["selector"]["matchLabels"]

    assert only("Deployment")["spec"]["replicas"] == 2
    assert only("PodDisruptionBudget")["spec"] == {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
    assert only("Deployment")["spec"]["template"]["metadata"]["labels"] == labels


def test_the_pod_has_the_security_context_of_the_webhook() -> None:
    webhook = yaml.safe_load((MANIFESTS / "base" / "deployment.yaml").read_text())["spec"]["template"]["spec"]

    assert pod()["securityContext"] == webhook["securityContext"]
    assert container()["securityContext"] == webhook["containers"][0]["securityContext"]
    assert {volume["name"] for volume in pod()["volumes"]} == {mount["name"] for mount in container()["volumeMounts"]}


def test_the_probes_use_existing_paths() -> None:
    server = HealthServer("127.0.0.1", 0, list, list, CollectorRegistry())
    (port,) = [each for each in container()["ports"] if each["name"] == "health"]
    try:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = container()[probe]["httpGet"]
            assert server.answer(asked["path"])[0] == 200
            assert asked["port"] == port["name"]
    finally:
        server.server_close()
    assert f"--port={port['containerPort']}" in container()["args"]


def test_the_arguments_are_options_of_the_command() -> None:
    flags = {flag for option in command.params for flag in option.opts}

    assert {arg.partition("=")[0] for arg in container()["args"] if arg.startswith("--")} <= flags


def test_the_shipped_configuration_has_no_unused_key() -> None:
    (text,) = only("ConfigMap")["data"].values()

    assert read_configured(yaml.safe_load(text)).idle == ()
