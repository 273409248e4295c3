"""The effect of a failed node: which workloads lose it, which are evicted, and which pods have to fail.

Source: Kueue v0.19, pkg/controller/tas, the node controller. Only pods of the same workload delay a replacement. In
0.19.2 any pod of its namespace does, which 0.19.4 corrected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from policies.dialects.kueue_flavor import Flavor
from policies.dialects.node_reading import NodeReading
from policies.dialects.reading import listing
from policies.dialects.taints import Taint, Toleration, read_toleration
from scheduling.objects import times
from scheduling.objects.copying import replace
from scheduling.objects.workload import PodSetAdmission, Workload
from scheduling.status.eviction import evict
from scheduling.topology.assignment import HOSTNAME
from scheduling.topology.encoding import read_topology_assignment
from scheduling.topology.pods import TopologyPod, carried_name

NODE_FAILURES = "NodeFailures"
"""The reason of an eviction, as in Kueue."""
_FIXED_TIME = 30 * times.SECOND
"""How long a node may be not Ready if the state of its pods does not count."""
_MOST_UNHEALTHY = 8
"""The most unhealthy nodes in the status of a Workload."""


@dataclass(frozen=True, slots=True)
class FailureGates:
    """Kueue's feature gates for failed nodes.

    pod_termination: TASReplaceNodeOnPodTermination.
    fixed_time: TASReplaceNodeDueToNotReadyOverFixedTime.
    taints: TASReplaceNodeOnNodeTaints.
    together: TASReplaceMultipleFailedNodes. A workload that lost several nodes is not evicted.
    """

    pod_termination: bool = True
    fixed_time: bool = False
    taints: bool = True
    together: bool = False


DEFAULT_GATES = FailureGates()


@dataclass(frozen=True, slots=True)
class NodeFailure:
    """The effect of the state of a node.

    changed: workloads with a new status: the node is added to or removed from the unhealthy ones, or they are evicted.
    strays: Pods, as `namespace/name`, that can never run on the node and have to fail after the workloads are written.
    again: after how many nanoseconds to check again; 0 if that is not needed.
    """

    changed: tuple[Workload, ...] = ()
    strays: tuple[str, ...] = ()
    again: int = 0


@dataclass(slots=True)
class _Found:
    """The result so far, see `NodeFailure`."""

    changed: list[Workload] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    again: int = 0


def judge_node(
    name: str,
    node: NodeReading | None,
    workloads: Iterable[Workload],
    pods: Sequence[TopologyPod],
    flavors: Mapping[str, Flavor],
    now: int,
    gates: FailureGates = DEFAULT_GATES,
) -> NodeFailure:
    """Judge a node.

    name: its host name. node: None if it does not exist.
    pods: those that are bound to it, or select it by its host name.
    flavors: by name, for their tolerations.
    """
    alive = [each for each in workloads if not each.finished and not each.evicted]
    present = [each for each in alive if each.admitted and _pod_sets_on(each, name)]
    found = _Found()
    if node is None or not node.ready_condition:
        _mark(found, present, name, now, gates)
        return _result(found)
    if not node.ready:
        rest = _FIXED_TIME - (now - times.parse(node.ready_since))
        if rest > 0 and gates.fixed_time:
            found.again = rest
        if rest > 0 and not gates.pod_termination:
            return NodeFailure(again=rest)
        if rest <= 0 and gates.fixed_time:
            _mark(found, present, name, now, gates)
            return _result(found)
    pinned = {pod.workload for pod in pods if _is_pinned(pod, name)}
    others = [each for each in alive if carried_name(each) in pinned and each not in present]
    for workload in (*present, *others):
        own = [pod for pod in pods if pod.workload == carried_name(workload)]
        lost, kills = _judged(workload, name, node, own, flavors, gates)
        if not lost:
            _heal(found, workload, name)
        elif not _mark(found, [workload], name, now, gates):
            kills = False
        if kills:
            found.strays.extend(pod.key for pod in own if _is_stray(pod, name))
    return _result(found)


def _judged(
    workload: Workload,
    name: str,
    node: NodeReading,
    pods: Sequence[TopologyPod],
    flavors: Mapping[str, Flavor],
    gates: FailureGates,
) -> tuple[bool, bool]:
    """Whether the workload has lost the node, and whether its Pods that wait for the node have to fail."""
    on_node = _pod_sets_on(workload, name)
    if not on_node:
        return False, True
    progresses = any(pod.node == node.name and not pod.deleting and not pod.ended for pod in pods)
    by_pods = not (gates.pod_termination and progresses)
    if not node.ready:
        return by_pods, gates.pod_termination
    taints = [taint for taint in node.taints if taint.repels] if gates.taints else []
    tolerations = [list(_tolerations(workload, entry, flavors)) for entry in on_node]
    if any(not _tolerated(taint, each) for taint in taints for each in tolerations):
        return by_pods, gates.pod_termination
    if any(not _tolerated(taint, _lasting(each)) for taint in taints for each in tolerations):
        return not progresses, True
    return False, False


def _mark(found: _Found, workloads: Iterable[Workload], name: str, now: int, gates: FailureGates) -> bool:
    """Add the node to the unhealthy ones. A workload with too many of them is evicted. Returns False if one was."""
    stays, most = True, _MOST_UNHEALTHY if gates.together else 1
    for workload in workloads:
        before = workload.unhealthy_nodes
        if name in before:
            continue
        if len(before) >= most:
            both = f"{', '.join(before)}, {name}"
            message = f"Workload eviction triggered due to multiple TAS assigned node failures, including: {both}"
            found.changed.append(evict(workload, NODE_FAILURES, message, now))
            stays = False
        else:
            found.changed.append(replace(workload, unhealthy_nodes=(*before, name)))
    return stays


def _heal(found: _Found, workload: Workload, name: str) -> None:
    if name in workload.unhealthy_nodes:
        rest = tuple(each for each in workload.unhealthy_nodes if each != name)
        found.changed.append(replace(workload, unhealthy_nodes=rest))


def _result(found: _Found) -> NodeFailure:
    return NodeFailure(tuple(found.changed), tuple(found.strays), found.again)


def _pod_sets_on(workload: Workload, name: str) -> list[PodSetAdmission]:
    entries = workload.admission.assignments if workload.admission is not None else ()
    return [entry for entry in entries if entry.topology is not None and _is_on(entry, name)]


def _is_on(entry: PodSetAdmission, name: str) -> bool:
    assignment = read_topology_assignment(entry.topology or {})
    return assignment.by_host and any(domain.values[-1] == name for domain in assignment.domains)


def _tolerations(workload: Workload, entry: PodSetAdmission, flavors: Mapping[str, Flavor]) -> Iterator[Toleration]:
    """The tolerations of its template, its flavors and its checks."""
    pod_set = workload.pod_set(entry.name)
    written = listing(pod_set.template.spec.get("tolerations")) if pod_set is not None else []
    updates = (update for check in workload.checks for update in check.updates if update.get("name") == entry.name)
    for each in (*written, *(each for update in updates for each in listing(update.get("tolerations")))):
        yield read_toleration(each)
    for flavor in {*entry.flavors.values()} & flavors.keys():
        yield from flavors[flavor].tolerations


def _tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(toleration.tolerates(taint) for toleration in tolerations)


def _lasting(tolerations: Iterable[Toleration]) -> list[Toleration]:
    return [toleration for toleration in tolerations if toleration.seconds is None]


def _is_pinned(pod: TopologyPod, name: str) -> bool:
    return pod.in_topology and pod.selector.get(HOSTNAME) == name and not pod.ended


def _is_stray(pod: TopologyPod, name: str) -> bool:
    return pod.phase == "Pending" and not pod.bound and not pod.gated and _is_pinned(pod, name)
