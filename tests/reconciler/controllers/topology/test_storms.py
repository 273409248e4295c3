"""Nodes fail and recover, Pods end, the process crashes after any write: work keeps its places, or is evicted."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from scheduling.objects.times import SECOND
from scheduling.quota.state import Options
from scheduling.status.node_failure import FailureGates
from scheduling.topology.assignment import HOSTNAME
from scheduling.topology.encoding import read_topology_assignment
from tests import builders
from tests.profiles import seeds_of_long_runs
from tests.reconciler.controllers.topology.running_work import INDEX, NODE, POD, WORK, RunningWork, with_nodes
from tests.reconciler.plain_queues import workload

RACK = "example.com/rack"
NODES = {f"n{number}": f"r{number // 3}" for number in range(6)}
CPU = 4


class Storm(RunningWork):
    """Two racks of three nodes. `turn` is one step of the jobs, the scheduler and the kubelets."""

    def __init__(self, together: bool = False) -> None:
        self.submitted = 0
        self.made = 0
        gates, options = FailureGates(together=together), Options(replace_together=together)
        super().__init__(with_nodes(gates), places=True, options=options)
        levels = {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOSTNAME}]}
        self.put(("Topology", "yard"), builders.kueue("Topology", "yard", levels))
        flavor = {"nodeLabels": {"pool": "a"}, "topologyName": "yard"}
        self.put(("ResourceFlavor", "plain"), builders.kueue("ResourceFlavor", "plain", flavor))
        for name in NODES:
            self.kubelet(name)

    def kubelet(self, name: str, ready: str = "True") -> None:
        """What a node says of itself."""
        labels = {"pool": "a", RACK: NODES[name], HOSTNAME: name}
        made = builders.manifest("v1", "Node", name, {}, namespace=None, labels=labels)
        condition = {"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status = {"conditions": [condition], "allocatable": {"cpu": str(CPU), "pods": "110"}}
        for kind in (NODE, "Node"):
            self.put((kind, name), {**made, "status": status})

    def lose(self, name: str) -> None:
        """The node is deleted with its Pods."""
        for kind in (NODE, "Node"):
            self.drop((kind, name))
        for key in self.pods():
            if self.objects[key]["spec"].get("nodeName") == name:
                self.drop(key)

    def submit(self, count: int, **request: str) -> None:
        self.submitted += 1
        made = workload(f"w{self.submitted}", self.submitted, "q0", 1, 0)
        made["spec"]["podSets"][0] |= {"count": count, "topologyRequest": {**request, "podIndexLabel": INDEX}}
        self.put((WORK, f"ns/w{self.submitted}"), made)

    def works(self) -> list[str]:
        return [key[1].removeprefix("ns/") for key in self.objects if key[0] == WORK]

    def pods(self, of: str = "") -> list[tuple[str, str]]:
        found = [key for key in self.objects if key[0] == POD]
        return [key for key in found if not of or key[1].startswith(f"ns/{of}-")]

    def assigned(self, name: str) -> Counter[str]:
        """The places of a Workload with quota."""
        admission = self.objects[WORK, f"ns/{name}"].get("status", {}).get("admission")
        if not admission:
            return Counter()
        (entry,) = admission["podSetAssignments"]
        counts = read_topology_assignment(entry["topologyAssignment"]).counts()
        return Counter({values[-1]: pods for values, pods in counts.items()})

    def turn(self, chance: random.Random) -> None:
        for name in self.works():
            found = self.watched[WORK].read(self.objects[WORK, f"ns/{name}"])
            if found.evicted:  # its job stops, and is queued again
                for key in self.pods(name):
                    self.drop(key)
                (pod_set,) = found.pod_sets
                request = {key: value for key, value in (pod_set.topology or {}).items() if key != "podIndexLabel"}
                self.drop((WORK, f"ns/{name}"))
                self.submit(pod_set.count, **request)
            elif found.admitted:
                ranks = {self.objects[key]["metadata"]["labels"][INDEX] for key in self.pods(name)}
                for rank in range(found.pod_sets[0].count):
                    if str(rank) not in ranks and chance.random() < 0.7:
                        self.made += 1
                        self.pod(f"{name}-{self.made}", rank, of=name)
        busy = Counter(self.objects[key]["spec"].get("nodeName", "") for key in self.pods())
        for key in self.pods():
            spec = self.objects[key]["spec"]
            host = (spec.get("nodeSelector") or {}).get(HOSTNAME)
            if host is None or spec.get("nodeName") or spec.get("schedulingGates") or not self.is_ready(host):
                continue
            if busy[host] < CPU:
                busy[host] += 1
                self.edit(key, {"spec": {"nodeName": host}, "status": {"phase": "Running"}})
        for key in self.pods():
            if self.objects[key]["status"]["phase"] == "Failed":
                self.drop(key)

    def is_ready(self, name: str) -> bool:
        node = self.objects.get((NODE, name), {"status": {"conditions": [{"status": "False"}]}})
        return bool(node["status"]["conditions"][0]["status"] == "True")

    def check(self) -> None:
        held = Counter[str]()
        for name in self.works():
            places = self.assigned(name)
            held += places
            there = Counter(self.at()[key[1].removeprefix("ns/")] for key in self.pods(name))
            over = {host for host, count in places.items() if there[host] > count}
            assert not over, f"{name} has {there} in the places {places}"
        assert all(count <= CPU for host, count in held.items() if (NODE, host) in self.objects), held


@pytest.mark.parametrize("seed", seeds_of_long_runs(4))
def test_workloads_keep_valid_places_in_random_failures(seed: int) -> None:
    chance = random.Random(seed)
    storm = Storm(together=seed % 2 == 1)
    for count, request in ((4, {"required": RACK}), (5, {"preferred": RACK}), (3, {"required": RACK})):
        storm.submit(count, **request)
    for _ in range(60):
        node = chance.choice(sorted(NODES))
        match chance.choice(("lose", "silent", "back", "back", "end", "die", "wait", "wait")):
            case "lose" if (NODE, node) in storm.objects:
                storm.lose(node)
            case "silent" if (NODE, node) in storm.objects:
                storm.kubelet(node, "Unknown")
            case "back":
                storm.kubelet(node)
            case "end" if storm.pods():
                storm.drop(chance.choice(storm.pods()))
            case "die":
                storm.left = chance.randint(0, 3)
                storm.rounds(2)
                storm.left = None
                storm.restart()
            case _:
                storm.rounds(2, apart=SECOND)
        storm.turn(chance)
        storm.rounds(chance.randint(0, 3))
        storm.check()
    for node in NODES:
        storm.kubelet(node)
    for _ in range(30):
        storm.turn(chance)
        storm.rounds(3, apart=2 * SECOND)
        storm.check()

    assert [sum(storm.assigned(name).values()) for name in storm.works()] == [
        storm.objects[WORK, f"ns/{name}"]["spec"]["podSets"][0]["count"] for name in storm.works()
    ]
    for name in storm.works():
        status = storm.objects[WORK, f"ns/{name}"]["status"]
        assert not status.get("unhealthyNodes")
        running = Counter(storm.objects[key]["spec"].get("nodeName", "") for key in storm.pods(name))
        assert running == storm.assigned(name), f"{name} runs on {running}, with places on {storm.assigned(name)}"


@pytest.mark.parametrize("left", range(8))
def test_a_gang_survives_two_failed_nodes_and_a_crash_at_any_write(left: int) -> None:
    """It crashes after so many writes: of unhealthy nodes, new places, or gates of the replacement Pods."""
    chance, storm = random.Random(left), Storm(together=True)
    storm.submit(2 * CPU, preferred=RACK)
    for _ in range(4):
        storm.rounds(3, apart=SECOND)
        storm.turn(chance)
    hosts = sorted(storm.assigned("w1"))
    assert len(hosts) == 2
    storm.submit(CPU, preferred=RACK)
    storm.rounds(4, apart=SECOND)
    before = storm.assigned("w2")

    for node in hosts:
        storm.lose(node)
    for _ in range(3):
        storm.turn(chance)
        storm.left = left
        storm.rounds(2, apart=SECOND)
        storm.left = None
        storm.restart()
    for _ in range(20):
        storm.turn(chance)
        storm.rounds(2, apart=SECOND)
        storm.check()

    assert not storm.evicted("w1")
    assert storm.lost("w1") == []
    assert sum(storm.assigned("w1").values()) == 2 * CPU
    assert not set(storm.assigned("w1")) & set(hosts)
    assert storm.assigned("w2") == before, "nobody else moves"
    bound = Counter(storm.objects[key]["spec"].get("nodeName", "") for key in storm.pods("w1"))
    assert bound == storm.assigned("w1")
