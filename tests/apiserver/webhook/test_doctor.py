"""`quotree doctor` against a real API server: everything is fine, then each fault is made for real."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from certs.pki import KeyPair, new_authority, new_server
from certs.secret import from_data
from cli.exits import Exit
from reconciler.objects.stored import Stored
from reconciler.shards.claims import LABEL, TreeClaim, claim_status
from tests.apiserver import build
from tests.apiserver.audits.report_kinds import policy_reports
from tests.apiserver.harness import ApiError, ControlPlane, User
from tests.apiserver.manifests import define
from tests.apiserver.webhook.guard import ROOT, Guard
from tests.builders import cluster_queue, cohort, manifest
from tests.cli.runs import run
from tests.waiting import eventually

READER = "reader"
SYSTEM = "quotree-system"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{SYSTEM}/deployments"
LEDGER = f"/api/v1/namespaces/{SYSTEM}/configmaps/quotree-ledger"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{SYSTEM}/endpointslices"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
COMPONENTS = ("reconciler", "reconciler-part", "audit", "dashboard", "dashboard-audit")
HELD = ("quotree-reconciler", "quotree-reconciler-batch", "quotree-audit")
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/quotree-validate"
API_SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.visibility.quotree.dev"
MERGE = "application/merge-patch+json"


class Installed:
    """The base with all components. The webhook runs as a process; of the others only the objects exist that they and
    a kubelet would write."""

    def __init__(self, control_plane: ControlPlane, guard: Guard) -> None:
        self.guard = guard
        self.request = control_plane.request
        self.kubeconfig = control_plane.kubeconfig_for
        for each in self.request("GET", DEPLOYMENTS)["items"]:
            replicas = each["spec"]["replicas"]
            status = {"status": {"replicas": replicas, "readyReplicas": replicas}}
            self.request("PATCH", f"{DEPLOYMENTS}/{each['metadata']['name']}/status", status, content_type=MERGE)
        self.request("DELETE", API_SERVICE)  # nobody answers for it here
        for name in ("webhook", "reconciler", "audit", "dashboard"):
            self.request("POST", SLICES, endpoint_slice(f"quotree-{name}"))
        for lease in HELD:
            self.request("POST", LEASES, self.lease(lease, 0))

    def lease(self, name: str, age: float) -> dict[str, Any]:
        renewed = datetime.now(UTC) - timedelta(seconds=age)
        spec = {"holderIdentity": "pod-1", "leaseDurationSeconds": 300, "renewTime": f"{renewed:%Y-%m-%dT%H:%M:%S.%fZ}"}
        return manifest("coordination.k8s.io/v1", "Lease", name, spec, namespace=SYSTEM)

    def renew(self, age: float = 0) -> None:
        for lease in HELD:
            spec = {"spec": self.lease(lease, age)["spec"]}
            self.request("PATCH", f"{LEASES}/{lease}", spec, content_type=MERGE)

    def doctor(
        self, *arguments: object, user: str = "admin", code: Exit | None = None
    ) -> dict[str, list[dict[str, str]]]:
        """The results by the ids of their checks."""
        metrics = f"http://127.0.0.1:{self.guard.metrics_port}/metrics"
        result = run("doctor", "--kubeconfig", self.kubeconfig(user), "--metrics", metrics, "-o", "json", *arguments)
        assert code is None or result.exit_code == code, result.output
        found: dict[str, list[dict[str, str]]] = {}
        for each in json.loads(result.stdout)["checks"]:
            found.setdefault(each["id"], []).append(each)
        return found

    def failures(self, *arguments: object) -> dict[str, str]:
        """What fails, by the id, with the first message."""
        self.renew()
        return {
            id: next(each["message"] for each in results if each["state"] == "failure")
            for id, results in self.doctor(*arguments).items()
            if any(each["state"] == "failure" for each in results)
        }


@pytest.fixture(scope="module")
def installed(programs: build.Programs) -> Iterator[Installed]:
    with (
        ControlPlane(users=[User(READER, ())]) as control_plane,
        Guard(control_plane, "", *COMPONENTS) as guard,
    ):
        define(control_plane, policy_reports())
        yield Installed(control_plane, guard)


def endpoint_slice(service: str) -> dict[str, Any]:
    """With one replica, as Kubernetes makes it of a Pod."""
    meta = manifest("discovery.k8s.io/v1", "EndpointSlice", f"{service}-1", namespace=SYSTEM)
    meta["metadata"]["labels"] = {"kubernetes.io/service-name": service}
    ready = {"addresses": ["10.0.0.1"], "conditions": {"ready": True}}
    return {**meta, "addressType": "IPv4", "endpoints": [ready], "ports": [{"name": "api", "port": 8443}]}


@contextmanager
def changed(installed: Installed, path: str, body: Any, back: Any, content_type: str = MERGE) -> Iterator[None]:
    installed.request("PATCH", path, body, content_type=content_type)
    try:
        yield
    finally:
        installed.request("PATCH", path, back, content_type=content_type)


def deleted(installed: Installed, path: str) -> bool:
    try:
        installed.request("DELETE", path)
    except ApiError as error:
        return error.status == 404
    return True


@contextmanager
def absent(installed: Installed, path: str) -> Iterator[None]:
    """It is deleted, and is there again afterwards."""
    found = installed.request("GET", path)
    for key in ("resourceVersion", "uid", "managedFields", "creationTimestamp"):
        found["metadata"].pop(key, None)
    found.pop("immutable", None)
    installed.request("DELETE", path)
    try:
        yield
    finally:
        installed.request("POST", path.rpartition("/")[0], found)


def test_a_complete_installation_passes_all_checks(installed: Installed) -> None:
    installed.renew()

    found = installed.doctor(code=Exit.CLEAN)

    states = {id: {each["state"] for each in results} for id, results in found.items()}
    assert {id for id, each in states.items() if each == {"ok"}} >= {
        *("api-server", "clock", "crds", "replicas", "versions", "webhook-configurations", "ca-bundle"),
        *("webhook-answers", "cache-age", "ledger", "reconciler-lease", "kueue-manager"),
        *("endpoints", "audit-lease", "reports"),
    }
    assert states["rbac"] == states["certificate-expiry"] == {"ok", "skipped"}  # no reconciler has made its certificate
    assert states["workers"] == states["api-service"] == states["kueue-version"] == {"skipped"}
    assert [id for id, each in states.items() if "warning" in each] == ["parts"]
    assert states["parts"] == {"ok", "warning"}  # batch runs, and no root names it
    assert states["dashboard"] == {"ok", "skipped"}  # the reconciler has no certificate that the dashboard could trust


def test_a_missing_role_binding_and_then_an_empty_ca_bundle_are_reported(installed: Installed) -> None:
    """Without its rights the webhook cannot restore the caBundle; with them it does so at once."""
    with absent(installed, f"{BINDINGS}/quotree-webhook-certificates"):
        eventually(lambda: "rbac" in installed.failures(), lambda: "RBAC still allows it")
        assert "quotree-webhook may not get validatingwebhookconfigurations" in installed.failures()["rbac"]
        emptied = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
        installed.request("PATCH", VALIDATING, emptied, content_type="application/json-patch+json")
        found = eventually(
            lambda: {} if "webhook-answers" not in (failing := installed.failures()) else failing,
            lambda: "the API server still trusts the webhook",
        )
        assert found["ca-bundle"] == "its caBundle is empty, so no call succeeds"
        assert "x509" in found["webhook-answers"]
        assert {"ca-bundle", "rbac", "webhook-answers"} == found.keys()
    eventually(lambda: installed.doctor()["ca-bundle"][0]["state"] == "ok", lambda: "nobody put it back")


def test_a_certificate_about_to_expire_is_a_warning(installed: Installed) -> None:
    path = f"/api/v1/namespaces/{SYSTEM}/secrets/quotree-webhook-certificate"
    data = {key: base64.b64decode(text) for key, text in installed.request("GET", path)["data"].items()}
    bundle = from_data(data)
    assert bundle is not None
    served = new_server(bundle.signer, ["127.0.0.1"], datetime.now(UTC), timedelta(minutes=5))

    with tls_server(served) as port:
        found = installed.doctor("--webhook", f"127.0.0.1:{port}")

    assert {each["state"] for each in found["ca-bundle"]} == {"ok"}
    assert found["certificate-expiry"][0]["state"] == "warning"
    assert "in 0.1 hours, and was not renewed" in found["certificate-expiry"][0]["message"]


def test_an_expired_certificate_of_the_reconciler_is_reported(installed: Installed) -> None:
    past = datetime.now(UTC) - timedelta(days=40)
    pair = new_server(new_authority("any", past, timedelta(days=60)), ["any"], past, timedelta(days=30))
    data = {"tls.crt": base64.b64encode(pair.certificate).decode()}
    secrets = f"/api/v1/namespaces/{SYSTEM}/secrets"
    body = {**manifest("v1", "Secret", "quotree-reconciler-certificate", namespace=SYSTEM), "data": data}
    installed.request("POST", secrets, body)
    try:
        found = installed.failures()
        assert "expired at" in found["certificate-expiry"]
        assert "Secret quotree-system/quotree-reconciler-certificate has no ca.crt" in found["dashboard"]
    finally:
        installed.request("DELETE", f"{secrets}/quotree-reconciler-certificate")


def test_a_certificate_of_an_untrusted_authority_is_reported(installed: Installed) -> None:
    authority = new_authority("Stranger", datetime.now(UTC), timedelta(days=1))

    with tls_server(new_server(authority, ["127.0.0.1"], datetime.now(UTC), timedelta(days=1))) as port:
        found = installed.failures("--webhook", f"127.0.0.1:{port}")

    assert "does not trust what 127.0.0.1" in found["ca-bundle"]


def test_an_unavailable_api_service_is_reported(installed: Installed) -> None:
    service = yaml.safe_load((ROOT / "manifests" / "components" / "reconciler" / "api-service.yaml").read_text())

    def is_told() -> bool:
        (result,) = installed.doctor(code=Exit.FINDINGS)["api-service"]
        (condition,) = installed.request("GET", API_SERVICE)["status"]["conditions"]
        assert condition["status"] == "False"
        return f"is not available ({condition['reason']}: {condition['message']})" in result["message"]

    installed.request("POST", API_SERVICE.rpartition("/")[0], service)
    try:
        eventually(lambda: installed.request("GET", API_SERVICE)["status"].get("conditions"))
        eventually(is_told)  # the API server tries again, and its message changes
        (result,) = installed.doctor(code=Exit.FINDINGS)["api-service"]
    finally:
        installed.request("DELETE", API_SERVICE)

    assert result["fix"].endswith("or kubectl delete apiservice v1alpha1.visibility.quotree.dev")
    assert [each["state"] for each in installed.doctor()["api-service"]] == ["skipped"]


def test_a_stale_lease_and_a_missing_lease_are_reported(installed: Installed) -> None:
    installed.renew(age=72_000)
    stale = installed.doctor(code=Exit.FINDINGS)["reconciler-lease"][0]
    with absent(installed, f"{LEASES}/quotree-reconciler"):
        gone = installed.doctor(code=Exit.FINDINGS)["reconciler-lease"][0]

    assert "pod-1 holds it and renewed it 72" in stale["message"]
    assert gone["message"] == "does not exist: no replica has ever led"


def test_a_stopped_shard_that_still_claims_a_tree_is_reported(installed: Installed) -> None:
    root = {**cohort("research"), "metadata": {"name": "research", "labels": {LABEL: "batch"}}}
    installed.request("POST", f"{KUEUE}/cohorts", root)
    installed.request("POST", f"{KUEUE}/clusterqueues", cluster_queue("vision", "research"))
    status = {"status": claim_status(Stored(), TreeClaim("batch", in_status=True), 10**18)}
    try:
        installed.request("PATCH", f"{KUEUE}/clusterqueues/vision/status", status, content_type=MERGE)
        installed.renew()
        running = installed.doctor(code=Exit.CLEAN)["parts"]
        with absent(installed, f"{LEASES}/quotree-reconciler-batch"):
            gone = installed.doctor(code=Exit.FINDINGS)["parts"]
    finally:
        bare = {"metadata": {"finalizers": None}}  # no reconciler is here to take it off
        installed.request("PATCH", f"{KUEUE}/clusterqueues/vision", bare, content_type=MERGE)
        installed.request("DELETE", f"{KUEUE}/clusterqueues/vision")
        eventually(
            lambda: deleted(installed, f"{KUEUE}/cohorts/research")
        )  # once the webhook has seen that it is empty

    assert [(each["subject"], each["state"]) for each in running] == [("part batch", "ok"), ("part default", "ok")]
    assert "it does not run, and it holds vision" in gone[0]["message"]


def test_missing_rights_of_the_audit_and_the_dashboard_are_reported(installed: Installed) -> None:
    """The dashboard lacks the rights that it needs behind a proxy."""
    path = f"{DEPLOYMENTS}/quotree-dashboard"
    container = "/spec/template/spec/containers/0/args/-"
    arguments = [{"op": "add", "path": container, "value": "--trusted-proxy=10.0.0.0/8"}]
    installed.request("PATCH", path, arguments, content_type="application/json-patch+json")
    installed.request("DELETE", f"{SLICES}/quotree-audit-1")
    with absent(installed, f"{BINDINGS}/quotree-audit"):
        eventually(lambda: "rbac" in installed.failures(), lambda: "RBAC still allows it")
        found = installed.doctor()

    assert any("quotree-audit may not list cohorts" in each["message"] for each in found["rbac"])
    assert "may not impersonate any of the users and groups" in found["dashboard"][-1]["message"]
    assert [each["subject"] for each in found["endpoints"] if each["state"] == "failure"] == [
        "Service quotree-system/quotree-audit"
    ]


def test_a_kueue_manager_that_runs_beside_the_reconciler_is_reported(installed: Installed) -> None:
    lease = installed.lease("c1f6bfd2.kueue.x-k8s.io", 0)
    installed.request("POST", LEASES, lease)
    try:
        assert "Kueue's manager runs (pod-1)" in installed.failures()["kueue-manager"]
    finally:
        installed.request("DELETE", f"{LEASES}/c1f6bfd2.kueue.x-k8s.io")


def test_an_immutable_ledger_and_a_missing_ledger_are_reported(installed: Installed) -> None:
    installed.request("PATCH", LEDGER, {"immutable": True}, content_type=MERGE)
    refused = installed.failures()["ledger"]
    with absent(installed, LEDGER):
        gone = installed.failures()["ledger"]

    assert "immutable" in refused
    assert gone == "does not exist, so no tree can be changed"
    assert installed.doctor()["ledger"][0]["state"] == "ok"


def test_pods_that_were_created_without_the_webhook_are_reported(installed: Installed) -> None:
    settings, pods = f"/api/v1/namespaces/{SYSTEM}/configmaps/quotree-configuration", "/api/v1/namespaces/default/pods"
    before = installed.request("GET", settings)["data"]
    managed = yaml.safe_load(before["configuration.yaml"]) | {"kueue": {"manageJobs": True, "managePods": True}}
    spec = {"containers": [{"name": "a", "image": "a"}]}
    for name, labels in {"late": {}, "gated": {"kueue.x-k8s.io/managed": "true"}, "ended": {}}.items():
        pod = manifest("v1", "Pod", name, spec, namespace="default")
        pod["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "main", **labels}
        installed.request("POST", pods, pod)
    installed.request("PATCH", f"{pods}/ended/status", {"status": {"phase": "Succeeded"}}, content_type=MERGE)
    try:
        data = {"data": {"configuration.yaml": yaml.safe_dump(managed)}}
        with changed(installed, settings, data, {"data": before}):
            (found,) = installed.doctor()["ungated-pods"]
    finally:
        for name in ("late", "gated", "ended"):
            installed.request("DELETE", f"{pods}/{name}", {"gracePeriodSeconds": 0})

    assert (found["state"], found["message"].rpartition(": ")[2]) == ("warning", "default/late")
    assert [each["state"] for each in installed.doctor()["ungated-pods"]] == ["skipped"]


def test_a_worker_cluster_that_is_not_connected_is_reported(installed: Installed) -> None:
    clusters = "/apis/kueue.x-k8s.io/v1beta2/multikueueclusters"
    spec = {"clusterSource": {"kubeConfig": {"location": "east", "locationType": "Secret"}}}
    condition = {"type": "Active", "status": "False", "reason": "ClientConnectionFailed", "message": "no route to host"}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    installed.request("POST", clusters, manifest("kueue.x-k8s.io/v1beta2", "MultiKueueCluster", "east", spec))
    try:
        status = {"status": {"conditions": [condition]}}
        installed.request("PATCH", f"{clusters}/east/status", status, content_type=MERGE)
        assert "ClientConnectionFailed: no route to host" in installed.failures()["workers"]
    finally:
        installed.request("DELETE", f"{clusters}/east")


def test_replicas_that_are_not_ready_are_reported(installed: Installed) -> None:
    path = f"{DEPLOYMENTS}/quotree-reconciler/status"
    with changed(installed, path, {"status": {"readyReplicas": None}}, {"status": {"readyReplicas": 2}}):
        assert installed.failures()["replicas"] == "no replica of 2 is ready"


def test_each_check_is_skipped_with_a_reason_for_a_user_without_rights(installed: Installed) -> None:
    found = installed.doctor(user=READER, code=Exit.CLEAN)

    looked = {id for id, results in found.items() if any(each["state"] != "skipped" for each in results)}
    assert looked == {"api-server", "clock", "cache-age"}
    assert "cannot list resource" in found["crds"][0]["message"]
    assert all("cannot" in each["message"] for id, (each, *_) in found.items() if id not in looked)


def test_a_stopped_webhook_is_reported(installed: Installed) -> None:
    installed.guard.stop()
    try:
        found = installed.failures()
    finally:
        installed.guard.start()

    assert "connection refused" in found["webhook-answers"]
    assert "the webhook serves nothing" in found["ca-bundle"]
    assert "cannot find out" in found["cache-age"]


@contextmanager
def tls_server(pair: KeyPair) -> Iterator[int]:
    """Serves this certificate on loopback; its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "both.pem").write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(Path(folder) / "both.pem")
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plain = listener.accept()[0]
            except OSError:
                return  # closed
            with suppress(OSError), plain, context.wrap_socket(plain, server_side=True) as secured:
                secured.recv(1)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
