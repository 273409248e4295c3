"""What doctor reads about the processes other than the webhook, tested on the shipped manifests."""

from __future__ import annotations

import base64
import socket
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from certs.pki import new_authority, new_server
from cli.actions.doctor import diagnose
from cli.doctor.checks.certificates import certificate_expiry, secret_of
from cli.doctor.checks.dashboard import check_impersonation, check_trust, dashboard, service_of
from cli.doctor.checks.health import cache_age, check_audit
from cli.doctor.checks.kueue_version import check_version
from cli.doctor.checks.leases import kueue_manager, lease_of_process, reconciler_lease
from cli.doctor.checks.replicas import replicas
from cli.doctor.checks.reports import ReportKeeper, check_reports, reports
from cli.doctor.checks.rights import account_of, of_part, rbac, roles
from cli.doctor.checks.services import api_service, check_service, endpoints
from cli.doctor.served import from_secret
from cli.doctor.target import option, part_of
from cluster.reviews import Access
from policies.audit.reports import OPEN_REPORTS
from policies.configuration.kueue.gates import KueueVersion
from policies.takeover.objects import LEASE, ObjectRef
from tests.builders import manifest
from tests.cli.doctor.objects import NOW, SYSTEM, secret, service, target

MANIFESTS = Path(__file__).parents[3] / "manifests"


def deployment(component: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((MANIFESTS / "components" / component / "deployment.yaml").read_text())
    return found


def started(*arguments: str, **pod: Any) -> dict[str, Any]:
    container = {"args": list(arguments), "volumeMounts": pod.pop("mounts", [])}
    return {"spec": {"template": {"spec": {"containers": [container], **pod}}}}


@pytest.mark.parametrize(
    ("image", "state", "says"),
    [
        ("registry.k8s.io/kueue/kueue:v0.19.2", "ok", "is Kueue 0.19.2, as configured"),
        ("registry.k8s.io/kueue/kueue:v0.20.1", "warning", "is Kueue 0.20.1, and feature gates are those of 0.19"),
        ("registry.k8s.io/kueue/kueue:v0.21.0", "warning", "is Kueue 0.21.0, and feature gates are those of 0.19"),
        ("registry.k8s.io/kueue/kueue@sha256:0", "skipped", "its version is unknown"),
        (None, "skipped", "does not exist"),
    ],
)
def test_the_installed_version_of_kueue_is_compared_with_the_configured_one(
    image: str | None, state: str, says: str
) -> None:
    pod = {"containers": [{"name": "manager", "image": image}]}
    manager = {"metadata": {}, "spec": {"template": {"spec": pod}}} if image else None

    found = check_version("Deployment kueue-system/kueue-controller-manager", manager, KueueVersion.V0_19)

    assert (found.state, found.message.startswith(says)) == (state, True)
    if state == "warning":
        assert found.fix.startswith('set kueueVersion: "0.20"' if "0.20" in says else "Quotree knows 0.19 and 0.20")


def test_option_is_read_with_equals_sign_and_with_space() -> None:
    both = started("serve", "reconciler", "--mode=observe", "--part", "batch", "--last")

    assert [option(both, name) for name in ("--mode", "--part", "--last", "--par")] == ["observe", "batch", "", None]
    assert option(None, "--mode") is None


def test_last_of_two_equal_options_is_used() -> None:
    """A Kustomize component appends its arguments to the existing ones."""
    assert option(started("--mode=manage", "--mode=observe"), "--mode") == "observe"


def test_part_is_read_from_the_reconciler_arguments() -> None:
    assert part_of(deployment("reconciler-part")) == "batch"
    assert [part_of(deployment(each)) for each in ("reconciler", "audit")] == ["", ""]
    assert part_of(started("serve", "reconciler", "--part=default")) == ""
    assert part_of(started("an", "operator", "--part=batch")) == ""


def test_certificate_secret_is_read_from_an_option_or_a_volume() -> None:
    folder = {"name": "certs", "mountPath": "/certs"}
    volume = {"name": "certs", "secret": {"secretName": "from-cert-manager"}}

    assert secret_of(deployment("audit")) == "quotree-audit-certificate"
    assert secret_of(deployment("dashboard")) == "quotree-dashboard-certificate"
    supplied = started("--api-certs=/certs", "--supplied", mounts=[folder], volumes=[volume])
    assert secret_of(supplied) == "from-cert-manager"
    assert secret_of(started("--certs=/certs", mounts=[folder], volumes=[{"name": "certs", "emptyDir": {}}])) is None
    assert secret_of(None) is None


def test_lease_is_read_from_the_arguments_of_the_process() -> None:
    usual = ObjectRef("Lease", "any", SYSTEM)

    assert lease_of_process(deployment("audit"), usual) == ObjectRef("Lease", "quotree-audit", SYSTEM)
    assert lease_of_process(started("--lease=lab/mine"), usual) == ObjectRef("Lease", "mine", "lab")
    assert lease_of_process(started("--lease=mine"), usual) == usual
    assert lease_of_process(None, usual) == usual


def test_observing_reconciler_is_not_reported_as_absent() -> None:
    observer = target({}, reconciler=started("--mode=observe"))

    messages = [each.message for each in kueue_manager.run(observer)]
    assert messages == ["Kueue's manager does not run, and no reconciler would write"]


def test_the_metrics_of_the_webhook_are_read_at_its_own_port() -> None:
    pods = f"/api/v1/namespaces/{SYSTEM}/pods"
    shown = {
        f"{pods}/w": manifest("v1", "Pod", "w", {}, status={"phase": "Running"}),
        f"{pods}/w:9090/proxy/metrics": "quotree_cache_synced 1.0\nquotree_cache_age_seconds 3.5\n",
    }
    checked = target(shown, webhook=started("--metrics-port=9090"))
    assert [each.state.value for each in cache_age.run(checked)] == ["ok"]

    del shown[f"{pods}/w:9090/proxy/metrics"]
    (missed,) = cache_age.run(target(shown, webhook=started("--metrics-port=9090")))
    assert missed.fix.endswith("deployment/quotree-webhook 9090 &, and --metrics http://127.0.0.1:9090/metrics")


def test_a_port_that_does_not_serve_http_has_no_metrics() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            with listening.accept()[0] as connection:
                connection.sendall(b"SSH-2.0-OpenSSH\r\n")
                connection.recv(1000)

        thread = threading.Thread(target=greet)
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/metrics"
        checked = target({})
        checked.metrics = address
        ((_, result),) = diagnose(checked, [cache_age]).results
        thread.join()

    assert result.message == f"cannot find out: --metrics {address}: SSH-2.0-OpenSSH\r\n"


def test_roles_of_audit_and_dashboard_have_the_shipped_rights() -> None:
    by_process = {process: [each for each in roles() if each.process == process] for process in ("audit", "dashboard")}

    assert [each.name for each in by_process["audit"]] == ["quotree-audit", "quotree-audit-yunikorn", "quotree-audit"]
    audit = {access for each in by_process["audit"] for access in each.accesses}
    assert Access("delete", "openreports.io", "clusterreports") in audit
    assert Access("patch", "", "secrets", namespace=SYSTEM, name="quotree-dashboard-certificate") in {
        access for each in by_process["dashboard"] for access in each.accesses
    }
    assert account_of(deployment("audit"), SYSTEM).name == f"system:serviceaccount:{SYSTEM}:quotree-audit"
    assert account_of(started(), "lab").name == "system:serviceaccount:lab:default"


@pytest.mark.parametrize(("before", "failures"), [(None, 4), ("2", 0)])
def test_cluster_returned_to_kueue_is_healthy(before: str | None, failures: int) -> None:
    shipped = deployment("reconciler")
    shipped["spec"]["replicas"] = 0
    shipped["metadata"]["annotations"] = {"quotree.dev/replicas-before": before} if before else {}
    lease = {"metadata": {"name": LEASE, "namespace": "kueue-system"}, "spec": {"holderIdentity": "kueue"}}
    lease["spec"]["renewTime"] = NOW.isoformat()
    cluster = target({f"/apis/coordination.k8s.io/v1/leases/{LEASE}": lease}, reconciler=shipped)

    checks = (replicas, endpoints, reconciler_lease, kueue_manager)
    found = [each for one in checks for each in one.run(cluster)]

    assert sum(each.state.value == "failure" for each in found) == failures


@pytest.mark.parametrize(
    ("flags", "state"),
    [
        ([], "skipped"),
        (["--feature-gates=MultiKueue=true"], "ok"),
        (["--feature-gates", "MetricsForCohorts=true,MultiKueue=true"], "ok"),
        (["--feature-gates=MultiKueue=true", "--feature-gates=MultiKueue=false"], "skipped"),
    ],
)
def test_multikueue_rights_are_checked_if_the_last_feature_gate_enables_multikueue(
    flags: list[str], state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.doctor.checks.rights.missing_rights", lambda *_: [])
    shipped = deployment("reconciler")
    shipped["spec"]["template"]["spec"]["containers"][0]["args"] += flags

    found = [each for each in rbac.run(target({"/apis": {}}, reconciler=shipped)) if "multikueue" in each.subject]

    assert found
    assert {each.state.value for each in found} == {state}


@pytest.mark.parametrize(
    ("written", "namespace"),
    [("", "quotree-kubeconfigs"), ("namespace: kueue-system", "kueue-system"), ("a: [", "quotree-kubeconfigs")],
)
def test_kubeconfig_secrets_are_checked_in_the_namespace_of_the_kueue_configuration(
    written: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Access] = []
    monkeypatch.setattr("cli.doctor.checks.rights.missing_rights", lambda _, __, wanted: asked.extend(wanted) or [])
    shipped = deployment("reconciler")
    shipped["spec"]["template"]["spec"]["containers"][0]["args"] += ["--feature-gates=MultiKueue=true"]
    configuration = f"/api/v1/namespaces/{SYSTEM}/configmaps/quotree-reconciler"

    list(rbac.run(target({"/apis": {}, configuration: {"data": {"configuration.yaml": written}}}, reconciler=shipped)))

    named = {each.namespace for each in asked if (each.verb, each.resource, each.name) == ("list", "secrets", "")}
    assert named == {namespace}


def test_another_part_has_the_shipped_role_under_its_own_name() -> None:
    (shipped,) = [each for each in roles() if each.process == "part"]

    research = of_part(shipped, "research")

    assert str(research) == "Role quotree-reconciler-research"
    assert {each.name for each in research.accesses} == {"quotree-reconciler-research"}
    assert Access("update", "coordination.k8s.io", "leases", "", SYSTEM, "quotree-reconciler-research") in (
        research.accesses
    )
    assert research.file == f"{shipped.file}, with research in place of batch"
    assert of_part(shipped, "batch") == shipped


# -- Services --


def endpoint_slice(*ready: bool | None, ports: bool = True) -> dict[str, Any]:
    endpoints = [
        {"addresses": [f"10.0.0.{number}"], "conditions": {} if each is None else {"ready": each}}
        for number, each in enumerate(ready)
    ]
    return {"endpoints": endpoints, "ports": [{"name": "api", "port": 8443}] if ports else None}


@pytest.mark.parametrize(
    ("slices", "state"),
    [
        ([], "failure"),
        ([endpoint_slice(False)], "failure"),
        ([endpoint_slice(True, ports=False)], "failure"),
        ([endpoint_slice(False), endpoint_slice(True)], "ok"),
        ([endpoint_slice(None)], "ok"),
        ([{"endpoints": None}], "failure"),
    ],
)
def test_service_without_a_ready_endpoint_fails(slices: list[dict[str, Any]], state: str) -> None:
    service = manifest("v1", "Service", "quotree-audit", namespace=SYSTEM)

    assert check_service("any", service, slices, "apply it").state.value == state
    assert check_service("any", None, slices, "apply it").fix == "apply it"


def test_an_address_in_two_slices_is_one_replica() -> None:
    both = [endpoint_slice(True), endpoint_slice(True)]

    assert check_service("any", {}, both, "").message == "leads to 1 ready replica"


# -- the audit --


@pytest.mark.parametrize(
    ("synced", "age", "heard", "state"),
    [
        ("1.0", "12.5", "3.0", "ok"),
        ("1.0", "1200.0", "3.0", "ok"),
        ("1.0", "1200.1", "3.0", "warning"),
        ("1.0", "12.5", "181.0", "warning"),
        ("1.0", "12.5", "NaN", "warning"),
        ("1.0", "NaN", "3.0", "failure"),
        ("0.0", "12.5", "3.0", "failure"),
    ],
)
def test_audit_check_warns_about_an_old_audit_or_cache(synced: str, age: str, heard: str, state: str) -> None:
    shown = {"cache_synced": synced, "age_seconds": age, "cache_age_seconds": heard}
    text = "".join(f"quotree_audit_{name} {value}\n" for name, value in shown.items())

    assert check_audit("any", text, 600.0).state.value == state
    assert check_audit("any", "<html>a proxy's page</html>", 600.0).state.value == "skipped"


KEPT = ReportKeeper(installed=True)


@pytest.mark.parametrize(
    ("missing", "ours", "keeper", "state"),
    [
        ([], "", KEPT, "ok"),
        ([], "clusterreports quotree-a", KEPT, "ok"),
        (["clusterreports"], "", KEPT, "warning"),
        ([], "clusterreports quotree-a", ReportKeeper(True, True, "2026-01-01T00:00:00Z"), "warning"),
        ([], "clusterreports quotree-a", ReportKeeper(True, True), "warning"),
        ([], "", ReportKeeper(True, True), "ok"),
        ([], "clusterreports quotree-a", ReportKeeper(False), "warning"),
        ([], "", ReportKeeper(False), "skipped"),
    ],
)
def test_report_check_warns_of_stale_reports(missing: list[str], ours: str, keeper: ReportKeeper, state: str) -> None:
    result = check_reports(OPEN_REPORTS, missing, ours, keeper)

    assert (result.state.value, bool(result.fix)) == (state, state == "warning")


def report_kind(plural: str, version: str = "v1alpha1") -> dict[str, dict[str, Any]]:
    """Its definition, by path."""
    name = f"{plural}.openreports.io"
    spec = {"versions": [{"name": version, "served": True}]}
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
    return {path: manifest("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, spec)}


def test_reports_that_an_audit_left_behind() -> None:
    kinds = {**report_kind("reports"), **report_kind("clusterreports")}
    page = "/apis/openreports.io/v1alpha1"
    ours = manifest("openreports.io/v1alpha1", "Report", "quotree-in-no-tree", namespace="team")
    theirs = manifest("openreports.io/v1alpha1", "ClusterReport", "scanner")
    held = {**kinds, f"{page}/reports": {"items": [ours]}, f"{page}/clusterreports": {"items": [theirs]}}

    (left,) = reports.run(target(held))
    assert (left.state.value, left.message.split(" and ")[0]) == ("warning", "reports team/quotree-in-no-tree")
    assert "kubectl delete -A -l app.kubernetes.io/managed-by=quotree reports.openreports.io," in left.fix

    held[f"{page}/reports"] = {"items": []}
    (foreign,) = reports.run(target(held))
    assert (foreign.state.value, foreign.message) == ("skipped", "the audit is not installed")


def test_a_kind_of_reports_that_is_missing_or_served_in_another_version() -> None:
    empty = {f"/apis/openreports.io/v1alpha1/{plural}": {"items": []} for plural in ("reports", "clusterreports")}
    kinds = {**report_kind("reports"), **report_kind("clusterreports", "v2")}

    (half,) = reports.run(target({**kinds, **empty}, audit=deployment("audit")))
    (none,) = reports.run(target({}, audit=deployment("audit")))

    assert (half.state.value, "lacks clusterreports.v1alpha1.openreports.io" in half.message) == ("warning", True)
    assert (none.state.value, "neither OpenReports nor PolicyReports" in none.message) == ("skipped", True)


def test_certificate_expiry_of_all_processes_is_checked() -> None:
    certificate = secret("quotree-audit-certificate")
    held = {certificate: certified("audit", days=1)}

    found = list(certificate_expiry.run(target(held, audit=deployment("audit"), dashboard=deployment("dashboard"))))

    assert [each.state.value for each in found] == ["skipped", "warning", "skipped"]
    assert found[1].subject == f"certificate of Secret {SYSTEM}/quotree-audit-certificate"
    assert found[2].fix == f"see the logs of Deployment {SYSTEM}/quotree-dashboard"


# -- the dashboard --


def certified(component: str, days: float = 9) -> dict[str, Any]:
    """The Secret that a process keeps its certificate in, which was made a week ago."""
    week = timedelta(days=7)
    authority = new_authority("ours", NOW - week, week + timedelta(days=9))
    pair = new_server(authority, [f"quotree-{component}.{SYSTEM}.svc"], NOW - week, week + timedelta(days=days))
    data = {"ca.crt": authority.certificate, "tls.crt": pair.certificate}
    return {"data": {key: base64.b64encode(value).decode() for key, value in data.items()}}


def test_service_is_read_from_a_cluster_internal_url() -> None:
    assert service_of("https://quotree-reconciler.quotree-system.svc") == ObjectRef(
        "Service", "quotree-reconciler", SYSTEM
    )
    assert service_of("https://a.b.svc.cluster.local:8443/") == ObjectRef("Service", "a", "b")
    outside = ("https://quotree.example.dev", "https://127.0.0.1:9443", "https://localhost", "", "https://[")
    assert [service_of(each) for each in outside] == [None] * len(outside)


def test_trust_check_requires_a_certificate_signed_by_the_ca_for_the_name() -> None:
    authority, stranger = (new_authority(name, NOW, timedelta(days=9)) for name in ("ours", "stranger"))
    name = "quotree-reconciler.quotree-system.svc"
    served = from_secret("Secret any", [new_server(authority, [name], NOW, timedelta(days=9)).certificate])

    found = [
        check_trust("any", served, authority.certificate, name),
        check_trust("any", served, stranger.certificate, name),
        check_trust("any", served, authority.certificate, "other"),
        check_trust("any", served, "Secret any has no ca.crt", name),
    ]

    assert [each.state.value for each in found] == ["ok", "failure", "failure", "failure"]


def test_missing_impersonation_rights_are_a_warning() -> None:
    users, groups = Access("impersonate", "", "users"), Access("impersonate", "", "groups")

    assert check_impersonation("any", "me", []).state.value == "ok"
    missing = check_impersonation("any", "me", [users, groups])
    assert missing.state.value == "warning"
    assert "me may not impersonate any of the users and groups" in missing.message


def asked(held: dict[str, Any], **deployments: dict[str, Any]) -> list[tuple[str, str]]:
    """The results for the servers that the dashboard calls; the last result, about sign-in, is dropped."""
    *found, _ = dashboard.run(target(held, **deployments))
    return [(each.state.value, each.message) for each in found]


def test_the_shipped_dashboard_trusts_the_shipped_reconciler() -> None:
    shipped, reconciler = deployment("dashboard"), deployment("reconciler")
    held = {secret("quotree-reconciler-certificate"): certified("reconciler")}

    assert asked(held, dashboard=shipped, reconciler=reconciler) == [
        ("ok", f"is trusted with what Secret {SYSTEM}/quotree-reconciler-certificate serves")
    ]
    ((state, message),) = asked({}, dashboard=shipped, reconciler=reconciler)
    assert (state, "has no certificate" in message) == ("skipped", True)
    (nothing,) = dashboard.run(target({}))
    assert (nothing.state.value, nothing.message) == ("skipped", "the dashboard is not installed")


def test_dashboard_without_a_reachable_reconciler_api_fails() -> None:
    shipped, silent = deployment("dashboard"), deployment("reconciler")
    container = silent["spec"]["template"]["spec"]["containers"][0]
    container["args"] = [each for each in container["args"] if not each.startswith("--api")]
    left = {service("quotree-reconciler"): {}}

    assert asked({}, dashboard=shipped) == [("failure", "does not exist, so the process cannot be reached")]
    assert asked(left, dashboard=shipped) == [("failure", "leads to no replica that is ready")]
    assert asked({}, dashboard=shipped, reconciler=silent) == [("failure", "the reconciler serves no /v1")]


def test_dashboard_with_a_wrong_or_unmounted_ca_fails() -> None:
    shipped, reconciler = deployment("dashboard"), deployment("reconciler")
    mine, other = certified("reconciler"), certified("reconciler")
    volumes = shipped["spec"]["template"]["spec"]["volumes"]
    (volume,) = [each for each in volumes if each["name"] == "reconciler"]
    volume["secret"] = {"secretName": "theirs", "items": [{"key": "root.pem", "path": "ca.crt"}]}
    held = {secret("quotree-reconciler-certificate"): mine}

    ((state, message),) = asked(held, dashboard=shipped, reconciler=reconciler)
    assert (state, message.endswith("Secret quotree-system/theirs has no root.pem")) == ("failure", True)
    held[secret("theirs")] = {"data": {"root.pem": other["data"]["ca.crt"]}}
    ((state, message),) = asked(held, dashboard=shipped, reconciler=reconciler)
    assert (state, message.endswith("none of the authorities has signed it")) == ("failure", True)
    held[secret("theirs")] = {"data": {"root.pem": mine["data"]["ca.crt"]}}
    assert asked(held, dashboard=shipped, reconciler=reconciler)[0][0] == "ok"
    volumes.remove(volume)
    ((state, message),) = asked(held, dashboard=shipped, reconciler=reconciler)
    assert (state, message.endswith("/etc/reconciler/ca.crt is not mounted from a Secret")) == ("failure", True)


# -- the APIService --


@pytest.mark.parametrize(
    ("conditions", "state", "said"),
    [
        ([{"type": "Available", "status": "True", "reason": "Passed"}], "ok", "is available"),
        (
            [{"type": "Available", "status": "False", "reason": "MissingEndpoints", "message": "no addresses"}],
            "failure",
            "is not available (MissingEndpoints: no addresses); until it is, no namespace of the cluster can be",
        ),
        ([{"type": "Available", "status": "Unknown"}], "failure", "gave no reason"),
        ([], "failure", "gave no reason"),
        ("nonsense", "failure", "gave no reason"),
        (None, "skipped", "is not installed"),
    ],
)
def test_unavailable_api_service_fails(conditions: Any, state: str, said: str) -> None:
    path = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.visibility.quotree.dev"
    held = {} if conditions is None else {path: {"status": {"conditions": conditions}}}

    (result,) = api_service.run(target(held))

    assert result.state == state
    assert said in result.message
    assert ("kubectl delete apiservice v1alpha1.visibility.quotree.dev" in result.fix) is (state == "failure")
