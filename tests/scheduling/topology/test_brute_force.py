"""Placements on small random clusters, compared with all that could be tried.

No node is over its capacity, required levels and slices are whole, and nobody is refused for whom there is room.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random

import pytest

from policies.dialects.kueue_flavor import Flavor
from scheduling.topology.assignment import HOSTNAME
from scheduling.topology.fleet import Fleet
from scheduling.topology.placing import TopologyGates
from tests.profiles import each_seed
from tests.scheduling.topology.drawn import (
    BLOCK,
    FLAVOR,
    LEVELS,
    RACK,
    below,
    cluster,
    fitting,
    free,
    hosts,
    pods,
    random_nodes,
)

_FULL = 6
"""Seeds for each example of the profile."""


def sums(made: Fleet, level: str, counts: dict[str, int]) -> Counter[tuple[str, ...]]:
    """The counts by domain of the level, without zeros."""
    found = {domain: sum(counts.get(host, 0) for host in hosts) for domain, hosts in below(made, level).items()}
    return Counter({domain: count for domain, count in found.items() if count})


@each_seed(_FULL)
@pytest.mark.parametrize("level", LEVELS)
def test_a_required_domain_is_refused_only_if_no_domain_has_room(level: str, seed: int) -> None:
    random = Random(seed)
    made, cpu, count = cluster(random), random.randint(1, 2), random.randint(1, 10)
    room = {host: fitting(rest, cpu) for host, rest in free(made).items()}

    found = made.flavors[FLAVOR].place([pods(count, cpu=cpu, required=level)], {})

    possible = max(sums(made, level, room).values(), default=0) >= count
    assert possible is not bool(found.refused)
    if possible:
        taken = hosts(found.assigned["main"])
        assert sum(taken.values()) == count
        assert len(sums(made, level, taken)) == 1
        assert all(taken[host] <= room[host] for host in taken)


@each_seed(_FULL)
@pytest.mark.parametrize("gates", [TopologyGates(), TopologyGates(mixed=False), TopologyGates(balanced=True)])
def test_pods_that_may_spread_are_refused_only_if_the_cluster_is_full(gates: TopologyGates, seed: int) -> None:
    random = Random(seed)
    made, cpu, count = cluster(random, gates), random.randint(1, 2), random.randint(1, 14)
    room = {host: fitting(rest, cpu) for host, rest in free(made).items()}
    request = random.choice(({"anywhere": True}, {"preferred": HOSTNAME}, {"preferred": RACK}, {"preferred": BLOCK}))

    found = made.flavors[FLAVOR].place([pods(count, cpu=cpu, **request)], {})

    assert (sum(room.values()) >= count) is not bool(found.refused)
    if found.assigned:
        taken = hosts(found.assigned["main"])
        assert sum(taken.values()) == count
        assert all(taken[host] <= room[host] for host in taken)


@each_seed(_FULL)
def test_a_preferred_level_is_used_if_one_of_its_domains_has_room(seed: int) -> None:
    random = Random(seed)
    made, count = cluster(random), random.randint(1, 8)
    room = {host: fitting(rest, 1) for host, rest in free(made).items()}

    found = made.flavors[FLAVOR].place([pods(count, preferred=RACK)], {})

    for level in (RACK, BLOCK):
        if max(sums(made, level, room).values(), default=0) >= count:
            assert len(sums(made, level, hosts(found.assigned["main"]))) == 1
            break


@each_seed(_FULL)
def test_slices_are_placed_whole_or_refused_if_there_is_no_room(seed: int) -> None:
    random = Random(seed)
    made, size, slices = cluster(random), random.randint(2, 3), random.randint(1, 4)
    room = {host: fitting(rest, 1) for host, rest in free(made).items()}
    whole = {rack: count // size for rack, count in sums(made, RACK, room).items()}
    required = random.random() < 0.5

    request = {"required": BLOCK} if required else {}
    found = made.flavors[FLAVOR].place([pods(slices * size, slices=[(RACK, size)], **request)], {})

    blocks: Counter[str] = Counter()
    for rack, count in whole.items():
        blocks[rack[0]] += count
    possible = (max(blocks.values(), default=0) if required else blocks.total()) >= slices
    assert possible is not bool(found.refused)
    if possible:
        taken = hosts(found.assigned["main"])
        assert all(taken[host] <= room[host] for host in taken)
        assert sum(taken.values()) == slices * size
        assert all(count % size == 0 for count in sums(made, RACK, taken).values())


@each_seed(_FULL)
def test_nested_slices_are_whole_at_each_level(seed: int) -> None:
    random = Random(seed)
    made, slices = cluster(random), random.randint(1, 3)
    room = {host: fitting(rest, 1) // 2 * 2 for host, rest in free(made).items()}

    found = made.flavors[FLAVOR].place([pods(4 * slices, slices=[(RACK, 4), (HOSTNAME, 2)], required=BLOCK)], {})

    blocks: Counter[str] = Counter()
    for rack, count in sums(made, RACK, room).items():
        blocks[rack[0]] += count // 4
    assert (max(blocks.values(), default=0) >= slices) is not bool(found.refused)
    if found.assigned:
        taken = hosts(found.assigned["main"])
        assert all(taken[host] <= room[host] and taken[host] % 2 == 0 for host in taken)
        assert all(count % 4 == 0 for count in sums(made, RACK, taken).values())


@each_seed(_FULL)
def test_a_leader_and_its_workers_share_a_domain_if_one_has_room(seed: int) -> None:
    random = Random(seed)
    made, count, level = cluster(random), random.randint(2, 7), random.choice((BLOCK, RACK))
    of_leader, of_workers = random.randint(1, 3), random.randint(1, 2)
    group = {"required": level, "group": "g"}
    asked = [pods(1, "leader", of_leader, **group), pods(count, "workers", of_workers, **group)]

    found = made.flavors[FLAVOR].place(asked, {})

    rest = free(made)
    possible = any(_holds_both(rest, members, count, of_workers, of_leader) for members in below(made, level).values())
    assert possible is not bool(found.refused)
    if possible:
        (leader,) = hosts(found.assigned["leader"])
        workers = hosts(found.assigned["workers"])
        assert sum(workers.values()) == count
        assert len(sums(made, level, {**workers, leader: 1})) == 1
        for host, pods_there in workers.items():
            assert pods_there <= fitting(rest[host], of_workers, of_leader if host == leader else 0)


def _holds_both(rest: dict[str, tuple[int, int]], members: list[str], count: int, cpu: int, leader: int) -> bool:
    """Whether one of the hosts takes the leader, and all together the workers beside it."""
    alone = {host: fitting(rest[host], cpu) for host in members}
    beside = {host: fitting(rest[host], cpu, leader) for host in members}
    return any(beside[host] >= 0 and sum(alone.values()) - alone[host] + beside[host] >= count for host in members)


@each_seed(_FULL)
def test_two_pod_sets_do_not_use_the_same_capacity(seed: int) -> None:
    random = Random(seed)
    made = cluster(random)
    asked = [pods(random.randint(1, 4), f"p{turn}", random.randint(1, 2), anywhere=True) for turn in range(4)]

    found = made.flavors[FLAVOR].place(asked, {})

    taken: Counter[str] = Counter()
    for pod_set in asked:
        if pod_set.name in found.assigned:
            for host, count in hosts(found.assigned[pod_set.name]).items():
                taken[host] += count * pod_set.requests["cpu"] // 1000
    assert all(cores <= free(made)[host][0] for host, cores in taken.items())


@each_seed(_FULL)
def test_as_few_racks_as_possible_are_used_for_pods_that_prefer_one(seed: int) -> None:
    """In a cluster with only racks the largest racks are used first, which is the best choice."""
    random = Random(seed)
    made = Fleet()
    made.put_flavor(Flavor(FLAVOR, {}, topology="default"), (RACK, HOSTNAME))
    for number, each in enumerate(random_nodes(random)):
        labels = {**each.labels, RACK: f"r{number % 5}"}
        made.put_node(type(each)(each.name, labels, (), each.allocatable))
    room = {host: fitting(rest, 1) for host, rest in free(made).items()}
    racks: Counter[str] = Counter()
    for host, count in room.items():
        racks[made.nodes[host].labels[RACK]] += count
    count = random.randint(1, max(1, racks.total()))

    found = made.flavors[FLAVOR].place([pods(count, preferred=RACK)], {})

    if racks.total() >= count:
        used = {made.nodes[host].labels[RACK] for host in hosts(found.assigned["main"])}
        fewest = next(
            size
            for size in range(1, len(racks) + 1)
            if any(sum(racks[rack] for rack in some) >= count for some in combinations(racks, size))
        )
        assert len(used) == fewest
