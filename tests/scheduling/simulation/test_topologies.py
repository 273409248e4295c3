"""Simulations that place pods on the Nodes of the input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.configuration.kueue.gates import TABLES, TOPOLOGIES, FeatureGates, KueueVersion
from policies.model.objects import Ref
from scheduling.simulation.settings import SimulationSettings, read_settings
from scheduling.simulation.simulation import KueueSimulation
from scheduling.simulation.trace import Admitted, Evicted, Reserved
from scheduling.topology.assignment import HOSTNAME
from scheduling.topology.domains import level_word
from scheduling.visibility.sentence import sentence
from scheduling.visibility.workloads import running, waits
from scheduling.world.world import World
from tests.cli.organisations import KUEUE, local
from tests.scheduling.simulation.racks import BLOCK, LEVELS, QUEUES, RACK, RACKS, SLICES, job, node, pod_on, queue


def simulated(*manifests: dict[str, Any], settings: SimulationSettings | None = None, **spec: Any) -> KueueSimulation:
    simulation = KueueSimulation(settings)
    simulation.add([*QUEUES, queue(**spec), local("a"), *manifests])
    return simulation


def domains(simulation: KueueSimulation) -> dict[str, dict[str, int]]:
    """The pods of each domain that a job has, by its name."""
    return {
        simulation.names[each.workload].name: {
            domain.name: domain.pods
            for pod_set in each.pod_sets
            for domain in (pod_set.places.domains if pod_set.places else ())
        }
        for each in running(simulation.world)
    }


def test_a_rack_with_room_for_all_pods_is_assigned_and_shown() -> None:
    assert domains(simulated(*RACKS, job("ring", 4, required_topology=LEVELS[1]))) == {"ring": {"rack r1": 4}}


def test_slices_are_shown_by_their_own_level() -> None:
    slices = {"slice_required_topology": LEVELS[1], "slice_size": "3"}
    work = job("mesh", 6, required_topology=LEVELS[0], **slices)

    assert domains(simulated(*RACKS, work)) == {"mesh": {"rack r1": 3, "rack r2": 3}}


def _of_0_20(**gates: bool) -> SimulationSettings:
    return read_settings({"featureGates": gates}, FeatureGates(version=KueueVersion.V0_20))


def test_the_last_slice_is_short_in_kueue_0_20() -> None:
    simulation = simulated(*RACKS, job("mesh", 5, **BLOCK, **SLICES), settings=_of_0_20())

    assert domains(simulation) == {"mesh": {"rack r1": 2, "rack r2": 3}}


@pytest.mark.parametrize(
    ("pods", "gate", "says"),
    [
        (8, True, "even without other work, block b1 has room for 2 of the 3 slices of pod set main"),
        (5, False, "slices leave 2 of 5 pod(s) without a place"),
    ],
)
def test_pods_that_are_not_a_whole_slice_wait_for_a_domain(pods: int, gate: bool, says: str) -> None:
    simulation = simulated(*RACKS, job("mesh", pods, **BLOCK, **SLICES), settings=_of_0_20(TASPartialSlices=gate))

    assert domains(simulation) == {}
    assert says in why(simulation, "mesh")


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        (RACKS, "failed to assign flavors to pod set main: workload requires Topology, but there is no TAS cache info"),
        ((), "the ClusterQueue has no flavor without a topology, and the Nodes are not known here"),
    ],
)
def test_a_queue_without_flavors_counts_as_a_queue_with_topologies_only(
    nodes: tuple[dict[str, Any], ...], says: str
) -> None:
    work = job("idle", 2)
    del work["spec"]["template"]["spec"]["containers"][0]["resources"]

    simulation = simulated(*nodes, work, resourceGroups=[])

    assert domains(simulation) == {}
    assert says in why(simulation, "idle")


@pytest.mark.parametrize("each_node", [True, False])
def test_only_kueue_0_20_checks_nodes_of_a_topology_without_hosts(each_node: bool) -> None:
    racks = {**QUEUES[0], "spec": {"levels": [{"nodeLabel": level} for level in LEVELS[:2]]}}
    tainted = node("h1", "r1", taints=[{"key": "down", "effect": "NoSchedule"}])
    settings = _of_0_20(TASNodeFeasibilityForAllLevels=each_node)

    simulation = simulated(racks, tainted, node("h2", "r2"), job("ring", 2, **RACK), settings=settings)

    assert domains(simulation) == {"ring": {"rack r2" if each_node else "rack r1": 2}}


def test_a_level_is_implied_if_all_flavors_have_topologies() -> None:
    assert domains(simulated(node("h1", "r1"), job("any", 2))) == {"any": {"host h1": 2}}


def test_a_rack_whose_name_is_ambiguous_is_shown_with_its_block() -> None:
    work = job("ring", 2, required_topology=LEVELS[1])
    nodes = (node("h1", "r1"), node("h2", "r1", block="b2", cpu=1))

    assert domains(simulated(*nodes, work)) == {"ring": {"rack r1 of block b1": 2}}


def test_without_nodes_topology_requests_wait_and_this_is_reported_once() -> None:
    simulation = simulated(job("ring", 2, required_topology=LEVELS[1]), job("other", 2))

    assert domains(simulation) == {}
    assert simulation.intake.assumptions() == [
        "the input has no Node, so work that requests a topology is not placed, and waits"
    ]


def test_without_the_gate_topologies_are_ignored() -> None:
    needing = (gate for gate, needed in TABLES[KueueVersion.V0_19].needs.items() if TOPOLOGIES in needed)
    settings = read_settings({"featureGates": dict.fromkeys((TOPOLOGIES, *needing), False)}, FeatureGates())
    simulation = simulated(node("h1", "r1"), job("ring", 99, required_topology=LEVELS[1]), settings=settings)

    assert (domains(simulation), simulation.intake.assumptions()) == ({"ring": {}}, [])


@pytest.mark.parametrize(("layered", "racks"), [(True, {"rack r1": 2, "rack r2": 2}), (False, {"block b1": 4})])
def test_nested_slices_count_if_their_gate_is_on(layered: bool, racks: dict[str, int]) -> None:
    """The hosts of a rack have room for 3 and 1 pods: a slice of 2 on one host takes half of each rack."""
    settings = read_settings({"featureGates": {"TASMultiLayerTopology": layered}}, FeatureGates())
    nodes = [node(f"h{rack}{place}", f"r{rack}", cpu=cpu) for rack in (1, 2) for place, cpu in ((1, 3), (2, 1))]
    layers = '[{"topology": "example.com/rack", "size": 2}, {"topology": "kubernetes.io/hostname", "size": 2}]'
    work = job("mesh", 4, required_topology=LEVELS[0], slice_required_topology_constraints=layers)

    assert domains(simulated(*nodes, work, settings=settings)) == {"mesh": racks}


def test_new_nodes_let_waiting_work_start() -> None:
    simulation = simulated(pod_on("h1", 1), job("ring", 2, required_topology=LEVELS[1]))
    simulation.add([node("h1", "r1")])
    before = domains(simulation)
    simulation.add([node("h2", "r1")])

    assert (before, domains(simulation)) == ({}, {"ring": {"rack r1": 2}})
    assert simulation.intake.assumptions() == []


def test_a_pod_without_a_queue_uses_its_node_until_it_is_deleted() -> None:
    simulation = simulated(node("h1", "r1"), pod_on("h1", 1), job("ring", 2, required_topology=LEVELS[1]))
    before = domains(simulation)
    simulation.change([], [Ref("", "Pod", "ns", "daemon")])
    simulation.settle()

    assert (before, domains(simulation)) == ({}, {"ring": {"rack r1": 2}})
    assert simulation.left_out == {}


def test_a_pod_on_an_unknown_node_is_left_out() -> None:
    assert [each.name for each in simulated(*RACKS, pod_on("h9", 1)).left_out] == ["daemon"]


@pytest.mark.parametrize(
    ("ready", "cordoned", "placed"), [("", False, 1), ("True", False, 1), ("False", False, 0), ("", True, 0)]
)
def test_a_node_takes_pods_unless_it_is_not_ready_or_cordoned(ready: str, cordoned: bool, placed: int) -> None:
    simulation = simulated(node("h1", "r1", ready=ready, unschedulable=cordoned), job("ring", 2))

    assert len(domains(simulation)) == placed


def test_a_deleted_node_gets_no_new_pods_and_a_topology_in_use_stays() -> None:
    simulation = simulated(*RACKS)
    gone = [Ref("", "Node", None, name) for name in ("h1", "h2")]
    simulation.change([job("ring", 4, required_topology=LEVELS[1])], gone)
    simulation.settle()
    without_nodes = domains(simulation)
    simulation.change([node("h1", "r1"), node("h2", "r1")], [Ref("kueue.x-k8s.io", "Topology", None, "default")])
    simulation.settle()

    assert (without_nodes, list(domains(simulation).values())) == ({}, [{"rack r1": 4}])
    assert simulation.world.can_admit("a").active


def test_running_work_keeps_its_places_when_the_first_nodes_are_added() -> None:
    (held,) = simulated(*RACKS, job("ring", 4, required_topology=LEVELS[1])).world.workloads.values()
    simulation = simulated()
    simulation.world.put_workload(held, simulation.now)
    simulation.add([node("h1", "r1"), node("h2", "r1"), job("late", 1)])
    late = simulation.key_of("ns/late")
    before = simulation.world.workloads[late].admitted
    simulation.add([node("h3", "r2")])

    assert (before, simulation.world.workloads[late].admitted) == (False, True)


def test_a_delayed_topology_is_assigned_once_the_check_is_ready() -> None:
    check = {
        "apiVersion": KUEUE,
        "kind": "AdmissionCheck",
        "metadata": {"name": "nodes"},
        "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request"},
    }
    strategy = {"admissionChecks": [{"name": "nodes"}]}
    simulation = simulated(check, *RACKS, job("ring", 4, required_topology=LEVELS[1]), admissionChecksStrategy=strategy)

    assert domains(simulation) == {"ring": {"rack r1": 4}}
    assert [type(each) for each in simulation.trace] == [Reserved, Admitted]


def test_work_with_a_failed_node_is_evicted_from_a_rack_without_room() -> None:
    simulation = simulated(*RACKS, job("ring", 3, required_topology=LEVELS[1]))
    before = domains(simulation)
    (held,) = simulation.world.workloads.values()
    simulation.change([], [Ref("", "Node", None, "h4")])
    simulation.world.put_workload(replace(held, unhealthy_nodes=("h4",)), simulation.now)
    simulation.settle()

    assert (before, domains(simulation)) == ({"ring": {"rack r2": 3}}, {"ring": {"rack r1": 3}})
    assert [each.reason for each in simulation.trace if isinstance(each, Evicted)] == ["NodeFailures"]


def why(simulation: KueueSimulation, name: str) -> str:
    """Why the job waits, without its queue."""
    found = waits(simulation.world, simulation.key_of(f"ns/{name}"), simulation.now)
    assert found is not None
    head = "Waiting in ClusterQueue a (LocalQueue ns/a): "
    return sentence(simulation.world, found, str).text.removeprefix(head)


NEVER = "even without other work, rack r1 of block b1 has room for"
NODES = "or have nodes added to flavor spot"
RELEASED = "it starts once work there has ended, or nodes are added"


@pytest.mark.parametrize(
    ("before", "pods", "asked", "says"),
    [
        (4, 4, RACK, f"rack r2 of block b1 has room for 3 of the 4 pods of pod set main; {RELEASED}"),
        (4, 3, {**BLOCK, **SLICES}, ""),
        (5, 3, {**BLOCK, **SLICES}, f"rack r2 of block b1 has room for 2 of the 3 pods that a slice needs; {RELEASED}"),
        (3, 6, {**BLOCK, **SLICES}, f"block b1 has room for 1 of the 2 slices of pod set main; {RELEASED}"),
        (5, 6, {}, f"the nodes of flavor spot have room for 2 of the 6 pods of pod set main; {RELEASED}"),
        (7, 1, RACK, f"no rack has room for the pod of pod set main; {RELEASED}"),
        (7, 2, RACK, f"no rack has room for any of the 2 pods of pod set main; {RELEASED}"),
        (7, 2, {}, f"the nodes of flavor spot have room for none of the 2 pods of pod set main; {RELEASED}"),
        (
            0,
            5,
            RACK,
            f"{NEVER} 4 of the 5 pods of pod set main; request fewer pods or a higher level, {NODES}",
        ),
        (
            0,
            5,
            {**BLOCK, "slice_required_topology": LEVELS[1], "slice_size": "5"},
            f"{NEVER} 4 of the 5 pods that a slice needs; request smaller slices, {NODES}",
        ),
        (
            0,
            9,
            BLOCK,
            f"{NEVER.replace('rack r1 of ', '')} 7 of the 9 pods of pod set main; request fewer pods, {NODES}",
        ),
    ],
)
def test_the_message_names_the_domain_without_room(before: int, pods: int, asked: dict[str, str], says: str) -> None:
    work = (job("held", before, required_topology=LEVELS[0]),) if before else ()
    simulation = simulated(*RACKS, *work)
    simulation.add([job("late", pods, **asked)])

    assert says == (why(simulation, "late") if says else "")
    assert ("late" in domains(simulation)) == (not says)


def test_an_unknown_level_is_reported_with_the_known_levels() -> None:
    assert why(simulated(*RACKS, job("row", 1, required_topology="example.com/row")), "row") == (
        "its pods request a level that the topology of flavor spot does not have; "
        "request one of its levels, which are example.com/block, example.com/rack and kubernetes.io/hostname"
    )


def test_a_workload_that_waits_for_ready_nodes_reports_nodes_and_not_quota() -> None:
    said = why(simulated(node("h1", "r1", ready="Unknown"), job("ring", 2, required_topology=LEVELS[1])), "ring")

    assert said.endswith(
        "; it starts once nodes with all labels of the flavor and its topology are ready, or have room"
    ), said
    assert "no topology domains at level: example.com/rack" in said


def test_a_level_is_named_by_the_last_word_of_its_label() -> None:
    labels = ("topology.kubernetes.io/zone", "cloud.google.com/gce-topology-block", "example.com/rack", HOSTNAME)

    assert list(map(level_word, labels)) == ["zone", "block", "rack", "host"]


def test_nodes_of_a_change_are_not_taken_for_all_nodes_of_the_cluster() -> None:
    simulation = KueueSimulation(world=World())
    simulation.add([*QUEUES, queue(), local("a"), *RACKS, job("ring", 4)])

    assert domains(simulation) == {}
