"""Topologies: what is watched for them, what is written, and when a Workload with quota is placed."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.core.commands import FollowResource
from reconciler.core.core import Core
from reconciler.core.decider import SecondPasses
from reconciler.core.events import LeadershipGained, TimePassed
from reconciler.core.state import ClusterState
from reconciler.objects.observed import Listed
from scheduling.objects.times import SECOND
from scheduling.quota.state import Options
from scheduling.topology.assignment import HOSTNAME
from scheduling.topology.fleet import Fleet
from scheduling.world.world import World
from tests import builders
from tests.builders import Manifest, kueue
from tests.reconciler.core.racks import PLACED, RACK, TOPOLOGY, node
from tests.reconciler.plain_queues import START, workload
from tests.reconciler.prompt import Prompt
from tests.reconciler.recount import holds


def pod(name: str, cpu: str, on: str = "n1", phase: str = "Running", **metadata: Any) -> Manifest:
    spec = {"nodeName": on, "containers": [builders.core.container(cpu=cpu)]}
    return {**builders.pod(name, spec=spec, **metadata), "status": {"phase": phase}}


def asks(name: str, count: int, number: int = 1, **request: Any) -> Manifest:
    """A Workload of pods with one cpu each."""
    made = workload(name, number, "q0", 1, 0)
    return {
        **made,
        "spec": {
            **made["spec"],
            "podSets": [{**each, "count": count, "topologyRequest": request} for each in made["spec"]["podSets"]],
        },
    }


def racks(*nodes: Manifest, quota: int = 10, options: Options | None = None) -> Prompt:
    """A queue whose flavor has racks of these nodes."""
    api = Prompt((), quota=quota, fleet=Fleet(), options=options)
    api.put(("Topology", "racks"), TOPOLOGY)
    api.put(("ResourceFlavor", "plain"), PLACED)
    for each in nodes:
        api.put(("Node", each["metadata"]["name"]), each)
    return api


def submit(api: Prompt, *made: Manifest) -> None:
    for each in made:
        api.put(("Workload", f"ns/{each['metadata']['name']}"), each)
    api.rounds(6)


def stored(api: Prompt, name: str) -> Manifest:
    return api.objects["Workload", f"ns/{name}"]


def places(api: Prompt, name: str) -> Manifest | None:
    (entry,) = stored(api, name)["status"]["admission"]["podSetAssignments"]
    found: Manifest | None = entry.get("topologyAssignment")
    return found


def says(api: Prompt, name: str, kind: str) -> tuple[str, str, str]:
    (found,) = (each for each in stored(api, name)["status"]["conditions"] if each["type"] == kind)
    return found["status"], found["reason"], found["message"]


def on(*hosts: tuple[str, int]) -> Manifest:
    """The assignment as stored, of hosts whose names differ in the digit."""
    roots, counts = [name[1:] for name, _ in hosts], [count for _, count in hosts]
    if len(hosts) == 1:
        values: Manifest = {"universal": hosts[0][0]}
    else:
        values = {"individual": {"prefix": "n", "roots": roots}}
    pods: Manifest = {"universal": counts[0]} if len({*counts}) == 1 else {"individual": counts}
    return {
        "levels": [HOSTNAME],
        "slices": [{"domainCount": len(hosts), "valuesPerLevel": [values], "podCounts": pods}],
    }


# --- what is followed


def core() -> Core:
    made = Core(ClusterState(World(fleet=Fleet())), exclusive=True)
    made.handle([LeadershipGained()], START)
    return made


def everything_else(made: Core, *flavors: Manifest) -> list[object]:
    """The lists of all kinds but Nodes and Pods."""
    found: list[object] = []
    for resource in made.informer.resources:
        for view in resource.views if not resource.on_demand else ():
            objects = tuple(view.observed(each) for each in flavors if view.kind == "ResourceFlavor")
            found += made.handle([Listed(view.kind, objects, "1"), TimePassed()], START)
    return found


def test_nodes_and_pods_are_watched_only_once_a_flavor_has_a_topology() -> None:
    made = core()
    assert everything_else(made, builders.FLAVOR) == []
    assert made.state.complete

    flavor = made.informer.watched["ResourceFlavor"].observed(
        {**PLACED, "metadata": {"name": "plain", "resourceVersion": "9"}}
    )
    followed = [each for each in made.handle([flavor], START) if isinstance(each, FollowResource)]
    assert [str(each.watched.resource) for each in followed] == ["nodes.v1", "pods.v1"]
    assert not made.state.complete, "nothing is decided before the nodes are known"
    assert made.handle([flavor], START) == []
    made.handle([Listed("Node", (), "9"), Listed("PodOnNode", (), "9")], START)
    assert made.state.complete


def test_a_new_process_decides_nothing_before_the_nodes_are_listed() -> None:
    made = core()
    commands = everything_else(made, PLACED)
    assert [type(each) for each in commands if isinstance(each, FollowResource)] == [FollowResource, FollowResource]
    assert not made.state.complete


def test_topologies_are_not_watched_without_the_gate() -> None:
    made = Core(ClusterState(World(Options(topologies=False))), exclusive=True)
    assert not {"Topology", "Node", "PodOnNode"} & made.informer.watched.keys()


# --- what is written


def test_the_topology_assignment_is_stored_and_a_missing_place_is_reported() -> None:
    api = racks(node("n1", 2), node("n2", 1), node("n3", 2, rack="r2"))
    submit(api, asks("first", 3, 1, required=RACK), asks("second", 3, 2, required=RACK))

    assert places(api, "first") == on(("n1", 2), ("n2", 1))
    assert says(api, "first", "Admitted") == ("True", "Admitted", "The workload is admitted")
    status, reason, message = says(api, "second", "QuotaReserved")
    assert (status, reason) == ("False", "Pending")
    assert message == (
        'couldn\'t assign flavors to pod set main: topology "racks" allows to fit only 2 out of 3 pod(s). '
        'Total nodes: 3; excluded: resource "cpu": 2'
    )

    api.put(("Node", "n4"), node("n4", 1, rack="r2", ready=False))
    api.rounds(3)
    assert not holds(stored(api, "second"), "QuotaReserved")
    api.put(("Node", "n4"), node("n4", 1, rack="r2"))
    api.rounds(6)
    assert places(api, "second") == on(("n3", 2), ("n4", 1))


def test_a_new_process_counts_stored_assignments() -> None:
    before = racks(node("n1", 2))
    submit(before, asks("first", 2, required=HOSTNAME))

    api = racks(node("n1", 2), node("n2", 1))
    submit(api, stored(before, "first"), asks("second", 1, 2, unconstrained=True))
    assert places(api, "first") == on(("n1", 2))
    assert places(api, "second") == on(("n2", 1))
    assert not [action for (kind, name), action in api.writes if name == "ns/first"]


def test_a_queue_with_only_topology_flavors_places_all_work() -> None:
    api = racks(node("n1", 2))
    submit(api, workload("plain", 1, "q0", 1, 0))
    assert places(api, "plain") == on(("n1", 1))


def test_other_pods_use_room_until_they_end() -> None:
    api = racks(node("n1", 2))
    api.put(("PodOnNode", "ns/daemon"), pod("daemon", "1"))
    labels = {"kueue.x-k8s.io/podset": "main"}
    of_topology = {"annotations": {"kueue.x-k8s.io/podset-required-topology": RACK}, "labels": labels}
    api.put(("PodOnNode", "ns/counted-by-its-workload"), pod("counted-by-its-workload", "1", **of_topology))
    submit(api, asks("both", 2, required=RACK))
    assert not holds(stored(api, "both"), "QuotaReserved")

    api.put(("PodOnNode", "ns/daemon"), pod("daemon", "1", phase="Succeeded"))
    api.rounds(6)
    assert places(api, "both") == on(("n1", 2))


def test_a_queue_whose_topology_does_not_exist_is_inactive() -> None:
    api = racks(node("n1", 2))
    api.rounds(3)

    def active() -> tuple[str, str, str]:
        (condition,) = api.objects["ClusterQueue", "q0"]["status"]["conditions"]
        return condition["status"], condition["reason"], condition["message"]

    api.now += SECOND
    api.rounds(3)
    assert active()[:2] == ("True", "Ready")
    api.drop(("Topology", "racks"))
    api.now += SECOND
    api.rounds(3)
    assert active() == (
        "False",
        "TopologyNotFound",
        'Can\'t admit new workloads: there is no Topology "racks" for TAS flavor "plain".',
    )


def test_without_the_gate_a_flavor_with_a_topology_is_used_like_any_other() -> None:
    api = Prompt((), options=Options(topologies=False))
    api.put(("ResourceFlavor", "plain"), PLACED)
    submit(api, asks("first", 2, required=RACK), workload("second", 2, "q0", 1, 0))
    assert [places(api, each) for each in ("first", "second")] == [None, None]
    assert holds(stored(api, "first"), "Admitted")
    assert holds(stored(api, "second"), "Admitted")


@pytest.mark.parametrize("by_prefix", [True, False])
def test_hosts_with_a_common_name_prefix_are_written_together(by_prefix: bool) -> None:
    names = [f"pool-{pool}-node-{number:02}" for pool in "ab" for number in range(15)]
    api = racks(*(node(name, 2) for name in names), quota=60, options=Options(encode_by_prefix=by_prefix))
    submit(api, asks("wide", 60, required=RACK))
    assigned = places(api, "wide")
    assert assigned is not None
    assert len(assigned["slices"]) == (2 if by_prefix else 1)


# --- second passes


CHECK = kueue("AdmissionCheck", "nodes", {"controllerName": "kueue.x-k8s.io/provisioning-request"})
CHECKED = {"admissionChecks": [{"name": "nodes"}]}


def provisioned(*nodes: Manifest) -> Prompt:
    """New nodes are needed before anything is admitted."""
    api = racks(*nodes)
    active = [
        {
            "type": "Active",
            "status": "True",
            "reason": "Active",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    api.put(("AdmissionCheck", "nodes"), {**CHECK, "status": {"conditions": active}})
    api.edit(("ClusterQueue", "q0"), {"spec": {"admissionChecksStrategy": CHECKED}})
    api.rounds(3)
    return api


def checked(api: Prompt, name: str, **update: Any) -> None:
    """Sets the check to Ready: the new nodes exist."""
    (check,) = stored(api, name)["status"]["admissionChecks"]
    ready = {**check, "state": "Ready", "podSetUpdates": [{"name": "main", **update}]}
    api.edit(("Workload", f"ns/{name}"), {"status": {"admissionChecks": [ready]}})
    api.rounds(3)


def test_work_for_new_nodes_is_placed_a_second_after_the_check_is_ready() -> None:
    api = provisioned(node("n1", 1))
    submit(api, asks("first", 2, required=RACK))
    assert places(api, "first") is None
    assert stored(api, "first")["status"]["admission"]["podSetAssignments"][0]["delayedTopologyRequest"] == "Pending"

    api.put(("Node", "n2"), node("n2", 1))
    checked(api, "first")
    assert not holds(stored(api, "first"), "Admitted")
    api.now += SECOND
    api.rounds(3)
    assert places(api, "first") == on(("n1", 1), ("n2", 1))
    assert stored(api, "first")["status"]["admission"]["podSetAssignments"][0]["delayedTopologyRequest"] == "Ready"
    assert holds(stored(api, "first"), "Admitted")


def test_work_without_pods_needs_no_assignment() -> None:
    """A Job may have the parallelism 0."""
    api = provisioned(node("n1", 1))
    submit(api, asks("empty", 0))
    checked(api, "empty")
    assert holds(stored(api, "empty"), "Admitted")


@pytest.mark.parametrize("count", [0, 1])
def test_a_pending_assignment_that_is_not_needed_is_marked_ready(count: int) -> None:
    """An earlier version, or Kueue, stored a pending assignment for a pod set without a topology request."""
    api = provisioned(node("n1", 4))
    made = asks("both", 1, required=RACK)
    (main,) = made["spec"]["podSets"]
    made["spec"]["podSets"] = [main, {**main, "name": "other", "count": count, "topologyRequest": {}}]
    plain = builders.group("cpu", *(builders.flavor(each, cpu="10") for each in ("plain", "bare")))
    api.put(("ResourceFlavor", "bare"), kueue("ResourceFlavor", "bare", {}))
    api.edit(("ClusterQueue", "q0"), {"spec": {"resourceGroups": [plain]}})
    submit(api, made)
    status = stored(api, "both")["status"]
    assigned = [{**each, "delayedTopologyRequest": "Pending"} for each in status["admission"]["podSetAssignments"]]
    api.edit(("Workload", "ns/both"), {"status": {"admission": {**status["admission"], "podSetAssignments": assigned}}})
    checked(api, "both")
    for _ in range(3):
        api.now += SECOND
        api.rounds(3)

    assert holds(stored(api, "both"), "Admitted")
    entries = stored(api, "both")["status"]["admission"]["podSetAssignments"]
    assert ["topologyAssignment" in each for each in entries] == [True, False]
    assert {each["delayedTopologyRequest"] for each in entries} == {"Ready"}


def test_a_failed_second_pass_is_reported_and_tried_again() -> None:
    api = provisioned(node("n1", 1))
    submit(api, asks("first", 2, required=RACK))
    checked(api, "first")
    api.now += SECOND
    api.rounds(2)
    assert [(kind, message) for kind, reason, _, message in api.events if reason == "SecondPassFailed"] == [
        (
            "Warning",
            'couldn\'t assign flavors to pod set main: topology "racks" allows to fit only 1 out of 2 pod(s)',
        )
    ]

    api.put(("Node", "n2"), node("n2", 1))
    api.rounds(2)
    assert not holds(stored(api, "first"), "Admitted")
    api.now += 2 * SECOND
    api.rounds(3)
    assert holds(stored(api, "first"), "Admitted")


def test_the_wait_between_second_passes_doubles_up_to_30_seconds() -> None:
    passes, now = SecondPasses(), START
    waits = [passes.due_at("ns/first", now) - now]
    while len(waits) < 7:
        now += waits[-1]
        assert passes.due_at("ns/first", now) == now
        waits.append(passes.failed("ns/first", now) - now)
    assert [each // SECOND for each in waits] == [1, 2, 4, 8, 16, 30, 30]

    passes.end("ns/first")
    assert passes.due_at("ns/first", now) == now + SECOND
    passes.forget_gone({})
    assert passes.due_at("ns/first", now + 5) == now + 5 + SECOND


def test_pods_of_a_failed_node_are_moved_or_their_workload_is_evicted() -> None:
    api = racks(node("n1", 1), node("n2", 1))
    submit(api, asks("first", 1, required=HOSTNAME))
    for lost, other in (("n1", "n2"), ("n2", None)):
        api.put(("Node", lost), node(lost, 1, ready=False))
        api.edit(("Workload", "ns/first"), {"status": {"unhealthyNodes": [{"name": lost}]}})
        api.rounds(3)
        api.now += SECOND
        api.rounds(3)
        if other is not None:
            assert places(api, "first") == on((other, 1))
            assert not stored(api, "first")["status"].get("unhealthyNodes")
    assert says(api, "first", "Evicted") == (
        "True",
        "NodeFailures",
        "Workload was evicted as there was no replacement for unhealthy node(s): n2",
    )
