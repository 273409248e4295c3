"""Work in a topology on a loop in memory: a Workload whose places a test writes, its Pods, and Nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cluster.actions import Action, Create
from reconciler.controllers.topology.node_failures import NodeFailuresController, node_failures
from reconciler.controllers.topology.ungating import UngatingController
from reconciler.core.state import ClusterState
from reconciler.objects.observed import Key, Listed
from scheduling.objects import times
from scheduling.quota.state import Options
from scheduling.status.node_failure import FailureGates
from scheduling.topology.assignment import HOSTNAME
from scheduling.topology.encoding import written_topology_assignment
from scheduling.topology.fleet import Fleet
from scheduling.world.world import World
from tests import builders
from tests.reconciler.checked import Asks, MakeController, loop, statuses
from tests.reconciler.plain_queues import START
from tests.reconciler.prompt import Prompt
from tests.scheduling.manifests import condition
from tests.scheduling.topology.drawn import assigned

K = "kueue.x-k8s.io/"
GATE = f"{K}topology"
INDEX = "batch.kubernetes.io/job-completion-index"
POD, WORK, NODE = "PlacedPod", "Workload", "NodeHealth"


def ungating(state: ClusterState) -> UngatingController:
    return UngatingController(state.records.workload)


def with_nodes(gates: FailureGates | None = None) -> tuple[MakeController, MakeController]:
    """Both controllers, as the process makes them."""
    made: list[NodeFailuresController] = []

    def failures(state: ClusterState) -> NodeFailuresController:
        made.append(node_failures(state, gates or FailureGates()))
        return made[-1]

    return failures, lambda state: UngatingController(state.records.workload, made[-1].failing)


class RunningWork(Prompt):
    """`left`: so many writes still get through, None for all. `places`: the engine places work that waits.

    `reported`: the reasons of Events, with the names of the objects that they are about.
    """

    def __init__(
        self,
        controllers: Sequence[MakeController] = (ungating,),
        *,
        places: bool = False,
        options: Options | None = None,
    ) -> None:
        self.left: int | None = None
        self.reported: list[tuple[str, str]] = []
        self.controllers = controllers
        self.placing = places
        self.options = options
        super().__init__(controllers, quota=100, fleet=Fleet() if places else None, options=options)

    # --- what is stored

    def workload(self, places: str, name: str = "w", lost: tuple[str, ...] = (), **pod_set: Any) -> None:
        """An admitted Workload with these places, such as `n1=2 n2=1`."""
        stored = written_topology_assignment(assigned(places))
        count = assigned(places).pods
        made = builders.workload(name, "q0", "1")
        made["spec"]["podSets"][0] |= {"count": count, "topologyRequest": {"podIndexLabel": INDEX}, **pod_set}
        entry = {
            "name": "main",
            "flavors": {"cpu": "plain"},
            "resourceUsage": {"cpu": str(count)},
            "count": count,
            "topologyAssignment": stored,
        }
        made["status"] = {
            "admission": {"clusterQueue": "q0", "podSetAssignments": [entry]},
            "conditions": [condition("QuotaReserved"), condition("Admitted")],
            **({"unhealthyNodes": [{"name": each} for each in lost]} if lost else {}),
        }
        self.put((WORK, f"ns/{name}"), made)

    def places(self, places: str, name: str = "w") -> None:
        """The Workload has these places now."""
        status = self.objects[WORK, f"ns/{name}"]["status"]
        (entry,) = status["admission"]["podSetAssignments"]
        entry = {**entry, "topologyAssignment": written_topology_assignment(assigned(places))}
        admission = {"clusterQueue": "q0", "podSetAssignments": [entry]}
        self.edit((WORK, f"ns/{name}"), {"status": {"admission": admission, "unhealthyNodes": None}})

    def pod(self, name: str, rank: int | str | None = None, of: str = "w", **spec: Any) -> None:
        """A Pod that waits for its place, as a Job makes it."""
        labels = {f"{K}podset": "main", **({INDEX: str(rank)} if rank is not None else {})}
        notes = {f"{K}workload": of, f"{K}podset-required-topology": "rack"}
        meta = {"name": name, "namespace": "ns", "labels": labels, "annotations": notes}
        stored = {"schedulingGates": [{"name": GATE}], **spec}
        self.put((POD, f"ns/{name}"), {"metadata": meta, "spec": stored, "status": {"phase": "Pending"}})

    def node(self, name: str, ready: str = "True", taint: str = "", host: str = "", since: int = START) -> None:
        taints = [{"key": taint, "effect": "NoExecute"}] if taint else []
        conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": times.rfc3339(since)}] if ready else []
        labels = {HOSTNAME: host or name}
        made = builders.manifest("v1", "Node", name, {"taints": taints}, namespace=None, labels=labels)
        self.put((NODE, name), {**made, "status": {"conditions": conditions}})

    def run(self, *names: str) -> None:
        """Each of these Pods runs on the node that it was sent to."""
        for name in names:
            host = self.at()[name]
            self.edit((POD, f"ns/{name}"), {"spec": {"nodeName": host}, "status": {"phase": "Running"}})

    def condition(self, kind: str, reason: str, name: str = "w") -> None:
        key = (WORK, f"ns/{name}")
        others = [each for each in self.objects[key]["status"]["conditions"] if each["type"] != kind]
        self.edit(key, {"status": {"conditions": [*others, condition(kind, reason=reason)]}})

    # --- what there is

    def at(self) -> dict[str, str]:
        """The host that each Pod was sent to; empty while it waits."""
        found = {}
        for key, pod in self.objects.items():
            if key[0] == POD:
                waits = any(each["name"] == GATE for each in pod["spec"].get("schedulingGates") or ())
                found[key[1].removeprefix("ns/")] = (
                    "" if waits else (pod["spec"].get("nodeSelector") or {}).get(HOSTNAME)
                )
        return found

    def lost(self, name: str = "w") -> list[str]:
        """The unhealthy nodes of the Workload."""
        return [each["name"] for each in self.objects[WORK, f"ns/{name}"]["status"].get("unhealthyNodes") or ()]

    def evicted(self, name: str = "w") -> str:
        """The message of its eviction; empty if it stays."""
        found = self.objects[WORK, f"ns/{name}"]["status"]["conditions"]
        return next((each["message"] for each in found if each["type"] == "Evicted" and each["status"] == "True"), "")

    def told(self) -> set[tuple[str, str]]:
        """The reasons of Events, with the kinds that they are about."""
        return {(reason, kind) for _, reason, kind, _ in self.events}

    # --- the process

    def write(self, key: Key, action: Action) -> None:
        if key[0] == "Event" and isinstance(action, Create):
            self.reported.append((action.body["reason"], action.body["involvedObject"]["name"]))
        if self.left is None or (self.left > 0 and key[0] != "Event"):
            self.left = None if self.left is None else self.left - 1
            super().write(key, action)

    def restart(self) -> None:
        """The process ends wherever it is, and another one begins with what is stored."""
        asks = Asks(self.write, self._read)
        state = ClusterState(World(self.options, fleet=Fleet() if self.placing else None))
        self.loop = loop(asks, (*self.controllers, statuses), clock=lambda: self.now, state=state)
        for kind in self.watched:
            objects = tuple(self._seen(key) for key in self.objects if key[0] == kind)
            self.loop.inbox.put(Listed(kind, objects, str(self.version)))
