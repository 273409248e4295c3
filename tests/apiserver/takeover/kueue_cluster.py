"""A cluster with Kueue v0.19.2 or v0.20.0 on a real API server, and Quotree installed beside it.

A stand-in for Kueue's manager converts, serves its webhooks and renews its Lease while its Deployment has replicas.
Quotree's webhook and reconciler are the real processes. The API server reaches both webhooks through Services whose
external name is localhost.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

from certs.pki import new_authority, new_server
from certs.secret import service_names
from tests.apiserver.harness import ApiError, ControlPlane
from tests.apiserver.processes import free_ports
from tests.apiserver.reconciler.shipped_reconciler import Replica
from tests.apiserver.webhook.guard import Guard
from tests.kueue_installation import CONVERTED, OURS, SYSTEM, Manifest, conversion, kueue
from webhook import conversion as converting

OLDER, NEWER = "0.19.2", "0.20.0"
SETTINGS = """\
apiVersion: config.quotree.dev/v1alpha1
kind: Configuration
profile: strict
kueue:
  manageJobs: true
  frameworks: [batch/job, jobset.x-k8s.io/jobset, trainer.kubeflow.org/trainjob, pod]
  managePods: true
"""
CONFIGURATION = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: ":8081"}
leaderElection: {leaderElect: true, leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 300ms}
integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, trainer.kubeflow.org/trainjob, pod]}
"""
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases"
LEASE = "c1f6bfd2.kueue.x-k8s.io"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"
_COLLECTIONS = {
    "APIService": "/apis/apiregistration.k8s.io/v1/apiservices",
    "ConfigMap": f"/api/v1/namespaces/{SYSTEM}/configmaps",
    "Deployment": DEPLOYMENTS.format(SYSTEM),
    "MutatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
}
MERGE = "application/merge-patch+json"


class BesideKueue(Guard):
    """Quotree's webhook, called through its Service, with Kueue's definitions."""

    def __init__(self, control_plane: ControlPlane, kueue_port: int, kueue_ca: str, version: str) -> None:
        super().__init__(control_plane, SETTINGS, "pods", "reconciler")
        self._version = version
        self._kueue = (kueue_port, kueue_ca)
        self.arguments = ()

    def _reachable(self, obj: Manifest) -> Manifest:
        if obj["kind"] == "CustomResourceDefinition":
            return self._kueues(obj)
        for webhook in obj.get("webhooks", ()):
            webhook["clientConfig"]["service"]["port"] = self.port
        if obj["kind"] == "Service" and obj["metadata"]["name"] == "quotree-webhook":
            obj["spec"] = {"type": "ExternalName", "externalName": "localhost"}
        if obj["kind"] == "ConfigMap" and obj["metadata"]["name"] == "quotree-configuration":
            obj["data"] = {"configuration.yaml": SETTINGS}
        return obj

    def _kueues(self, definition: Manifest) -> Manifest:
        """Without our label and converted by Kueue's manager; v0.20 serves only one version."""
        definition["metadata"].pop("labels", None)
        if definition["spec"].pop("conversion", None) is not None:
            self._converted.append(definition["metadata"]["name"])
        port, ca = self._kueue
        if self._version == NEWER and definition["spec"]["group"] == "kueue.x-k8s.io":
            spec = definition["spec"]
            spec["versions"] = [each for each in spec["versions"] if each["name"] == "v1beta2"]
            self._converted = [name for name in self._converted if name != definition["metadata"]["name"]]
        elif definition["spec"]["names"]["plural"] in CONVERTED:
            made = conversion()
            made["webhook"]["clientConfig"]["caBundle"] = ca
            made["webhook"]["clientConfig"]["service"]["port"] = port
            definition["spec"]["conversion"] = made
        elif definition["metadata"]["name"] in self._converted:
            self._converted.remove(definition["metadata"]["name"])
        return definition


class Manager:
    """A stand-in for Kueue's manager, from `start` to `stop`. `asked`: the webhook paths that were called."""

    def __init__(self, server: ControlPlane, folder: Path) -> None:
        folder.mkdir()
        self.server, (self.port,) = server, free_ports(1)
        authority = new_authority("kueue", datetime.now(UTC), timedelta(days=1))
        names = ("localhost", *service_names("kueue-webhook-service", SYSTEM))
        pair = new_server(authority, names, datetime.now(UTC), timedelta(days=1))
        self.ca = b64encode(authority.certificate).decode()
        (folder / "tls.crt").write_bytes(pair.certificate)
        (folder / "tls.key").write_bytes(pair.key)
        self._folder = folder
        self._http: ThreadingHTTPServer | None = None
        self._ends = threading.Event()
        self._threads: list[threading.Thread] = []
        self.asked: list[str] = []

    def start(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._folder / "tls.crt", self._folder / "tls.key")
        self._ends.clear()
        self._http = ThreadingHTTPServer(("127.0.0.1", self.port), _handler(self.asked))
        self._http.daemon_threads = True
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._threads = [
            threading.Thread(target=self._http.serve_forever, args=(0.05,)),
            threading.Thread(target=self._renew),
        ]
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        """Does not release the Lease: others wait until it expires."""
        if self._http is None:
            return
        self._ends.set()
        self._http.shutdown()
        for each in self._threads:
            each.join()
        self._http.server_close()
        self._http = None

    def _renew(self) -> None:
        while not self._ends.is_set():
            lease(self.server, "kueue-0")
            self._ends.wait(0.5)


def lease(server: ControlPlane, holder: str) -> None:
    renewed = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime())}.{time.time_ns() % 1_000_000_000 // 1000:06d}Z"
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 3}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": LEASE}, "spec": spec}
    try:
        server.request("PATCH", f"{LEASES}/{LEASE}", body, content_type=MERGE)
    except ApiError:
        server.request("POST", LEASES, body)


def _handler(asked: list[str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            path = self.path.partition("?")[0]
            asked.append(path)
            if path == "/convert":
                answer = converting.perform(converting.parse(body)).body()
            else:
                review = json.loads(body)
                response = {"uid": review["request"]["uid"], "allowed": True}
                answer = json.dumps(
                    {**{key: review[key] for key in ("apiVersion", "kind")}, "response": response}
                ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    return Handler


class Installed(Replica):
    """Quotree's reconciler with the configuration in its ConfigMap at start."""

    def __init__(self, server: ControlPlane, folder: Path) -> None:
        found = server.request("GET", f"/api/v1/namespaces/{OURS}/configmaps/quotree-reconciler")
        self.written = yaml.safe_load(found["data"]["configuration.yaml"])
        super().__init__(server, folder, configuration=self.written, environment={})


class Kubelet:
    """Runs one process per Deployment that asks for replicas, and reports it in the status."""

    def __init__(self, server: ControlPlane, manager: Manager, folder: Path) -> None:
        self.server, self.manager, self._folder = server, manager, folder
        self.replicas: list[Installed] = []
        self._running: dict[str, bool] = {}
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.failed: list[str] = []

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ends.set()
        self._thread.join()
        self.manager.stop()
        for each in self.replicas:
            each.close()

    @property
    def reconciler(self) -> Installed | None:
        """The running process."""
        return self.replicas[-1] if self._running.get("quotree-reconciler") else None

    def _run(self) -> None:
        while not self._ends.wait(0.1):
            try:
                self._look(SYSTEM, "kueue-controller-manager", self.manager.start, self.manager.stop, lambda: True)
                self._look(OURS, "quotree-webhook", lambda: None, lambda: None, lambda: True)
                self._look(OURS, "quotree-reconciler", self._reconcile, self._end, self._ready)
            except (ApiError, OSError) as error:  # a process that does not answer in time is checked again
                self.failed.append(str(error))

    def _look(
        self,
        namespace: str,
        name: str,
        start: Callable[[], object],
        stop: Callable[[], object],
        ready: Callable[[], bool],
    ) -> None:
        path = f"{DEPLOYMENTS.format(namespace)}/{name}"
        found = self.server.request("GET", path)
        wanted = found["spec"]["replicas"]
        if bool(wanted) != self._running.get(name, False):
            self._running[name] = bool(wanted)
            (start if wanted else stop)()
        count = wanted if wanted and ready() else 0
        status = {
            "observedGeneration": found["metadata"]["generation"],
            "replicas": wanted,
            "updatedReplicas": wanted,
            "readyReplicas": count,
            "availableReplicas": count,
        }
        if {key: found.get("status", {}).get(key, 0) for key in status} != status:
            self.server.request("PATCH", f"{path}/status", {"status": status}, content_type=MERGE)

    def _reconcile(self) -> None:
        self.replicas.append(Installed(self.server, self._folder / f"reconciler-{len(self.replicas)}"))

    def _end(self) -> None:
        self.replicas[-1].end()

    def _ready(self) -> bool:
        return self.replicas[-1].ready


def install_kueue(server: ControlPlane, manager: Manager, version: str) -> None:
    """Kueue's manifests except its CustomResourceDefinitions."""
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": SYSTEM}})
    service = {"type": "ExternalName", "externalName": "localhost"}
    named = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kueue-webhook-service"}, "spec": service}
    server.request("POST", f"/api/v1/namespaces/{SYSTEM}/services", named)
    for each in kueue(f"registry.k8s.io/kueue/kueue:v{version}", CONFIGURATION):
        for webhook in each.get("webhooks", ()):
            webhook["clientConfig"]["caBundle"] = manager.ca
            webhook["clientConfig"]["service"]["port"] = manager.port
            webhook["rules"] = [{**rule, "operations": ["CREATE"]} for rule in webhook["rules"]]
        server.request("POST", _COLLECTIONS[each["kind"]], each)
    with suppress(ApiError):
        server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
