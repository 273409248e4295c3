"""Pods and their Workloads in memory, kept by the rules of an API server that matter to Pods, and a small kubelet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cluster.actions import Action, Create, Delete, Patch
from policies.configuration.settings import KueueSettings
from policies.dialects.naming import NAMING, Naming
from policies.mutation.kueue_pod_defaults import held_pod
from policies.mutation.patching import patched
from reconciler.controllers.pods import PodsController, watched_pods
from reconciler.jobs.step import JobInputs
from reconciler.objects.observed import Key, Observed
from reconciler.objects.outcomes import Written
from reconciler.objects.patches import ADMISSION_MANAGER, status_patch
from reconciler.objects.wanted import WantedWrite
from reconciler.objects.watched import by_kind
from scheduling.objects.reading import read_workload
from scheduling.objects.workload import Admission, PodSetAdmission, Workload
from scheduling.status.eviction import preempt
from scheduling.status.reservation import reserve, sync_admitted
from tests.copies import copied
from tests.merging import merged
from tests.reconciler.driver import Driver
from tests.reconciler.jobs.world import AROUND, NOW, K
from tests.reconciler.stored_objects import StatusApart

Manifest = dict[str, Any]
GATE = f"{K}admission"
_WORKLOADS = by_kind()["Workload"]


def pod(
    name: str, group: str = "", size: int = 0, cpu: str = "1", notes: dict[str, str] | None = None, **labels: str
) -> Manifest:
    """A Pod in the queue q as it is stored: the webhook has held it."""
    named = {f"{K}queue-name": "q", **({f"{K}pod-group-name": group} if group else {})}
    total = {f"{K}pod-group-total-count": str(size)} if group else {}
    meta = {
        "name": name,
        "namespace": "ns",
        "labels": {**named, **{f"{K}{key.replace('_', '-')}": value for key, value in labels.items()}},
        "annotations": {**total, **{f"{K}{key}": value for key, value in (notes or {}).items()}},
    }
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Pending"}}
    made: Manifest = patched(manifest, held_pod(manifest, KueueSettings(manage_pods=True)))
    return made


class PodWorld(StatusApart):
    """`events` are the reasons of reported Events, each with the name of its object."""

    def __init__(self, *pods: Manifest, inputs: JobInputs = AROUND, naming: Naming = NAMING) -> None:
        self.watched = watched_pods(naming)
        super().__init__(version=1000)
        self.uids = 0
        self.now = NOW
        self.events: list[tuple[str, str]] = []
        self.messages: list[str] = []
        self.writes: list[Action] = []
        self.inputs = replace(inputs, naming=naming)
        self.controller = self.restarted()
        for each in pods:
            self.create(each)

    def restarted(self) -> PodsController:
        """A new process that has listed all objects."""
        self.controller = PodsController(self._stored, naming=self.inputs.naming)
        self.driver = Driver(self.controller)
        self.controller.inputs_changed(self.inputs)
        for key in self.objects:
            self.changed(key)
        return self.controller

    def _stored(self, name: str) -> Observed | None:
        found = self.objects.get(("Workload", name))
        return _WORKLOADS.observed(copied(found)) if found is not None else None

    def changed(self, key: Key) -> None:
        if key[0] == "Workload":
            self.controller.workload_changed(key[1])
        elif key in self.objects and self.objects[key]["metadata"].get("labels", {}).get(f"{K}managed") == "true":
            self.controller.observe(self.watched.observed(copied(self.objects[key])))
        else:
            self.controller.observe(Observed(key, str(self.version), None))

    def _ask(self, key: tuple[str, str]) -> None:
        """A user reads the object by its name."""
        if key in self.objects:
            self.controller.found(self.watched.observed(copied(self.objects[key])))
        else:
            self.controller.gone(key)

    # --- what there is

    def pods(self) -> dict[str, Manifest]:
        return {key[1].removeprefix("ns/"): found for key, found in self.objects.items() if key[0] == "Pod"}

    def workloads(self) -> dict[str, Manifest]:
        return {key[1].removeprefix("ns/"): found for key, found in self.objects.items() if key[0] == "Workload"}

    @property
    def stored(self) -> Manifest:
        (only,) = self.workloads().values()
        return only

    @property
    def read(self) -> Workload:
        return read_workload(self.stored)

    def gated(self) -> list[str]:
        return [name for name, each in self.pods().items() if each["spec"].get("schedulingGates")]

    def running(self) -> list[str]:
        """The Pods that run or may run."""
        return [name for name, each in self.pods().items() if _occupies(each)]

    # --- what users, the scheduler and nodes do

    def create(self, manifest: Manifest) -> None:
        self.uids += 1
        meta = {**manifest["metadata"], "uid": f"uid-{self.uids}", "creationTimestamp": _moment(self.uids)}
        self.put(("Pod", f"ns/{manifest['metadata']['name']}"), {**copied(manifest), "metadata": meta})

    def delete(self, name: str) -> None:
        """As a user asks for it; a node takes its time."""
        self.remove(("Pod", f"ns/{name}"))

    def bind(self, *names: str) -> None:
        """They get a node and run there."""
        for name in names:
            assert name not in self.gated()
            status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
            self.edit_pod(name, {"spec": {"nodeName": "n"}, "status": status})

    def end(self, name: str, phase: str = "Succeeded") -> None:
        self.edit_pod(name, {"status": {"phase": phase, "conditions": [{"type": "Ready", "status": "False"}]}})

    def kubelet(self) -> bool:
        """Pods that are deleted end and go; whether there were any."""
        found = False
        for name, each in list(self.pods().items()):
            if each["metadata"].get("deletionTimestamp") and each["spec"].get("nodeName"):
                found = True
                bare = merged(each, {"spec": {"nodeName": None}})
                phase = each["status"]["phase"] if each["status"]["phase"] == "Succeeded" else "Failed"
                self.put(("Pod", f"ns/{name}"), merged(bare, {"status": {"phase": phase}}))
        return found

    def collect(self) -> bool:
        """The garbage collector: a Workload goes when the last of its owners has gone. A StatefulSet stays."""
        uids = {each["metadata"]["uid"] for each in self.pods().values()}
        gone = []
        for name, each in self.workloads().items():
            owners = each["metadata"].get("ownerReferences", [])
            left = any(owner.get("kind") == "StatefulSet" or owner["uid"] in uids for owner in owners)
            if owners and not left and not each["metadata"].get("deletionTimestamp"):
                gone.append(name)
        for name in gone:
            self.remove(("Workload", f"ns/{name}"))
        return bool(gone)

    def edit_pod(self, name: str, patch: Manifest) -> None:
        self.edit(("Pod", f"ns/{name}"), patch)

    # --- what the scheduler decides

    def decide(self, decision: Callable[[Workload], Workload]) -> None:
        action = status_patch(self.read, decision(self.read), ADMISSION_MANAGER)
        assert action is not None
        self.write(action)

    def admit(self, queue: str = "cq") -> None:
        given = tuple(
            PodSetAdmission(each.name, {"cpu": "spot"}, {"cpu": 1000 * each.count}, each.count)
            for each in self.read.pod_sets
        )
        self.decide(lambda read: sync_admitted(reserve(read, Admission(queue, given), NOW), NOW))

    def preempt(self) -> None:
        self.decide(lambda read: preempt(read, "InClusterQueue", "Preempted to accommodate a workload", NOW))

    def take_away(self) -> None:
        """A user deletes the Workload."""
        self.remove(("Workload", self.read.key))

    # --- steps

    def wanted(self, busy: Callable[[str, str], bool] = lambda *_: False) -> list[WantedWrite]:
        found = self.driver.due(self.now, busy)
        while self.driver.asked:
            self._ask(self.driver.asked.pop().key)
            sent = {write.key for write in found if write.action is not None}
            found += self.driver.due(self.now, lambda *key, sent=sent: key in sent or busy(*key))
        return found

    def step(self, most: int = 1000) -> int:
        """At most so many of the requested writes; how many there were."""
        found = self.wanted()
        for write in found:
            if write.reason:
                self.events.append((write.reason, write.about.name if write.about else ""))
                self.messages.append(write.message)
        actions = [write.action for write in found if write.action is not None][:most]
        for action in actions:
            self.arrive(action)
        return len(actions)

    def settle(self, nodes: bool = True) -> list[str]:
        """Take steps until there are none, nodes and the garbage collector doing their part; the reasons told."""
        observed = len(self.events)
        for _ in range(40):
            acted = self.step()
            others = nodes and (self.kubelet() or self.collect())
            if not acted and not others:
                return [reason for reason, _ in self.events[observed:]]
        raise AssertionError(f"no end of steps: {self.writes[-4:]}")

    # --- the API server

    def arrive(self, action: Action) -> None:
        """A write that was on its way for a while; where somebody was faster the object is read again."""
        key = _key(action)
        if isinstance(self.perform(key, action), Written):
            self.writes.append(action)
        elif key in self.objects:
            self.changed(key)
        else:
            self.controller.gone(key)

    def write(self, action: Action) -> None:
        self.writes.append(action)
        answer = self.perform(_key(action), action)
        assert isinstance(answer, Written), answer

    def patched(self, key: Key, action: Patch) -> Manifest:
        after = super().patched(key, action)
        if key[0] == "Pod":
            _check_pod(self.objects[key]["spec"], after["spec"])
        return after

    def remove(self, key: Key, grace: int | None = None) -> None:
        before = self.objects[key]
        if grace is None:
            grace = before["spec"].get("terminationGracePeriodSeconds", 30)
        meta = {"deletionTimestamp": "2025-01-01T00:00:00Z", "deletionGracePeriodSeconds": grace}
        if grace < before["metadata"].get("deletionGracePeriodSeconds", grace + 1):
            self.edit(key, {"metadata": meta})

    def holders(self, key: Key) -> list[str]:
        """A Pod that has a node stays until the kubelet lets it go."""
        bound = key[0] == "Pod" and self.objects[key]["spec"].get("nodeName")
        return ["kubelet"] if bound else super().holders(key)


def _key(action: Action) -> Key:
    assert isinstance(action, Create | Patch | Delete)
    return "Pod" if action.resource.plural == "pods" else "Workload", f"{action.namespace}/{action.name}"


def _check_pod(before: Manifest, after: Manifest) -> None:
    """Where a Pod may run can change only while it is gated; a gate can only be taken off, tolerations only added."""
    gated = bool(before.get("schedulingGates"))
    assert [gate for gate in after.get("schedulingGates", []) if gate not in before.get("schedulingGates", [])] == []
    assert gated or before.get("nodeSelector") == after.get("nodeSelector"), "422: it is not gated"
    kept = before.get("tolerations", [])
    assert after.get("tolerations", [])[: len(kept)] == kept, "422: tolerations can only be added"


def _occupies(each: Manifest) -> bool:
    if each["spec"].get("schedulingGates") or each["status"]["phase"] in ("Succeeded", "Failed"):
        return False
    return not each["metadata"].get("deletionTimestamp") or bool(each["spec"].get("nodeName"))


def _moment(number: int) -> str:
    return f"2025-01-01T00:{number // 60:02}:{number % 60:02}Z"


def group(size: int = 3, **parts: Any) -> list[Manifest]:
    return [pod(name, "g", size, **parts) for name in "abcdefgh"[:size]]


def admitted(*pods: Manifest) -> PodWorld:
    world = PodWorld(*pods)
    world.settle()
    world.admit()
    world.settle()
    return world


def running(*pods: Manifest) -> PodWorld:
    world = admitted(*pods)
    world.bind(*world.running())
    world.settle()
    return world


def condition(world: PodWorld, kind: str) -> tuple[str, str]:
    found = world.read.conditions[kind]
    return found.status, found.reason
