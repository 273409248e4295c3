"""Kueue's placements in topologies: its own tables, and random cases that its code answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from policies.dialects.kueue_flavor import Flavor
from policies.dialects.kueue_jobs import POD_SET, STARTED_FOR
from policies.dialects.pod_reading import pod_reading
from policies.dialects.taints import read_taint, read_toleration
from policies.mutation.kueue_pod_defaults import TOPOLOGY_GATE
from scheduling.objects import amounts
from scheduling.objects.reading import read_workload
from scheduling.objects.template import template
from scheduling.objects.workload import ADMITTED, Admission, Condition, PodSet, PodSetAdmission, Workload
from scheduling.topology.assignment import AssignedDomain, TopologyAssignment
from scheduling.topology.encoding import written_topology_assignment
from scheduling.topology.fleet import Fleet
from scheduling.topology.node_filter import TopologyNode, node_filter
from scheduling.topology.placing import PlacedPods, Placements, TopologyGates
from scheduling.topology.pods import topology_pod
from scheduling.topology.replacing import replaced
from scheduling.topology.request import read_topology_request
from scheduling.topology.ungating import ungated
from scheduling.topology.workload_places import TopologyUsage, fits
from tests.conformance.suite import Data, Suite, mismatch, suite

_GATES = {
    "TASProfileMixed": "mixed",
    "TASBalancedPlacement": "balanced",
    "TASRespectNodeAffinityPreferred": "preferred",
    "TASHandleOverlappingFlavors": "overlapping",
}
_RECORDED = ("worked-examples", "random-placement")
"""Files that have the outcome of Kueue's last test before an admission."""
_PLACEMENTS = (
    *_RECORDED,
    "kueue-find-topology-assignments",
    "random-replacement",
    "kueue-multi-layer-replacement",
)
_FLAVOR, _OTHER = "tas", "other"


def suites(folder: Path) -> Iterator[Suite]:
    where = folder / "kueue-tas"
    for name in _PLACEMENTS:
        yield suite("kueue-tas", where / f"{name}.json", partial(placed, name in _RECORDED))


def placed(fit_is_known: bool, case: Data) -> str | None:
    given, expected = case["given"], case["expect"]
    if given["gatedPods"]:
        return _ranked(given, expected)
    if given["unhealthyNode"]:
        return _replaced(case)
    fleet = fleet_of(given, gates_of(case))
    pod_sets = list(map(_pods_of(given), given["podSets"]))
    found = fleet.flavors[_FLAVOR].place(pod_sets, {}, empty=bool(given["simulateEmpty"]))
    answers = [_answer(found, pod_set.name) for pod_set in pod_sets]
    placed = [{key: each[key] for key in each if key != "lastFitTest"} for each in expected["podSets"]]
    return (
        mismatch(placed, answers)
        or _stored(expected, found)
        or (_fits_last(fleet, pod_sets, expected, found) if fit_is_known else None)
    )


def _answer(found: Placements, name: str) -> Data:
    if name in found.refused:
        return {"reason": found.refused[name]}
    return {"assignment": written(found.assigned[name])} if name in found.assigned else {"notReached": True}


def _fits_last(fleet: Fleet, pod_sets: list[PlacedPods], expected: Data, found: Placements) -> str | None:
    """Against the room at the start, each pod set by itself."""
    wanted = {
        pod_set.name: each.get("lastFitTest", True)
        for pod_set, each in zip(pod_sets, expected["podSets"], strict=True)
        if "assignment" in each
    }
    answers = {}
    for pod_set in pod_sets:
        if pod_set.name in wanted:
            counts = found.assigned[pod_set.name].counts()
            answers[pod_set.name] = fits(
                fleet, [TopologyUsage(_FLAVOR, domain, pod_set.requests, pods) for domain, pods in counts.items()]
            )
    return mismatch(wanted, answers)


def _stored(expected: Data, found: Placements) -> str | None:
    if not expected["encoded"]:
        return None
    (assignment,) = found.assigned.values()
    return mismatch(expected["encoded"], written_topology_assignment(assignment))


def _replaced(case: Data) -> str | None:
    given, workload = case["given"], case["given"]["workload"]
    flavor = fleet_of(given, gates_of(case)).flavors[_FLAVOR]
    (pods,) = map(_pods_of(given), given["podSets"])
    movable = workload is None or not read_workload(workload).of_one_pod
    found = replaced(
        flavor, pods, assignment_of(given["existingAssignment"]), given["unhealthyNode"], {}, movable=movable
    )
    answer = {"reason": found} if isinstance(found, str) else {"assignment": written(found)}
    return mismatch(case["expect"]["podSets"], [answer])


def _ranked(given: Data, expected: Data) -> str | None:
    assignment = written_topology_assignment(assignment_of(given["assignment"]))
    pod_set = PodSet("main", 3, template({}), topology={"podIndexLabel": given["podIndexLabel"]})
    admission = Admission("cq", (PodSetAdmission("main", {}, {}, topology=assignment),))
    workload = Workload(
        namespace="ns", name="w", pod_sets=(pod_set,), admission=admission, conditions={ADMITTED: Condition("True")}
    )
    pods = [
        pod_reading(
            {
                "metadata": {
                    "namespace": "ns",
                    "name": pod["name"],
                    "labels": {**pod["labels"], POD_SET: "main"},
                    "annotations": {STARTED_FOR: "w"},
                },
                "spec": {"schedulingGates": [{"name": TOPOLOGY_GATE}]},
            }
        )
        for pod in given["gatedPods"]
    ]
    found = {key.partition("/")[2]: selector for key, selector in ungated(workload, [*map(topology_pod, pods)]).items()}
    return mismatch(expected["nodeSelectors"], found)


def assignment_of(given: Any) -> TopologyAssignment:
    domains = [AssignedDomain(tuple(each["values"]), each["count"]) for each in given.get("domains") or ()]
    return TopologyAssignment(tuple(given["levels"]), tuple(domains))


def gates_of(case: Data) -> TopologyGates:
    return TopologyGates(**{_GATES[gate]: on for gate, on in case["featureGates"].items() if gate in _GATES})


def fleet_of(given: Data, gates: TopologyGates) -> Fleet:
    fleet = Fleet(gates)
    flavor = given["flavor"] or {}
    fleet.put_flavor(Flavor(_FLAVOR, flavor.get("nodeLabels") or {}, topology="default"), tuple(given["levels"]))
    for node in given["nodes"]:
        if node.get("ready", True) and not node.get("unschedulable"):
            fleet.put_node(_node(node))
    for number, pod in enumerate(given["pods"] or ()):
        if pod.get("phase") not in ("Succeeded", "Failed"):
            fleet.put_pod(str(number), pod["node"], requests_of(pod.get("requests")))
    for name, entries in ((_FLAVOR, given["usage"]), (_OTHER, given["usageOfOtherFlavor"])):
        for entry in entries or ():
            levels = given["levels"][-len(entry["domain"]) :]
            held = TopologyAssignment(tuple(levels), (AssignedDomain(tuple(entry["domain"]), entry["count"]),))
            fleet.hold(name, held, requests_of(entry["podRequests"]))
    return fleet


def requests_of(written: Any) -> dict[str, int]:
    return amounts.read(written or {})


def written(assignment: TopologyAssignment) -> dict[str, Any]:
    return {
        "levels": list(assignment.levels),
        "domains": [{"values": list(values), "count": pods} for values, pods in assignment.domains],
    }


def _node(node: Data) -> TopologyNode:
    taints = tuple(map(read_taint, node.get("taints") or ()))
    return TopologyNode(node["name"], node["labels"], taints, amounts.read(node.get("allocatable") or {}))


def _pods_of(given: Data) -> Callable[[Data], PlacedPods]:
    tolerated = [read_toleration(each) for each in (given["flavor"] or {}).get("tolerations") or ()]

    def pods(pod_set: Data) -> PlacedPods:
        request = dict(pod_set.get("topologyRequest") or {})
        if pod_set.get("podSetGroupName"):
            request["podSetGroupName"] = pod_set["podSetGroupName"]
        affinity = {"nodeAffinity": pod_set.get("nodeAffinity") or {}}
        spec = {
            "nodeSelector": pod_set.get("nodeSelector"),
            "tolerations": pod_set.get("tolerations"),
            "affinity": affinity,
        }
        return PlacedPods(
            pod_set["name"],
            pod_set["count"],
            requests_of(pod_set.get("requests")),
            read_topology_request({**request, "unconstrained": True} if pod_set.get("implied") else request),
            node_filter(spec, tolerated, scored=True),
            assignment_of(pod_set["previousAssignment"]) if pod_set.get("previousAssignment") else None,
        )

    return pods
