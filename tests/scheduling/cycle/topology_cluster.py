"""A cluster whose one flavor has a topology, and work for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from policies.dialects.kueue_flavor import Flavor
from scheduling.cycle.second_pass import NotPlaced, PlacedLater, after_second_pass, needs_second_pass, second_pass
from scheduling.objects.workload import Workload
from scheduling.topology.assignment import HOSTNAME
from scheduling.topology.encoding import read_topology_assignment
from scheduling.topology.fleet import Fleet
from scheduling.topology.node_filter import TopologyNode
from scheduling.world.world import World
from tests.scheduling.cluster import RESOURCE, Cluster
from tests.scheduling.manifests import pod_set, workload

FLAVOR = "on-demand"
LEVELS = ("block", "rack", HOSTNAME)


def gpu_node(name: str, gpus: int, block: str = "b1", rack: str = "r1") -> TopologyNode:
    labels = {"block": block, "rack": rack, HOSTNAME: name}
    return TopologyNode(name, labels, (), {RESOURCE: gpus, "pods": 110})


@dataclass
class TopologyCluster(Cluster):
    """A cluster whose one flavor has a topology. `nodes` are those that can take pods."""

    nodes: dict[str, TopologyNode] = field(default_factory=dict)

    def fresh(self) -> World:
        world = World(self.options, fleet=Fleet())
        world.put_topology("default", LEVELS)
        world.put_flavor(Flavor(FLAVOR, {}, topology="default"))
        world.put_namespace("ns", {})
        for node in self.nodes.values():
            world.put_node(node)
        for queue in self.queues.values():
            world.put_queue(queue, self.now)
        for each in self.workloads.values():
            world.put_workload(each, self.now)
        return world

    def put_node(self, node: TopologyNode) -> None:
        self.tick()
        self.nodes[node.name] = node
        self.world.put_node(node)

    def fail_node(self, name: str) -> None:
        """The node is gone, and the workloads with pods there are marked."""
        self.tick()
        del self.nodes[name]
        self.world.drop_node(name)
        for each in list(self.workloads.values()):
            known = self.options.replace_together or not each.unhealthy_nodes
            if each.admitted and not each.evicted and name in hosts(each) and known:
                self.write(replace(each, unhealthy_nodes=(*each.unhealthy_nodes, name)))

    def second_passes(self) -> None:
        for each in list(self.workloads.values()):
            if needs_second_pass(each):
                result = second_pass(self.world, each)
                assert isinstance(result, PlacedLater | NotPlaced)
                self.write(after_second_pass(result, self.now))


def hosts(each: Workload) -> Counter[str]:
    """The pods of an admitted workload by host."""
    found: Counter[str] = Counter()
    for entry in each.admission.assignments if each.admission else ():
        if entry.topology is not None:
            for values, count in read_topology_assignment(entry.topology).domains:
                found[values[-1]] += count
    return found


def asks(name: str, queue: str, count: int, priority: int = 0, gpu: str = "1", **request: Any) -> Workload:
    asked = {**pod_set(count=count, gpu=gpu), "topologyRequest": request}
    return workload(asked, spec={"queueName": queue, "priority": priority}, name=name, uid=name)
