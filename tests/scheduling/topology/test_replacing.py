"""Only the pods of a failed node move, the topology request stays met, and no node is over its capacity."""

from __future__ import annotations

from random import Random

from policies.dialects.kueue_flavor import Flavor
from scheduling.topology.fleet import Fleet
from scheduling.topology.placing import stale_domain
from scheduling.topology.replacing import replaced
from tests.profiles import each_seed
from tests.scheduling.topology.drawn import BLOCK, FLAVOR, LEVELS, RACK, assigned, drawn, fleet, pods, random_nodes

ONE = {"cpu": 1000}


def test_the_pods_stay_in_the_required_rack() -> None:
    made = fleet("b1/r1 n1=2 n2=2; b1/r2 n3=4")
    made.hold(FLAVOR, assigned("n1=1 n9=1"), ONE)

    found = replaced(made.flavors[FLAVOR], pods(2, required=RACK), assigned("n1=1 n9=1"), "n9", {})

    assert found == assigned("n1=2")


def test_a_second_missing_node_is_named_in_the_message() -> None:
    made = fleet("b1/r1 n1=2")

    found = replaced(made.flavors[FLAVOR], pods(3, required=RACK), assigned("n1=1 n8=1 n9=1"), "n9", {})

    assert found == (
        "Cannot replace the node, because the existing topologyAssignment is invalid, "
        "as it contains the stale domain n8"
    )
    assert stale_domain(made.flavors[FLAVOR].tree, assigned("n1=1")) is None


def test_a_pod_that_cannot_move_keeps_its_place() -> None:
    made = fleet("b1/r1 n1=2")

    assert replaced(
        made.flavors[FLAVOR], pods(1, required=RACK), assigned("n9=1"), "n9", {}, movable=False
    ) == assigned("n9=1")


def test_the_first_of_several_broken_slices_is_repaired() -> None:
    made = fleet("b1/r1 n1=1 n2=1; b1/r2 n3=1 n4=1")
    made.hold(FLAVOR, assigned("n1=1 n3=1"), ONE)
    request = pods(4, required=BLOCK, slices=[(RACK, 2)])

    found = replaced(made.flavors[FLAVOR], request, assigned("n1=1 n3=1 n9=1"), "n9", {})

    assert found == assigned("n1=1 n2=1 n3=1")


def test_an_unknown_level_is_reported_and_not_an_internal_error() -> None:
    made = fleet("b1/r1 n1=2")

    found = replaced(made.flavors[FLAVOR], pods(2, required="shelf"), assigned("n1=1 n9=1"), "n9", {})

    assert found == "no requested topology level: shelf"


@each_seed(6)
def test_only_the_pods_of_the_failed_node_move(seed: int) -> None:
    random = Random(seed)
    made = Fleet()
    made.put_flavor(Flavor(FLAVOR, {}, topology="default"), LEVELS)
    for each in random_nodes(random):
        made.put_node(each)
    request = random.choice(
        (
            pods(random.randint(1, 8), required=random.choice((BLOCK, RACK))),
            pods(random.randint(1, 8), anywhere=True),
            pods(2 * random.randint(1, 4), required=BLOCK, slices=[(RACK, 2)]),
        )
    )
    flavor = made.flavors[FLAVOR]
    present = flavor.place([request], {}).assigned.get("main")
    if present is None or not present.domains:
        return
    made.hold(FLAVOR, present, ONE)
    failed = random.choice(present.domains).values[0]
    made.drop_node(failed)
    before = {each.id[0]: each.remain.get("cpu", 0) // 1000 for each in flavor.tree.lowest()}

    found = replaced(flavor, request, present, failed, {})

    if isinstance(found, str):
        return
    held, now = present.without(failed).counts(), found.counts()
    assert (failed,) not in now
    assert found.pods == present.pods
    assert all(now[host] >= count for host, count in held.items())
    assert all(count - held.get(host, 0) <= before[host[0]] for host, count in now.items()), drawn(found)
    lowest = [flavor.tree.find(host) for host in now]
    if request.request.required:
        level = LEVELS.index(request.request.required)
        assert len({each.values[: level + 1] for each in lowest if each}) == 1
