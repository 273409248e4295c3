"""The loop on nodes, against an API server that loses, delays and mixes up what it can: no node is ever assigned more
than it has, and in the end nobody waits for whom there is room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from reconciler.core.state import ClusterState
from reconciler.objects.observed import Key
from reconciler.objects.topology_views import TOPOLOGY_KINDS
from reconciler.shell.loop import Loop
from scheduling.objects.reading import read_workload
from scheduling.topology.encoding import read_topology_assignment
from scheduling.topology.fleet import Fleet
from scheduling.world.world import World
from tests.profiles import seeds_of_long_runs
from tests.reconciler.checked import Asks, Leads, loop
from tests.reconciler.core.racks import PLACED, TOPOLOGY, node
from tests.reconciler.core.storm import Storm
from tests.reconciler.memory_api import Api, Manifest
from tests.reconciler.recount import asked, holds_quota

ROOM = 3
"""The cpus of each node. A pod may ask for one more than that."""
NODES = ("n1", "n2", "n3", "n4")


class RackApi(Api):
    """What is assigned to each node is recounted after every write."""

    def put(self, key: Key, manifest: Manifest) -> None:
        before = self.assigned()
        super().put(key, manifest)
        over = {host: cpus for host, cpus in self.assigned().items() if cpus > max(ROOM, before[host])}
        assert not over, f"{key} makes too much of {over}"

    def assigned(self) -> Counter[str]:
        """The cpus that are assigned on each node."""
        found: Counter[str] = Counter()
        for manifest in self.workloads():
            read = read_workload(manifest)
            for entry in read.admission.assignments if holds_quota(manifest) and read.admission else ():
                assert entry.topology is not None, f"{read.key} has no place"
                for values, pods in read_topology_assignment(entry.topology).domains:
                    found[values[-1]] += pods * asked(manifest)
        return found

    def fits(self, workload: Manifest) -> bool:
        there = {name for kind, name in self.objects if kind == "Node" and self._seen((kind, name)).value is not None}
        cpus = self.assigned()
        return super().fits(workload) and any(cpus[name] + asked(workload) <= ROOM for name in there)


class RackStorm(Storm):
    """Every pod gets a place; nodes come and go."""

    def new_api(self) -> Api:
        made = RackApi(self.chance, self.tell)
        made.events.update({each.kind: [] for each in TOPOLOGY_KINDS})
        return made

    def new_loop(self, asks: Asks) -> Loop:
        state = ClusterState(World(fleet=Fleet()))
        return loop(asks, permit=Leads(lambda: self.leads), clock=lambda: self.now, state=state)

    def _objects(self) -> None:
        super()._objects()
        self.api.put(("Topology", "racks"), TOPOLOGY)
        self.api.put(("ResourceFlavor", "plain"), PLACED)
        for name in NODES:
            self.api.put(("Node", name), node(name, ROOM))

    def happenings(self) -> list[tuple[int, Callable[[], None]]]:
        return [*super().happenings(), (2, self._node)]

    def _node(self) -> None:
        """A node is deleted, created or changed. Only running work continues on a deleted node."""
        name = self.chance.choice(NODES)
        if ("Node", name) not in self.api.objects:
            self.api.put(("Node", name), node(name, ROOM))
        elif self.chance.random() < 0.5:
            self.api.drop(("Node", name))
        else:
            self.api.put(("Node", name), node(name, ROOM, ready=self.chance.random() < 0.5))


@pytest.mark.parametrize("seed", seeds_of_long_runs(2))
def test_random_faults_overload_no_node_and_every_workload_is_decided(seed: int) -> None:
    storm = RackStorm(seed, faults=(0.0, 0.25, 0.5)[seed % 3])
    storm.blow(250)

    storm.check_rest()
    fleet = storm.loop.core.state.world.state.fleet
    assert fleet is not None
    tree, assigned = fleet.flavors["plain"].tree, storm.api.assigned()  # type: ignore[attr-defined]
    for domain in tree.lowest():
        assert domain.remain.get("cpu", 0) == 1000 * (ROOM - assigned[domain.values[-1]])
