"""A queue that needs new nodes, on an API server in memory, with an autoscaler that the test controls."""

from __future__ import annotations

from typing import Any

from reconciler.controllers.provisioning import ProvisioningController
from reconciler.objects.observed import Key
from scheduling.objects import times
from tests import builders
from tests.reconciler.checked import MakeController, jobs
from tests.reconciler.plain_queues import PLAIN, cpus
from tests.reconciler.prompt import Manifest, Prompt, job

CLASS = "queued-provisioning.example.com"
REQUEST, TEMPLATE = "ProvisioningRequest", "PodTemplate"


def config(**spec: Any) -> Manifest:
    return builders.kueue("ProvisioningRequestConfig", "new-nodes", {"provisioningClassName": CLASS, **spec})


def check(**parameters: str) -> Manifest:
    named = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "new-nodes", **parameters}
    spec = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": named}
    return builders.kueue("AdmissionCheck", "nodes", spec)


def queue(*checks: str) -> Manifest:
    named = {"admissionChecks": [{"name": each} for each in checks]}
    return builders.cluster_queue("q0", None, cpus(3), **({"admissionChecksStrategy": named} if checks else {}))


class Autoscaled(Prompt):
    """`collects`: the garbage collector works."""

    def __init__(self, *, cleanup: bool = True, collects: bool = True, **settings: Any) -> None:
        self._collects = collects

        def controller(state: Any) -> ProvisioningController:
            return ProvisioningController(state.records.workload, state.world, cleanup=cleanup)

        made: tuple[MakeController, ...] = (jobs, controller)
        super().__init__(made, **settings)
        self.put(("ResourceFlavor", "plain"), {**PLAIN, "spec": {"nodeLabels": {"pool": "new"}}})
        self.put(("AdmissionCheck", "nodes"), check())
        self.put(("ClusterQueue", "q0"), queue("nodes"))
        self.rounds(5)

    def drop_unheard(self, key: Key) -> None:
        uid = self.objects[key]["metadata"].get("uid")
        super().drop_unheard(key)
        if self._collects and uid:
            for each in [each for each in self.objects if self._owner(each) == uid]:
                self.drop(each)

    def _owner(self, key: Key) -> str:
        owners = self.objects[key]["metadata"].get("ownerReferences", []) if key in self.objects else []
        return str(owners[0]["uid"]) if owners else ""

    def submit(self, name: str = "train", **spec: Any) -> None:
        self.put(("Job", f"ns/{name}"), job(name, **spec))
        self.rounds(15)

    # --- what there is

    @property
    def workload(self) -> Manifest:
        (found,) = [manifest for (kind, _), manifest in self.objects.items() if kind == "Workload"]
        return found

    @property
    def name(self) -> str:
        return str(self.workload["metadata"]["name"])

    def state(self) -> tuple[str, str]:
        (found,) = self.workload["status"]["admissionChecks"]
        return found["state"], found["message"]

    def entry(self) -> dict[str, Any]:
        (found,) = self.workload["status"]["admissionChecks"]
        return dict(found)

    def condition(self, kind: str) -> tuple[str, str] | None:
        conditions = self.workload["status"].get("conditions", [])
        return next(((each["status"], each["reason"]) for each in conditions if each["type"] == kind), None)

    def all(self, kind: str) -> list[str]:
        return sorted(name.partition("/")[2] for each, name in self.objects if each == kind)

    def request(self, attempt: int = 1) -> Manifest:
        return self.objects[REQUEST, f"ns/{self.name}-nodes-{attempt}"]

    def active(self) -> tuple[str, str, str] | None:
        for each in self.objects["AdmissionCheck", "nodes"].get("status", {}).get("conditions", []):
            return each["status"], each["reason"], each["message"]
        return None

    # --- the autoscaler

    def say(self, kind: str, status: str = "True", message: str = "", attempt: int = 1, **fields: Any) -> None:
        request = self.request(attempt)
        said = {"type": kind, "status": status, "reason": kind, "message": message}
        said["lastTransitionTime"] = times.rfc3339(self.now)
        before = request.get("status", {})
        others = [each for each in before.get("conditions", []) if each["type"] != kind]
        status_ = {**before, "conditions": [*others, said], **fields}
        self.put((REQUEST, f"ns/{request['metadata']['name']}"), {**request, "status": status_})
        self.rounds(15)
