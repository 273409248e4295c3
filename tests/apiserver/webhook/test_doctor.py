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

from certs.pki import KeyPair, new_authority, new_server
from certs.secret import from_data
from cli.exits import Exit
from tests.apiserver import build
from tests.apiserver.harness import ControlPlane, User
from tests.apiserver.webhook.guard import Guard
from tests.builders import manifest
from tests.cli.runs import run
from tests.waiting import eventually

READER = "reader"
SYSTEM = "quotree-system"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{SYSTEM}/deployments"
LEDGER = f"/api/v1/namespaces/{SYSTEM}/configmaps/quotree-ledger"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/quotree-validate"
MERGE = "application/merge-patch+json"


class Installed:
    """The base with the reconciler; the webhook is a process here, and what a kubelet and a reconciler would write."""

    def __init__(self, control_plane: ControlPlane, guard: Guard) -> None:
        self.guard = guard
        self.request = control_plane.request
        self.kubeconfig = control_plane.kubeconfig_for
        for name, replicas in (("quotree-webhook", 3), ("quotree-reconciler", 2)):
            status = {"status": {"replicas": replicas, "readyReplicas": replicas}}
            self.request("PATCH", f"{DEPLOYMENTS}/{name}/status", status, content_type=MERGE)
        self.request("POST", LEASES, self.lease("quotree-reconciler", 0))

    def lease(self, name: str, age: float) -> dict[str, Any]:
        renewed = datetime.now(UTC) - timedelta(seconds=age)
        spec = {"holderIdentity": "pod-1", "leaseDurationSeconds": 15, "renewTime": f"{renewed:%Y-%m-%dT%H:%M:%S.%fZ}"}
        return manifest("coordination.k8s.io/v1", "Lease", name, spec, namespace=SYSTEM)

    def renew(self, age: float = 0) -> None:
        spec = {"spec": self.lease("quotree-reconciler", age)["spec"]}
        self.request("PATCH", f"{LEASES}/quotree-reconciler", spec, content_type=MERGE)

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
            for id, results in self.doctor(*arguments, code=Exit.FINDINGS).items()
            if any(each["state"] == "failure" for each in results)
        }


@pytest.fixture(scope="module")
def installed(programs: build.Programs) -> Iterator[Installed]:
    with (
        ControlPlane(users=[User(READER, ())]) as control_plane,
        Guard(control_plane, "", "reconciler") as guard,
    ):
        yield Installed(control_plane, guard)


@contextmanager
def changed(installed: Installed, path: str, body: Any, back: Any, content_type: str = MERGE) -> Iterator[None]:
    installed.request("PATCH", path, body, content_type=content_type)
    try:
        yield
    finally:
        installed.request("PATCH", path, back, content_type=content_type)


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


def test_a_whole_installation_is_fine(installed: Installed) -> None:
    installed.renew()

    found = installed.doctor("--fail-on", "warning", code=Exit.CLEAN)

    states = {id: {each["state"] for each in results} for id, results in found.items()}
    assert {id for id, each in states.items() if each == {"ok"}} >= {
        *("api-server", "clock", "crds", "replicas", "versions", "webhook-configurations", "ca-bundle"),
        *("webhook-answers", "cache-age", "ledger", "reconciler-lease", "kueue-manager"),
    }
    assert states["rbac"] == states["certificate-expiry"] == {"ok", "skipped"}  # no reconciler has made its certificate
    assert states["workers"] == {"skipped"}


def test_a_binding_that_is_gone_and_then_a_ca_bundle_that_is_empty(installed: Installed) -> None:
    """Without its rights the webhook cannot put the caBundle back, which it does at once with them."""
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
    eventually(lambda: installed.doctor()["ca-bundle"][0]["state"] == "ok", lambda: "nobody put it back", seconds=60)


def test_a_certificate_near_its_end(installed: Installed) -> None:
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


def test_the_certificate_of_the_reconciler_has_expired(installed: Installed) -> None:
    past = datetime.now(UTC) - timedelta(days=40)
    pair = new_server(new_authority("any", past, timedelta(days=60)), ["any"], past, timedelta(days=30))
    data = {"tls.crt": base64.b64encode(pair.certificate).decode()}
    secrets = f"/api/v1/namespaces/{SYSTEM}/secrets"
    body = {**manifest("v1", "Secret", "quotree-reconciler-certificate", namespace=SYSTEM), "data": data}
    installed.request("POST", secrets, body)
    try:
        assert "expired at" in installed.failures()["certificate-expiry"]
    finally:
        installed.request("DELETE", f"{secrets}/quotree-reconciler-certificate")


def test_a_certificate_of_another_authority(installed: Installed) -> None:
    authority = new_authority("Stranger", datetime.now(UTC), timedelta(days=1))

    with tls_server(new_server(authority, ["127.0.0.1"], datetime.now(UTC), timedelta(days=1))) as port:
        found = installed.failures("--webhook", f"127.0.0.1:{port}")

    assert "does not trust what 127.0.0.1" in found["ca-bundle"]


def test_a_lease_that_is_stale_and_one_that_is_gone(installed: Installed) -> None:
    installed.renew(age=600)
    stale = installed.doctor(code=Exit.FINDINGS)["reconciler-lease"][0]
    with absent(installed, f"{LEASES}/quotree-reconciler"):
        gone = installed.doctor(code=Exit.FINDINGS)["reconciler-lease"][0]

    assert "pod-1 holds it and renewed it 60" in stale["message"]
    assert gone["message"] == "does not exist: no replica has ever led"


def test_kueues_manager_beside_the_reconciler(installed: Installed) -> None:
    lease = installed.lease("c1f6bfd2.kueue.x-k8s.io", 0)
    installed.request("POST", LEASES, lease)
    try:
        assert "Kueue's manager runs (pod-1)" in installed.failures()["kueue-manager"]
    finally:
        installed.request("DELETE", f"{LEASES}/c1f6bfd2.kueue.x-k8s.io")


def test_a_ledger_that_refuses_and_one_that_is_gone(installed: Installed) -> None:
    installed.request("PATCH", LEDGER, {"immutable": True}, content_type=MERGE)
    refused = installed.failures()["ledger"]
    with absent(installed, LEDGER):
        gone = installed.failures()["ledger"]

    assert "immutable" in refused
    assert gone == "does not exist, so no tree can be changed"
    assert installed.doctor()["ledger"][0]["state"] == "ok"


def test_a_worker_that_is_not_connected(installed: Installed) -> None:
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


def test_replicas_that_are_not_ready(installed: Installed) -> None:
    path = f"{DEPLOYMENTS}/quotree-reconciler/status"
    with changed(installed, path, {"status": {"readyReplicas": None}}, {"status": {"readyReplicas": 2}}):
        assert installed.failures()["replicas"] == "no replica of 2 is ready"


def test_who_may_read_nothing_gets_a_reason_for_each_check(installed: Installed) -> None:
    found = installed.doctor(user=READER, code=Exit.CLEAN)

    looked = {id for id, results in found.items() if any(each["state"] != "skipped" for each in results)}
    assert looked == {"api-server", "clock", "cache-age"}
    assert "cannot list resource" in found["crds"][0]["message"]
    assert all("cannot" in each["message"] for id, (each, *_) in found.items() if id not in looked)


def test_the_webhook_is_down(installed: Installed) -> None:
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
