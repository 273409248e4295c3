"""The effect of a failed node: which workloads lose it, which are evicted, and which pods have to fail.

Source: Kueue v0.19, pkg/controller/tas, the node controller. Only pods of the same workload delay a replacement. In
0.19.2 any pod of its namespace does, which 0.19.4 corrected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from policies.dialects.kueue_flavor import Flavor
from policies.dialects.node_reading import NodeReading
from policies.dialects.reading import listing
from policies.dialects.taints import Toleration, read_toleration
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
    if node is None or not node.ready_condition:
        return NodeFailure(tuple(_marked(present, name, now, gates)))
    again = 0
    if not node.ready:
        rest = _FIXED_TIME - (now - times.parse(node.ready_since))
        if rest > 0 and not gates.pod_termination:
            return NodeFailure(again=rest)
        if rest <= 0 and gates.fixed_time:
            return NodeFailure(tuple(_marked(present, name, now, gates)))
        again = rest if gates.fixed_time else 0
    pinned = {pod.workload for pod in pods if _is_pinned(pod, name)}
    others = [each for each in alive if carried_name(each) in pinned and each not in present]
    changed: list[Workload] = []
    strays: list[str] = []
    for workload in (*present, *others):
        own = [pod for pod in pods if pod.workload == carried_name(workload)]
        lost, pods_fail = _judged(workload, name, node, own, flavors, gates)
        after = list(_marked([workload], name, now, gates) if lost else _healed(workload, name))
        changed += after
        if pods_fail and not any(each.evicted for each in after):
            strays += [pod.key for pod in own if _is_stray(pod, name)]
    return NodeFailure(tuple(changed), tuple(strays), again)


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
    if any(not taint.tolerated_by(each) for taint in taints for each in tolerations):
        return by_pods, gates.pod_termination
    if any(not taint.tolerated_by(_lasting(each)) for taint in taints for each in tolerations):
        return not progresses, True
    return False, False


def _marked(workloads: Iterable[Workload], name: str, now: int, gates: FailureGates) -> Iterator[Workload]:
    """The workloads that change when the node becomes unhealthy. A workload with too many such nodes is evicted."""
    most = _MOST_UNHEALTHY if gates.together else 1
    for workload in workloads:
        before = workload.unhealthy_nodes
        if name in before:
            continue
        if len(before) >= most:
            both = f"{', '.join(before)}, {name}"
            message = f"Workload eviction triggered due to multiple TAS assigned node failures, including: {both}"
            yield evict(workload, NODE_FAILURES, message, now)
        else:
            yield replace(workload, unhealthy_nodes=(*before, name))


def _healed(workload: Workload, name: str) -> Iterator[Workload]:
    if name in workload.unhealthy_nodes:
        yield replace(workload, unhealthy_nodes=tuple(each for each in workload.unhealthy_nodes if each != name))


def _pod_sets_on(workload: Workload, name: str) -> list[PodSetAdmission]:
    return [entry for entry in workload.assignments if entry.topology is not None and _is_on(entry, name)]


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


def _lasting(tolerations: Iterable[Toleration]) -> list[Toleration]:
    return [toleration for toleration in tolerations if toleration.seconds is None]


def _is_pinned(pod: TopologyPod, name: str) -> bool:
    return pod.in_topology and pod.selector.get(HOSTNAME) == name and not pod.ended


def _is_stray(pod: TopologyPod, name: str) -> bool:
    return pod.phase == "Pending" and not pod.bound and not pod.gated and _is_pinned(pod, name)
