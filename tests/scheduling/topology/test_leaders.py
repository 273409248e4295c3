"""In Kueue 0.20 the leader's own pod template decides which nodes it may use."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from policies.dialects.taints import Taint, Toleration
from scheduling.topology.fleet import Fleet
from scheduling.topology.node_filter import ANY_NODE, NodeFilter
from scheduling.topology.placing import PlacedPods, TopologyGates
from tests.profiles import each_seed
from tests.scheduling.topology.drawn import (
    BLOCK,
    FLAVOR,
    RACK,
    below,
    cluster,
    fitting,
    fleet,
    free,
    hosts,
    node,
    place,
    pods,
)

FILTERED = TopologyGates(leader_filter=True, short_slices=True)
ON_HEADS = NodeFilter(selector=(("kind", "head"),), tolerations=(Toleration("head", "Exists"),))
ON_OTHERS = NodeFilter(selector=(("kind", "worker"),))
_FULL = 12


def racks(gates: TopologyGates) -> Fleet:
    """A rack of one head and one worker, and one of two workers that is tighter."""
    made = fleet("b1/r1 n1=0", gates=gates)
    made.put_node(node("h1", 2, rack="r1", labels={"kind": "head"}, taints=(Taint("head", "", "NoSchedule"),)))
    made.put_node(node("w1", 4, rack="r1", labels={"kind": "worker"}))
    made.put_node(node("w2", 2, rack="r2", labels={"kind": "worker"}))
    made.put_node(node("w3", 2, rack="r2", labels={"kind": "worker"}))
    return made


def group(leader: NodeFilter, workers: NodeFilter, count: int = 3, level: str = RACK) -> tuple[PlacedPods, PlacedPods]:
    asked = {"required": level, "group": "g"}
    return (
        replace(pods(1, "leader", **asked), filter=leader),
        replace(pods(count, "workers", **asked), filter=workers),
    )


def test_a_leader_gets_a_node_that_its_workers_may_not_use() -> None:
    assert place(racks(FILTERED), *group(ON_HEADS, ON_OTHERS)) == {"leader": "h1=1", "workers": "w1=3"}
    assert place(racks(FILTERED), *group(ON_HEADS, ON_OTHERS, 4)) == {"leader": "h1=1", "workers": "w1=4"}


def test_a_leader_gets_no_node_that_it_may_not_use() -> None:
    found = place(racks(FILTERED), *group(NodeFilter(selector=(("kind", "none"),)), ANY_NODE))

    assert found["leader"] == found["workers"]
    assert found["leader"].startswith('topology "default"')


def test_in_kueue_0_19_only_the_template_of_the_workers_counts() -> None:
    assert place(racks(TopologyGates()), *group(ON_HEADS, ON_OTHERS)) == {"leader": "w1=1", "workers": "w1=3"}


@each_seed(_FULL)
def test_leader_and_workers_get_allowed_nodes_if_a_domain_has_room(seed: int) -> None:
    random = Random(seed)
    made = cluster(random, FILTERED)
    kinds = {name: random.choice("abc") for name in made.nodes}
    for each in list(made.nodes.values()):
        made.put_node(replace(each, labels={**each.labels, "kind": kinds[each.name]}))
    of_leader, of_workers = random.choice("ab"), random.choice("ab")
    count, level, cpu = random.randint(2, 6), random.choice((BLOCK, RACK)), random.randint(1, 3)
    leader, workers = group(
        NodeFilter(selector=(("kind", of_leader),)), NodeFilter(selector=(("kind", of_workers),)), count, level
    )
    leader = replace(leader, requests={"cpu": cpu * 1000})

    found = made.flavors[FLAVOR].place([leader, workers], {})

    rest = free(made)

    def room(host: str, lead: str) -> int:
        return fitting(rest[host], 1, cpu if host == lead else 0) if kinds[host] == of_workers else 0

    possible = any(
        kinds[lead] == of_leader
        and fitting(rest[lead], 1, cpu) >= 0
        and sum(room(host, lead) for host in members) >= count
        for members in below(made, level).values()
        for lead in members
    )
    assert possible is not bool(found.refused), found.refused
    if possible:
        (lead,) = hosts(found.assigned["leader"])
        taken = hosts(found.assigned["workers"])
        assert kinds[lead] == of_leader
        assert sum(taken.values()) == count
        assert all(taken[host] <= room(host, lead) for host in taken)
