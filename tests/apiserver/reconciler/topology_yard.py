"""Nodes, a scheduler and kubelets that a test simulates, for topologies on a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from scheduling.topology.assignment import HOSTNAME
from scheduling.topology.encoding import read_topology_assignment, written_topology_assignment
from tests import builders
from tests.apiserver.harness import ApiError, ControlPlane
from tests.apiserver.kueue_world import KUEUE
from tests.scheduling.topology.drawn import assigned

K = "kueue.x-k8s.io/"
GATE = f"{K}topology"
RACK = "example.com/rack"
INDEX = "batch.kubernetes.io/job-completion-index"
MERGE = "application/merge-patch+json"
Manifest = dict[str, Any]


class Yard:
    """One namespace with the LocalQueue `main`, whose ClusterQueue has the flavor `yard` in the topology `yard`.

    The LocalQueue `held` admits nothing: in it the reconciler does not place a Workload before the test does.

    Only `turn` plays the cluster: it binds Pods without a gate to the node that they select, if it is Ready, runs them,
    and ends terminating Pods.
    """

    def __init__(self, server: ControlPlane, namespace: str) -> None:
        self.server = server
        self.namespace = namespace
        self.pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self._made: list[str] = []
        self._make(f"{KUEUE}/topologies", builders.kueue("Topology", "yard", {"levels": _levels(RACK, HOSTNAME)}))
        flavor = {"nodeLabels": {"example.com/yard": "yes"}, "topologyName": "yard"}
        self._make(f"{KUEUE}/resourceflavors", builders.kueue("ResourceFlavor", "yard", flavor))
        quota = builders.group("cpu", builders.flavor("yard", cpu="100"))
        self._make(f"{KUEUE}/clusterqueues", builders.cluster_queue("yard", "yards", quota))
        for name, more in (("main", {}), ("held", {"stopPolicy": "Hold"})):
            local = builders.local_queue(name, "yard", namespace)
            local["spec"] |= more
            self._make(f"{KUEUE}/namespaces/{namespace}/localqueues", local)

    def close(self) -> None:
        for path in reversed(self._made):
            self.server.remove(path)

    def _make(self, collection: str, manifest: Manifest) -> None:
        self.server.request("POST", collection, manifest)
        self._made.append(f"{collection}/{manifest['metadata']['name']}")

    # --- nodes

    def node(self, name: str, rack: str, cpu: int = 1) -> None:
        labels = {RACK: rack, HOSTNAME: name, "example.com/yard": "yes"}
        self._make("/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
        self.ready(name, cpu=cpu)

    def ready(self, name: str, status: str = "True", cpu: int = 1) -> None:
        condition = {"type": "Ready", "status": status, "lastTransitionTime": _now(), "lastHeartbeatTime": _now()}
        room = {"cpu": str(cpu), "pods": "110", "memory": "64Gi"}
        body = {"status": {"conditions": [condition], "allocatable": room, "capacity": room}}
        self.server.request("PATCH", f"/api/v1/nodes/{name}/status", body, content_type=MERGE)
        if status == "True":  # no controller removes the taint of a new Node
            self.server.request("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}}, content_type=MERGE)

    def lose(self, name: str) -> None:
        """Delete the node, and its Pods as the garbage collector of Pods does."""
        path = f"/api/v1/nodes/{name}"
        self._made.remove(path)
        self.server.remove(path)
        for pod in self.pods():
            if pod["spec"].get("nodeName") == name:
                path = f"{self.pods_path}/{pod['metadata']['name']}/status"
                with _unless_gone():
                    self.server.request("PATCH", path, {"status": {"phase": "Failed"}}, content_type=MERGE)
                self.end(pod["metadata"]["name"])

    # --- work

    def workload(self, name: str, places: str) -> None:
        """Create an admitted Workload with this topology assignment, such as `n1=2 n2=1`."""
        count = assigned(places).pods
        made = builders.workload(name, "held", "1", self.namespace)
        made["spec"]["podSets"][0] |= {"count": count, "topologyRequest": {"required": RACK, "podIndexLabel": INDEX}}
        self._make(f"{KUEUE}/namespaces/{self.namespace}/workloads", made)
        entry = {
            "name": "main",
            "flavors": {"cpu": "yard"},
            "resourceUsage": {"cpu": str(count)},
            "count": count,
            "topologyAssignment": written_topology_assignment(assigned(places)),
        }
        held = [
            {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": _now()}
            for kind in ("QuotaReserved", "Admitted")
        ]
        status = {"admission": {"clusterQueue": "yard", "podSetAssignments": [entry]}, "conditions": held}
        path = f"{KUEUE}/namespaces/{self.namespace}/workloads/{name}/status"
        self.server.request("PATCH", path, {"status": status}, content_type=MERGE)

    def status(self, name: str) -> Manifest:
        found = self.server.request("GET", f"{KUEUE}/namespaces/{self.namespace}/workloads/{name}")
        return dict(found.get("status", {}))

    def job(self, name: str, pods: int) -> None:
        """Create an Indexed Job in the queue, whose Pods require one rack."""
        asked = {"metadata": {"annotations": {f"{K}podset-required-topology": RACK}}}
        spec = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "suspend": True}
        spec |= {"template": {**builders.template("1"), **asked}}
        made = builders.batch_job(name, spec, self.namespace, labels=builders.queued("main"))
        self.server.request("POST", f"/apis/batch/v1/namespaces/{self.namespace}/jobs", made)

    def elastic_job(self, name: str, pods: int) -> None:
        """Create an elastic Job as stored by the webhook, which gates its Pods."""
        template = builders.template("1")
        template["spec"]["schedulingGates"] = [{"name": f"{K}elastic-job"}]
        spec = {"parallelism": pods, "completions": 99, "suspend": True, "template": template}
        made = builders.batch_job(name, spec, self.namespace, labels=builders.queued("main"))
        made["metadata"]["annotations"] = {f"{K}elastic-job": "true"}
        self.server.request("POST", f"/apis/batch/v1/namespaces/{self.namespace}/jobs", made)

    def ranks(self) -> list[tuple[str, str]]:
        """The node and the uid of each Pod, in the order of their indexes."""
        found = sorted(self.pods(), key=lambda pod: int(pod["metadata"]["labels"][INDEX]))
        return [(pod["spec"].get("nodeName", ""), pod["metadata"]["uid"]) for pod in found]

    def hosts_of_only_workload(self) -> list[str]:
        """The hosts of its topology assignment, in order."""
        (only,) = self.server.request("GET", f"{KUEUE}/namespaces/{self.namespace}/workloads")["items"]
        return [*self.hosts(only["metadata"]["name"])]

    def hosts(self, name: str) -> dict[str, int]:
        """The number of Pods by host in the topology assignment of the Workload."""
        (entry,) = self.status(name)["admission"]["podSetAssignments"]
        found = read_topology_assignment(entry["topologyAssignment"]).counts()
        return {values[-1]: count for values, count in found.items()}

    def condition(self, name: str, kind: str) -> Manifest:
        """The condition, if it is true."""
        found = self.status(name).get("conditions", [])
        return next((each for each in found if each["type"] == kind and each["status"] == "True"), {})

    def pod(self, name: str, rank: int, of: str) -> None:
        """Create a Pod of the Workload as its job would."""
        labels = {f"{K}podset": "main", INDEX: str(rank)}
        notes = {f"{K}workload": of, f"{K}podset-required-topology": RACK}
        spec = {"schedulingGates": [{"name": GATE}], "containers": [{**builders.container(cpu="1"), "image": "x"}]}
        meta = {"name": name, "labels": labels, "annotations": notes}
        self.server.request("POST", self.pods_path, {"metadata": meta, "spec": spec})

    def end(self, name: str) -> None:
        with _unless_gone():
            self.server.request("DELETE", f"{self.pods_path}/{name}?gracePeriodSeconds=0")

    def pods(self) -> list[Manifest]:
        return list(self.server.request("GET", self.pods_path)["items"])

    def at(self) -> dict[str, str]:
        """The node of each Pod; empty without one."""
        return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in self.pods()}

    # --- what a cluster does

    def turn(self) -> dict[str, str]:
        """One round of the scheduler and of the kubelets; the node of each Pod."""
        for pod in self.pods():
            path = f"{self.pods_path}/{pod['metadata']['name']}"
            try:
                self._one(pod, path)
            except ApiError as error:
                if error.status not in (404, 409):  # it was deleted or changed since the list
                    raise
        return self.at()

    def _one(self, pod: Manifest, path: str) -> None:
        spec = pod["spec"]
        if "deletionTimestamp" in pod["metadata"]:
            self.server.request("DELETE", f"{path}?gracePeriodSeconds=0")
        elif spec.get("nodeName"):
            running = {"phase": "Running"}
            if pod["status"]["phase"] == "Pending":
                self.server.request("PATCH", f"{path}/status", {"status": running}, content_type=MERGE)
        elif not spec.get("schedulingGates"):
            selector = spec.get("nodeSelector", {}).items()
            fits = [each["name"] for each in self._ready_nodes() if selector <= each["labels"].items()]
            if fits:
                target = {"kind": "Node", "name": fits[0]}
                binding = {"metadata": {"name": pod["metadata"]["name"]}, "target": target}
                self.server.request("POST", f"{path}/binding", binding)

    def _ready_nodes(self) -> list[Manifest]:
        """The metadata of the Ready nodes."""
        nodes = self.server.request("GET", "/api/v1/nodes")["items"]
        ready = {"type": "Ready", "status": "True"}.items()
        conditions = ((each["metadata"], each["status"].get("conditions", [])) for each in nodes)
        return [meta for meta, found in conditions if any(ready <= each.items() for each in found)]


@contextmanager
def _unless_gone() -> Iterator[None]:
    """Ignore 404: the reconciler deletes Pods as well."""
    try:
        yield
    except ApiError as error:
        if error.status != 404:
            raise


def _levels(*labels: str) -> list[dict[str, str]]:
    return [{"nodeLabel": label} for label in labels]


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
