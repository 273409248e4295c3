"""Kueue's tables of the smaller parts of topologies: encodings, pods, gates, usage, and inner steps of a placement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from policies.dialects.kueue_flavor import Flavor
from policies.dialects.pod_reading import pod_reading
from policies.dialects.reading import listing
from policies.mutation.kueue_pod_defaults import TOPOLOGY_GATE
from scheduling.objects import amounts
from scheduling.objects.reading import read_workload
from scheduling.objects.workload import Workload
from scheduling.topology.assignment import AssignedDomain, TopologyAssignment, merged, used_hosts
from scheduling.topology.balanced import by_entropy, distribution, optimal_subset
from scheduling.topology.choosing import DomainSearch
from scheduling.topology.counting import DomainCounts, PodKind
from scheduling.topology.domains import Domain, TopologyTree, Usage
from scheduling.topology.encoding import read_topology_assignment, written_topology_assignment
from scheduling.topology.fleet import Fleet
from scheduling.topology.node_filter import TopologyNode
from scheduling.topology.placing import stale_domain
from scheduling.topology.pods import requests_topology, topology_pod
from scheduling.topology.ungating import BadPodIndexOffset, ungated
from scheduling.topology.workload_places import (
    FlavoredPods,
    TopologyQuestion,
    find_places,
    net_usage,
)
from tests.conformance.kueue_topology import assignment_of, fleet_of, gates_of, requests_of, written
from tests.conformance.suite import Data, Suite, mismatch, suite


def suites(folder: Path) -> Iterator[Suite]:
    for name, check in _CHECKS.items():
        yield suite("kueue-tas", folder / "kueue-tas" / f"{name}.json", check)


# -- assignments -------------------------------------------------------------------------------------------------------


def _encoded(case: Data) -> str | None:
    by_prefix = case["featureGates"].get("TASAssignmentsEncodingByHostnamePrefix", True)
    found = written_topology_assignment(assignment_of(case["given"]), by_prefix=by_prefix)
    return mismatch(case["expect"]["topologyAssignment"], found)


def _read(case: Data) -> str | None:
    stored = case["given"]["topologyAssignment"]
    found = read_topology_assignment(stored)
    again = written_topology_assignment(found) if case["given"]["alsoEncode"] else stored
    expected = {"levels": case["expect"]["levels"], "domains": case["expect"]["domains"] or []}
    return mismatch(expected, written(found)) or mismatch(stored, again)


def _merged(case: Data) -> str | None:
    one, other = (assignment_of(case["given"][name]) for name in ("a", "b"))
    found = merged(one, other)
    return mismatch(case["expect"]["merged"], written(found))


def _stale(case: Data) -> str | None:
    given = case["given"]
    tree = fleet_of(given, gates_of(case)).flavors["tas"].tree
    domains = tuple(AssignedDomain(tuple(each["values"]), 1) for each in given["assignment"]["domains"])
    found = stale_domain(tree, TopologyAssignment(tree.levels, domains))
    return mismatch((case["expect"]["stale"], case["expect"].get("staleDomain", "")), (found is not None, found or ""))


def _used_hosts(case: Data) -> str | None:
    given = case["given"]
    workload = _workload({"conditions": given["conditions"], "podSetAssignments": given["podSetAssignments"]})
    entries = workload.admission.assignments if workload.admission and workload.admitted else ()
    found = used_hosts(read_topology_assignment(each.topology) for each in entries if each.topology is not None)
    return mismatch(sorted(case["expect"]["nodes"] or ()), sorted(found))


# -- pods --------------------------------------------------------------------------------------------------------------


def _of_topology(case: Data) -> str | None:
    annotations = pod_reading(case["given"]["pod"]).annotations
    return mismatch(case["expect"]["isTAS"], requests_topology(annotations))


def _foreign(case: Data) -> str | None:
    given, fleet = case["given"], Fleet()
    for pod in given["pods"]:
        fleet.put_pod(pod["name"], pod["node"], requests_of(pod.get("requests")))
    for name in given["deletedPods"] or ():
        fleet.drop_pod(name)
    expected = {node: amounts.read(usage) for node, usage in (case["expect"]["usagePerNode"] or {}).items()}
    return mismatch(expected, fleet.foreign.amounts)


def _gates(case: Data) -> str | None:
    """Own patches that are not seen yet hold the ungater back; there the reconciler waits for its writes."""
    given, expected = case["given"], case["expect"]
    pods = [pod_reading(pod) for pod in given["pods"] or ()]
    try:
        workload, seen = read_workload(given["workloads"][0]), [*map(topology_pod, pods)]
        passing = {} if given["pendingUngateUIDs"] else ungated(workload, seen)
    except BadPodIndexOffset as error:
        return mismatch(expected["error"]["error"], str(error).partition(":")[0])
    after = [_after(pod.manifest, passing.get(pod.key)) for pod in pods]
    if expected["comparePodSelectors"] == "Exact":
        return mismatch(_by_name(expected["pods"]), _by_name(after))
    gated = [
        sorted(pod.key for pod in map(pod_reading, each) if pod.waits_at(TOPOLOGY_GATE))
        for each in (expected["pods"], after)
    ]
    counts = [(str(sorted(each["nodeSelector"].items())), each["count"]) for each in expected["counts"] or ()]
    return mismatch(*gated) or mismatch(sorted(counts), _counts(after))


def _after(pod: Mapping[str, Any], selector: dict[str, str] | None) -> Data:
    spec = dict(pod["spec"])
    if selector is not None:
        rest = [gate for gate in spec.pop("schedulingGates") if gate["name"] != TOPOLOGY_GATE]
        spec |= {"schedulingGates": rest} if rest else {}
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **selector}
    return {**pod, "spec": spec}


def _by_name(pods: list[Data]) -> dict[str, Any]:
    return {pod["metadata"]["name"]: pod["spec"] for pod in pods}


def _counts(pods: list[Data]) -> list[tuple[str, int]]:
    """The node selectors of Pods that have passed their gate and have not ended, and how often each is there."""
    read = [pod_reading(pod) for pod in pods]
    passed = [pod for pod in read if not pod.waits_at(TOPOLOGY_GATE) and not pod.ended]
    return sorted(Counter(str(sorted((pod.spec.get("nodeSelector") or {}).items())) for pod in passed).items())


# -- workloads ---------------------------------------------------------------------------------------------------------


def _workload(given: Data) -> Workload:
    """`given`: parts of its metadata, spec and status."""
    entries = [
        {"name": each.get("name") or str(number), **each}
        for number, each in enumerate(given["podSetAssignments"] or ())
    ]
    status: Data = {"conditions": given["conditions"] or []}
    if entries:
        status["admission"] = {"clusterQueue": "cq", "podSetAssignments": entries}
    return read_workload(
        {
            "metadata": {"name": "wl", "namespace": "ns", **(given.get("metadata") or {})},
            "spec": {"podSets": given.get("podSets") or []},
            "status": status,
        }
    )


def _flavored(entry: Data) -> FlavoredPods:
    flavors = {resource: choice["flavor"] for resource, choice in (entry.get("flavors") or {}).items()}
    assigned = entry.get("topologyAssignment")
    return FlavoredPods(entry["name"], entry["count"], flavors, assignment_of(assigned) if assigned else None)


def _net_usage(case: Data) -> str | None:
    given = case["given"]
    previous = [
        {
            "name": each["name"],
            "topologyAssignment": written_topology_assignment(assignment_of(each["topologyAssignment"])),
        }
        for each in given["previousAdmission"] or ()
    ]
    workload = _workload({"podSets": given["podSets"], "conditions": None, "podSetAssignments": previous})
    question = TopologyQuestion(workload, given["tasFlavors"])
    found: dict[str, list[Data]] = {}
    for each in net_usage(question, map(_flavored, given["assignment"])):
        entry = {"domain": list(each.domain), "podRequests": dict(each.requests), "count": each.pods}
        found.setdefault(each.flavor, []).append(entry)
    expected = {
        flavor: [{**each, "podRequests": requests_of(each["podRequests"])} for each in entries]
        for flavor, entries in (case["expect"]["netUsage"] or {}).items()
    }
    return mismatch(expected, found)


def _requests(case: Data) -> str | None:
    """Which pod sets are placed, over one node that holds all."""
    given, expected = case["given"], case["expect"]
    fleet, names = Fleet(), listing(given["tasFlavors"])
    for name in names:
        fleet.put_flavor(Flavor(name, {}, topology="default"), ("kubernetes.io/hostname",))
    fleet.put_node(
        TopologyNode("n1", {"kubernetes.io/hostname": "n1"}, (), {"cpu": 10**6, "memory": 2**40, "pods": 110})
    )
    metadata = given["workloadMetadata"] or {}
    workload = _workload(
        {"metadata": metadata, "podSets": given["podSets"], "conditions": None, "podSetAssignments": None}
    )
    question = TopologyQuestion(workload, [*names, *listing(given["tasFlavorsWithoutSnapshot"])])
    found = find_places(fleet, question, map(_flavored, given["assignment"]))
    if expected["placedPodSets"] is not None:
        return mismatch(expected["placedPodSets"], [*found.assigned, *found.refused])
    first = given["podSets"][0]["name"]
    return mismatch(expected["error"], found.faults.get(first))


# -- inner steps -------------------------------------------------------------------------------------------------------


def _sorted(case: Data) -> str | None:
    search, names = _search(case)
    found = [names[domain] for domain in search.sorted_alone(list(names))]
    return mismatch(case["expect"]["order"], found)


def _sorted_with_leader(case: Data) -> str | None:
    search, names = _search(case, leaders=1)
    found = [names[domain] for domain in search.sorted_with_leader(list(names))]
    return mismatch(case["expect"]["order"], found)


def _subset(case: Data) -> str | None:
    given = case["given"]
    search, names = _search(case, leaders=given["leaderCount"], slices=given["workerCount"] // given["sliceSize"])
    ordered = sorted(names, key=lambda each: by_entropy(search.counts, each)) if given["byEntropy"] else list(names)
    found = [names[domain] for domain in optimal_subset(search, ordered, given["sliceSize"])]
    return mismatch(case["expect"]["domains"] or [], found)


def _distributed(case: Data) -> str | None:
    given, size = case["given"], case["given"]["sliceSize"]
    leaders = given["leaderCount"] or 0
    search, names = _search(case, leaders=leaders, slices=given["sliceCount"])
    shares = distribution(search, list(names), given["threshold"], size)
    expected = {
        name: (each["pods"], each["slices"], each["leader"]) for name, each in (case["expect"]["domains"] or {}).items()
    }
    return mismatch(expected, {names[each.domain]: (each.pods, each.pods // size, each.lead) for each in shares})


def _search(case: Data, leaders: int = 0, slices: int = 0) -> tuple[DomainSearch, dict[Domain, str]]:
    """A search among domains of one level with this room, and their names; in path order, as a tree has them."""
    given = case["given"]
    leader = () if leaders else None
    counts = DomainCounts(PodKind((), leader, None, 0, given["sliceSize"] or 1, (1,)))
    names: dict[Domain, str] = {}
    for each in sorted(given["domains"], key=lambda each: each["values"]):
        domain = Domain(tuple(each["values"]), None)
        names[domain] = each["id"]
        counts.pods[domain], counts.slices[domain] = each["pods"], each["slices"]
        if leaders:
            counts.led_pods[domain], counts.led_slices[domain] = each["podsWithLeader"], each["slicesWithLeader"]
            counts.lead[domain] = each["leader"]
        if gates_of(case).preferred:
            counts.score[domain] = each["score"]
    search = DomainSearch(
        tree=TopologyTree(("level",), {}, Usage(), Usage()),
        counts=counts,
        slices=slices,
        leaders=leaders,
        level=0,
        least_free=bool(given["unconstrained"]),
        required=False,
        climbing=False,
    )
    return search, names


_CHECKS = {
    "random-encoding": _encoded,
    "kueue-assignment-forms": _read,
    "kueue-merge-assignments": _merged,
    "kueue-stale-assignment": _stale,
    "kueue-used-nodes": _used_hosts,
    "kueue-is-tas-pod": _of_topology,
    "kueue-non-tas-usage": _foreign,
    "kueue-topology-ungater": _gates,
    "kueue-net-usage": _net_usage,
    "kueue-topology-requests": _requests,
    "kueue-inner-sort-domains": _sorted,
    "kueue-inner-sort-domains-with-leader": _sorted_with_leader,
    "kueue-inner-optimal-subset": _subset,
    "kueue-inner-balanced-distribution": _distributed,
}
