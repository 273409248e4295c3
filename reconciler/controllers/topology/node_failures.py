"""Replaces failed nodes: finds the workloads that have places there, and gives them another place or evicts them.

The failed node is written to `unhealthyNodes` of the Workload, and the next cycle looks for another place. A Pod that
waits for a node where it can never run is made to fail, so that its job creates another one. Nodes are identified by
their host name label, as in Kueue v0.20, because places are. Source: Kueue v0.19, pkg/controller/tas, the node
controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from cluster.actions import Patch
from cluster.resource import PODS
from policies.dialects.core import POD
from policies.dialects.kueue_flavor import Flavor
from policies.dialects.node_reading import NodeReading
from policies.model.objects import parted
from reconciler.controllers.internal_errors import InternalErrors
from reconciler.core.controller import Busy, Controller, Lookup, WaitFor, WakeAt, Wanted
from reconciler.core.state import ClusterState
from reconciler.jobs.pod_writes import POD_MANAGER
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Observed, put_or_drop
from reconciler.objects.patches import ADMISSION_MANAGER, status_patch
from reconciler.objects.stored import condition_to_write
from reconciler.objects.topology_views import NODE_HEALTH, PLACED_PODS
from reconciler.objects.wanted import WantedWrite, refer
from scheduling.objects.grouped import Grouped, Links
from scheduling.objects.workload import Workload
from scheduling.status.node_failure import DEFAULT_GATES, FailureGates, judge_node
from scheduling.topology.assignment import HOSTNAME, used_hosts
from scheduling.topology.encoding import read_topology_assignment
from scheduling.topology.pods import TopologyPod, carried_name

TERMINATED = "PodTerminatedByKueue"
_WORKLOAD, _HOST = "Workload", "Host"


def node_failures(state: ClusterState, gates: FailureGates) -> NodeFailuresController:
    listed = state.records.progress.listed
    known = partial(listed.__contains__, NODE_HEALTH.kind)
    return NodeFailuresController(state.records.workload, state.world.state.flavors, known, gates)


@dataclass(frozen=True, slots=True)
class _Places:
    """The places of a Workload."""

    stored: tuple[Mapping[str, object] | None, ...]
    hosts: frozenset[str]


class NodeFailuresController(Controller):
    """Handles failed nodes. Keys are host names.

    `flavors`: the flavors by name.
    `listed`: returns whether all Nodes are known.
    """

    watched = (NODE_HEALTH, PLACED_PODS)

    def __init__(
        self,
        stored: Lookup,
        flavors: Mapping[str, Flavor],
        listed: Callable[[], bool],
        gates: FailureGates = DEFAULT_GATES,
    ) -> None:
        self._stored = stored
        self._flavors = flavors
        self._listed = listed
        self._gates = gates
        self._nodes: Grouped[str, str, NodeReading] = Grouped()
        self._pods: Grouped[str, str, Observed[TopologyPod]] = Grouped()
        self._places: dict[str, _Places] = {}
        self._workloads: Links[str, str] = Links()  # by the hosts of their places
        self._stale: dict[str, None] = {}
        self._errors = InternalErrors()

    # --- observed changes

    def observe(self, observed: Observed[object]) -> None:
        if observed.key[0] == NODE_HEALTH.kind:
            self._see_node(observed.key[1], NODE_HEALTH.value(observed))
        else:
            self._see_pod(observed.key[1], PLACED_PODS.of(observed))

    def _see_node(self, name: str, node: NodeReading | None) -> None:
        before, known = self._nodes.group_of.get(name), self._nodes.pop(name)
        if node is not None:
            self._nodes.put(name, node.labels.get(HOSTNAME, name), node)
        if node != known:
            self._stale.update({host: None for host in (before, self._nodes.group_of.get(name)) if host is not None})

    def _see_pod(self, key: str, found: Observed[TopologyPod] | None) -> None:
        before, known = self._pods.group_of.get(key), self._pods.pop(key)
        if found is not None and (host := found.value.selector.get(HOSTNAME) or found.value.node):
            self._pods.put(key, host, found)
        if known is None or found is None or known.value != found.value:
            self._stale.update({host: None for host in (before, self._pods.group_of.get(key)) if host is not None})

    def workload_changed(self, workload: str) -> None:
        found = self._stored(workload)
        before = self._places.get(workload)
        after = _places(found.value, before) if found is not None else None
        put_or_drop(self._places, workload, after)
        if after is not before:
            hosts_before, hosts = self._workloads.groups(workload), after.hosts if after is not None else ()
            self._workloads.put(workload, hosts)
            self._stale.update(dict.fromkeys({*hosts_before} ^ {*hosts}))
        self._stale.update(dict.fromkeys(found.value.unhealthy_nodes if found is not None else ()))

    def wake(self, item: Key) -> None:
        self._stale[item[1]] = None

    # --- writes

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        if not self._listed():
            return
        stale, self._stale = self._stale, {}
        for host in stale:
            if (host in self._workloads or host in self._pods) and not self._is_well(host):
                yield from self._errors.isolated((_HOST, host), partial(self._look_at, host, busy, now), None, now)

    def failing(self, name: str) -> bool:
        """Whether the Node is failing, so that pods that still run there may have lost their places."""
        host = self._nodes.group_of.get(name)
        if host is None:
            return True
        node = self._nodes.of(host)[name]
        return not (node.ready if self._gates.pod_termination else _works(node))

    def _node(self, host: str) -> NodeReading | None:
        """The Node with this host name. If there are several, a Node that works is preferred."""
        found = sorted(self._nodes.of(host).values(), key=lambda node: (not _works(node), node.name))
        return found[0] if found else None

    def _is_well(self, host: str) -> bool:
        """Whether the Node works, each waiting Pod has its place there, and no workload lists it as unhealthy."""
        node = self._node(host)
        if node is None or not _works(node):
            return False
        at_home = self._workloads.of(host)
        waiting = (each.value.workload for each in self._pods.of(host).values() if _can_wait(each.value))
        lost = (host in each.value.unhealthy_nodes for each in map(self._stored, at_home) if each is not None)
        return all(each in at_home for each in waiting) and not any(lost)

    def _look_at(self, host: str, busy: Busy, now: int) -> Iterator[Wanted]:
        pods = self._pods.of(host)
        names = dict.fromkeys([*self._workloads.of(host), *(each.value.workload for each in pods.values())])
        found = {name: each for name in names if (each := self._stored(name)) is not None}
        moment = whole_second(now)
        judged = judge_node(
            host,
            self._node(host),
            [each.value for each in found.values()],
            [each.value for each in pods.values()],
            self._flavors,
            moment,
            self._gates,
        )
        if judged.again:
            yield WakeAt((_HOST, host), moment + judged.again)
        waiting = set()
        for after in judged.changed:
            key = (_WORKLOAD, after.key)
            waiting.add(carried_name(after))
            if not busy(*key):
                yield WantedWrite(key, status_patch(found[after.key].value, after, ADMISSION_MANAGER))
            yield WaitFor((_HOST, host), key)
        for name in judged.strays:
            pod = pods[name]
            if pod.value.workload in waiting:
                continue  # its Workload is written first; then the host is looked at again
            if not busy(*pod.key):
                yield _failed(pod, moment)
            yield WaitFor((_HOST, host), pod.key)


def _places(workload: Workload, before: _Places | None) -> _Places | None:
    """The places of the Workload; None if it needs none. `before`: its places so far, reused if nothing has changed."""
    admission = workload.admission
    if not workload.admitted or workload.evicted or workload.finished or admission is None:
        return None
    stored = tuple(entry.topology for entry in admission.assignments)
    if before is not None and before.stored == stored:
        return before
    hosts = used_hosts(read_topology_assignment(each) for each in stored if each is not None)
    return _Places(stored, frozenset(hosts)) if hosts else None


def _works(node: NodeReading) -> bool:
    return node.ready and not any(taint.repels for taint in node.taints)


def _can_wait(pod: TopologyPod) -> bool:
    """Whether the Pod may be waiting for the node: its gate is removed, and it is not bound."""
    return not (pod.bound or pod.gated)


def _failed(pod: Observed[TopologyPod], now: int) -> WantedWrite:
    """Let the Pod fail, because it can never run on its node."""
    message = "Pod terminated by Kueue NodeController due to node taint"
    condition = condition_to_write({}, "TerminatedByKueue", "True", "UnschedulableOnAssignedNode", message, now)
    others = [each for each in pod.value.conditions if each.get("type") != condition["type"]]
    body = {"status": {"phase": "Failed", "conditions": [*others, condition]}}
    namespace, name = parted(pod.value.key)
    action = Patch(PODS, namespace, name, body, pod.version, POD_MANAGER, "status")
    about = refer("v1", POD.kind, pod.key[1], pod.value.uid, version=pod.version)
    return WantedWrite(pod.key, action, about, TERMINATED, message)
