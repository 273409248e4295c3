"""An installation that Prometheus watches, and its faults: webhook, two replicas of the reconciler, a worker."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from certs.pki import new_authority, new_server
from tests.apiserver.fault_proxy import FaultProxy
from tests.apiserver.harness import ApiError, ControlPlane
from tests.apiserver.jobs.batch_jobs import job
from tests.apiserver.kueue_world import KUEUE, install, queue
from tests.apiserver.monitoring.prometheus import Prometheus
from tests.apiserver.partition import Partition
from tests.apiserver.processes import Processes, free_ports
from tests.apiserver.reconciler.shipped_reconciler import CONFIGURATION, SYSTEM, Replica, login_of
from tests.apiserver.webhook.guard import QUOTREE, ROOT, Guard
from tests.builders import kueue
from tests.waiting import eventually

WEBHOOK, RECONCILER, API_SERVER = "quotree-webhook-metrics", "quotree-reconciler-metrics", "apiserver"
KUBECONFIGS, REMOTE = "quotree-kubeconfigs", "quotree-multikueue"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
ROLE = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SYSTEM}/roles/quotree-webhook"
MERGE = "application/merge-patch+json"
PULSE = {"probeSeconds": 1, "answerSeconds": 2, "longestWaitSeconds": 2}
SETTINGS = {
    "apiVersion": "config.quotree.dev/v1alpha1",
    "kind": "Configuration",
    "reconciler": {"multiKueue": {"connection": PULSE}},
}


class Installation:
    """`line` leads to the worker cluster; `proxy` stands between the reconciler and the API server."""

    def __init__(
        self, server: ControlPlane, worker: ControlPlane, guard: Guard, proxy: FaultProxy, line: Partition
    ) -> None:
        self.server = server
        self.guard = guard
        self.proxy = proxy
        self.line = line
        self.replicas: list[Replica] = []
        self._worker = worker
        self._role: Any = None

    def logs(self) -> str:
        return "\n".join([self.guard.log()[-2000:], *(each.log()[-2000:] for each in self.replicas)])

    def writer(self) -> bool:
        return sum(each.writes for each in self.replicas) == 1

    def submit(self, name: str, cpu: str = "1", queue: str = "main") -> None:
        """A Job in a LocalQueue."""
        manifest = job(name, cpu)
        manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue
        self.server.request("POST", JOBS, manifest)

    def runs(self, name: str) -> bool:
        return not self.server.request("GET", f"{JOBS}/{name}")["spec"]["suspend"]

    def edits(self, name: str) -> bool:
        """Whether a new ClusterQueue is allowed."""
        try:
            self.server.request("POST", f"{KUEUE}/clusterqueues", kueue("ClusterQueue", name, queue("org", "1")))
        except ApiError:
            return False
        return True

    def remove_workloads(self, queue: str) -> None:
        """Those of the LocalQueue: without a controller manager nobody removes what belonged to a deleted job."""
        at = f"{KUEUE}/namespaces/default/workloads"
        for each in self.server.request("GET", at)["items"]:
            if each["spec"]["queueName"] == queue:
                self.server.remove(f"{at}/{each['metadata']['name']}")

    def log_in(self, hours: int) -> None:
        """The kubeconfig of the worker leads there over the line, with a token for so many hours."""
        account, spec = "quotree-manager", {"expirationSeconds": hours * 3600}
        config = yaml.safe_load(self._worker.service_account_kubeconfig(REMOTE, account).read_text())
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        path = f"/api/v1/namespaces/{REMOTE}/serviceaccounts/{account}/token"
        config["users"][0]["user"]["token"] = self._worker.request("POST", path, asked)["status"]["token"]
        entry = config["clusters"][0]["cluster"]
        authority = _encoded(Path(entry.pop("certificate-authority")).read_bytes())
        entry |= {"server": f"https://127.0.0.1:{self.line.port}", "certificate-authority-data": authority}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "one", "namespace": KUBECONFIGS},
            "data": {"kubeconfig": _encoded(json.dumps(config).encode())},
        }
        self.server.kubectl("apply", "-f", "-", input=json.dumps(secret))

    def deny_ledger(self) -> None:
        """The webhook loses its right to write the ledger."""
        self._role = self.server.request("GET", ROLE)["rules"]
        kept = [rule for rule in self._role if "configmaps" not in rule["resources"]]
        self.server.request("PATCH", ROLE, {"rules": kept}, content_type=MERGE)

    def grant_ledger(self) -> None:
        self.server.request("PATCH", ROLE, {"rules": self._role}, content_type=MERGE)

    def refuse(self, *, leases: bool) -> None:
        """Break each write of the reconciler: renewals of the Lease, or all others."""

        def gate(method: str, path: str) -> None:
            if method != "GET" and ("/leases" in path) is leases:
                raise ConnectionError(f"{method} {path} is cut")

        self.proxy.gate = gate

    def allow(self) -> None:
        self.proxy.gate = lambda method, path: None


@contextmanager
def installed(folder: Path) -> Iterator[Installation]:
    """With a worker that is connected, a queue of 4 cpu and a replica that writes."""
    with ExitStack() as opened:
        servers = [ControlPlane(name="manager"), ControlPlane(name="one")]
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda server: opened.enter_context(server), servers))
        server, worker = servers
        install(worker)
        worker.kubectl("apply", "-k", str(ROOT / "manifests" / "multikueue-worker"))
        line = opened.enter_context(Partition(int(worker.url.rpartition(":")[2])))
        guard = opened.enter_context(Guard(server, "", "reconciler", "multikueue"))
        proxy = opened.enter_context(FaultProxy(login_of(server), 0.0, 1))
        found = Installation(server, worker, guard, proxy, line)
        found.log_in(hours=720)
        _organise(server)
        for number in (1, 2):
            found.replicas.append(_replica(server, folder / f"replica-{number}", proxy))
            opened.callback(found.replicas[-1].close)
        eventually(lambda: found.writer() and all(each.ready for each in found.replicas), found.logs)
        yield found


def _replica(server: ControlPlane, folder: Path, proxy: FaultProxy) -> Replica:
    login, settings = folder.with_suffix(".kubeconfig"), folder.with_suffix(".settings")
    settings.write_text(yaml.safe_dump(SETTINGS))
    arguments = ["--feature-gates=MultiKueue=true", f"--settings={settings}"]
    arguments += ["--api-port=0", f"--api-certs={folder}/certs", "--name=127.0.0.1"]
    election = {"leaseDuration": "6s", "renewDeadline": "4s", "retryPeriod": "500ms"}
    configuration = {
        **CONFIGURATION,
        "leaderElection": election,
        "metrics": {"enableClusterQueueResources": True},
        "fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare"]},
    }
    return Replica(server, folder, *arguments, configuration=configuration, kubeconfig=proxy.kubeconfig(login))


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _organise(server: ControlPlane) -> None:
    source = {"clusterSource": {"kubeConfig": {"location": "one", "locationType": "Secret"}}}
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "workers"}
    check = {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters}
    for manifest in (
        kueue("ResourceFlavor", "plain", {}),
        kueue("Cohort", "org", {}),
        kueue("Cohort", "apart", {}),
        kueue("ClusterQueue", "team", queue("org", "4")),
        kueue("ClusterQueue", "idle", queue("apart", "4")),
        kueue("MultiKueueCluster", "one", source),
        kueue("MultiKueueConfig", "workers", {"clusters": ["one"]}),
        kueue("AdmissionCheck", "away", check),
    ):
        server.request("POST", f"{KUEUE}/{manifest['kind'].lower()}s", manifest)
    for name, cluster_queue in (("main", "team"), ("idle", "idle")):
        local = kueue("LocalQueue", name, {"clusterQueue": cluster_queue})
        server.request("POST", f"{KUEUE}/namespaces/default/localqueues", local)


@contextmanager
def watched(installation: Installation) -> Iterator[Prometheus]:
    """By a Prometheus that names its jobs as the ServiceMonitors do, and scrapes the API server as well."""
    config = yaml.safe_load(installation.server.kubeconfig.read_text())
    token, cluster = config["users"][0]["user"]["token"], config["clusters"][0]["cluster"]
    api_server = {
        "job_name": API_SERVER,
        "scheme": "https",
        "scrape_interval": "2s",
        "scrape_timeout": "2s",
        "authorization": {"credentials": token},
        "tls_config": {"ca_file": cluster["certificate-authority"]},
        "metric_relabel_configs": [
            {"source_labels": ["__name__"], "regex": "apiserver_admission_webhook_.*", "action": "keep"}
        ],
        "static_configs": [{"targets": [cluster["server"].removeprefix("https://")]}],
    }
    replicas = [str(each.address["url"]).removeprefix("http://") for each in installation.replicas]
    jobs = {WEBHOOK: [webhook_target(installation)], RECONCILER: replicas}
    with Prometheus(jobs, [api_server]) as prometheus:
        yield prometheus


def webhook_target(installation: Installation) -> str:
    return f"127.0.0.1:{installation.guard.metrics_port}"


@contextmanager
def expiring_webhook(folder: Path) -> Iterator[str]:
    """A webhook whose certificate others make, and have not renewed; where its metrics are."""
    now, certs = datetime.now(UTC), folder / "certs"
    certs.mkdir(parents=True)
    authority = new_authority("others", now, timedelta(days=30))
    served = new_server(authority, ["127.0.0.1"], now, timedelta(days=2))
    for name, content in (("tls.crt", served.certificate), ("tls.key", served.key), ("ca.crt", authority.certificate)):
        (certs / name).write_bytes(content)
    port, metrics = free_ports(2)
    processes = Processes(folder)
    try:
        command = [str(QUOTREE), "serve", "webhook", f"--certs={certs}", "--supplied", "--against=nothing"]
        processes.start("webhook", [*command, f"--port={port}", f"--metrics-port={metrics}", "--drain=0"])
        yield f"127.0.0.1:{metrics}"
    finally:
        processes.stop_all()
