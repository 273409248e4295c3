"""What the world shows to Prometheus, under Kueue's names: counted when it is asked for, nothing is kept.

Amounts are in cores, bytes or whole units. Who runs beside Kueue's own manager must not register these.
Source: Kueue v0.19, pkg/metrics/metrics.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from policies.model.pools import UNLIMITED
from reconciler.queue_status import readiness_of
from scheduling.objects.amounts import FlavorResource, approximate
from scheduling.quota.node import QuotaNode
from scheduling.quota.shares import Shares
from scheduling.quota.state import Queue
from scheduling.world.world import World

Ask: TypeAlias = Callable[[Callable[[World], list[Metric]]], list[Metric]]
"""Has something read from the world by whom it belongs to, between two steps."""
LEADER, FOLLOWER = "leader", "follower"
"""The replica that writes, and the others."""
_PAIR = ("cohort", "cluster_queue", "flavor", "resource", "replica_role")
_STATUSES = ("pending", "active", "terminating")


class WorldCollector(Collector):
    """`resources`: also quota and usage by flavor and resource (metrics.enableClusterQueueResources).

    `role` is that of this replica at the moment.
    """

    def __init__(self, ask: Ask, *, resources: bool = True, role: Callable[[], str] = lambda: LEADER) -> None:
        self._ask = ask
        self.resources = resources
        self.role = role

    def collect(self) -> Iterable[Metric]:
        role = self.role()
        return self._ask(lambda world: read(world, resources=self.resources, role=role))

    def describe(self) -> Iterable[Metric]:
        """Nothing is read from the world when this is registered."""
        return read(World(), resources=self.resources)


def read(world: World, *, resources: bool = True, role: str = LEADER) -> list[Metric]:
    """All metrics of the world as it is."""
    found = [*_queues(world, role), *_local_queues(world, role), *_infos(world, role)]
    if resources:
        found += [*_resources(world, role), *_subtrees(world, role)]
    if world.state.options.fair_sharing:
        found += _shares(world, role)
    return found


class Gauge(GaugeMetricFamily):
    """A gauge whose samples are added by label values; its role stands last."""

    def __init__(self, name: str, text: str, labels: tuple[str, ...], role: str) -> None:
        super().__init__(f"kueue_{name}", text)
        self._labels = (*labels, "replica_role")
        self._role = role

    def put(self, value: float, *labels: str) -> None:
        self.samples.append(Sample(self.name, dict(zip(self._labels, (*labels, self._role), strict=True)), value))


def _queues(world: World, role: str) -> Iterator[Metric]:
    name = ("cluster_queue",)
    waiting = Gauge("pending_workloads", "Workloads that wait, by status.", (*name, "status"), role)
    reserving = Gauge("reserving_active_workloads", "Workloads that hold quota.", name, role)
    admitted = Gauge("admitted_active_workloads", "Workloads that are admitted and not finished.", name, role)
    status = Gauge("cluster_queue_status", "1 for the status of the ClusterQueue.", (*name, "status"), role)
    for queue in world.state.queues.values():
        pending = world.queues.pending[queue.name]
        active = (
            pending.count_active() if world.is_ready(queue.name) else 0
        )  # nobody is tried where nothing is admitted
        waiting.put(active, queue.name, "active")
        waiting.put(len(pending) - active, queue.name, "inadmissible")
        reserving.put(queue.held.reserving, queue.name)
        admitted.put(queue.held.admitted, queue.name)
        now = _status(world, queue)
        for each in _STATUSES:
            status.put(each == now, queue.name, each)
    yield from (waiting, reserving, admitted, status)


def _status(world: World, queue: Queue) -> str:
    if queue.name in world.terminating:
        return "terminating"
    return "active" if readiness_of(world, queue.name).active else "pending"


def _local_queues(world: World, role: str) -> Iterator[Metric]:
    labels = ("name", "namespace")
    waiting = Gauge("local_queue_pending_workloads", "Workloads that name the LocalQueue and wait.", labels, role)
    reserving = Gauge("local_queue_reserving_active_workloads", "Workloads that hold quota.", labels, role)
    admitted = Gauge("local_queue_admitted_active_workloads", "Workloads that are admitted.", labels, role)
    for key, local in world.queues.local_queues.items():
        queue = world.state.queues.get(local.cluster_queue)
        held = queue.held_by.get(key) if queue is not None else None
        waiting.put(sum(1 for _ in world.queues.waiting_at(key)), local.name, local.namespace)
        reserving.put(held.reserving if held is not None else 0, local.name, local.namespace)
        admitted.put(held.admitted if held is not None else 0, local.name, local.namespace)
    yield from (waiting, reserving, admitted)


def _infos(world: World, role: str) -> Iterator[Metric]:
    above = ("parent_cohort", "root_cohort")
    queues = Gauge("cluster_queue_info", "1; where the ClusterQueue stands.", ("cluster_queue", *above), role)
    cohorts = Gauge("cohort_info", "1; where the Cohort stands.", ("cohort", *above), role)
    tree = world.state.tree
    for family, nodes in ((queues, tree.queues), (cohorts, tree.cohorts)):
        for node in nodes.values():
            root = node.root.name if node.up is not None else ""
            family.put(1, node.name, node.parent.name if node.parent is not None else "", root)
    yield from (queues, cohorts)


def _resources(world: World, role: str) -> Iterator[Metric]:
    def family(name: str, text: str) -> Gauge:
        return Gauge(f"cluster_queue_{name}", text, _PAIR[:-1], role)

    nominal, borrowing, lending = (
        family(f"{kind}", f"What the ClusterQueue says, by flavor: {text}.")
        for kind, text in (
            ("nominal_quota", "nominalQuota"),
            ("borrowing_limit", "borrowingLimit, +Inf where there is none"),
            ("lending_limit", "lendingLimit, +Inf where there is none"),
        )
    )
    reserved = family("resource_reservation", "What is reserved, by flavor.")
    used = family("resource_usage", "What is admitted, by flavor.")
    for queue in world.state.queues.values():
        cohort = queue.node.parent.name if queue.node.parent is not None else ""
        for pair in queue.settings.terms:
            labels, terms = (cohort, queue.name, *pair), queue.settings.terms[pair]
            nominal.put(_amount(pair, terms.nominal), *labels)
            borrowing.put(_amount(pair, _limit(terms.borrowing)), *labels)
            lending.put(_amount(pair, _limit(terms.lending)), *labels)
            reserved.put(_amount(pair, queue.held.reserved.get(pair, 0)), *labels)
            used.put(_amount(pair, queue.held.used.get(pair, 0)), *labels)
    yield from (nominal, borrowing, lending, reserved, used)


def _subtrees(world: World, role: str) -> Iterator[Metric]:
    labels = ("cohort", "flavor", "resource")
    quota = Gauge("cohort_subtree_quota", "Quota of the Cohort and all it can draw on below.", labels, role)
    held = Gauge("cohort_subtree_resource_reservations", "What the ClusterQueues below hold.", labels, role)
    admitted = Gauge("cohort_subtree_admitted_active_workloads", "Admitted workloads below.", ("cohort",), role)
    sums, counts = _below(world)
    for node in world.state.tree.cohorts.values():
        if not world.state.tree.broken(node):
            for pair, amount in node.subtree.items():
                quota.put(_amount(pair, amount), node.name, *pair)
                held.put(_amount(pair, sums.get(node, {}).get(pair, 0)), node.name, *pair)
            admitted.put(counts.get(node, 0), node.name)
    yield from (quota, held, admitted)


def _below(world: World) -> tuple[Mapping[QuotaNode, Mapping[FlavorResource, int]], Mapping[QuotaNode, int]]:
    """By Cohort, what is held below and how many workloads are admitted: one pass over the ClusterQueues."""
    sums: dict[QuotaNode, dict[FlavorResource, int]] = {}
    counts: dict[QuotaNode, int] = {}
    for queue in world.state.queues.values():
        if queue.held.reserving:
            for node in queue.node.path()[1:]:
                counts[node] = counts.get(node, 0) + queue.held.admitted
                total = sums.setdefault(node, {})
                for pair, amount in queue.held.reserved.items():
                    total[pair] = total.get(pair, 0) + amount
    return sums, counts


def _shares(world: World, role: str) -> Iterator[Metric]:
    text = "What is borrowed of what can be, in thousandths, by fair weight."
    queues = Gauge("cluster_queue_weighted_share", text, ("cluster_queue", "cohort"), role)
    cohorts = Gauge("cohort_weighted_share", text, ("cohort",), role)
    shares, tree = Shares(), world.state.tree
    for node in tree.queues.values():
        cohort = node.parent.name if node.parent is not None else ""
        queues.put(0 if tree.broken(node) else _share(shares, node), node.name, cohort)
    for node in tree.cohorts.values():
        cohorts.put(0 if tree.broken(node) else _share(shares, node), node.name)
    yield from (queues, cohorts)


def _share(shares: Shares, node: QuotaNode) -> float:
    share = shares.of(node).published
    return float("inf") if share == UNLIMITED else float(share)


def _limit(amount: int | None) -> int:
    return UNLIMITED if amount is None else amount


def _amount(pair: FlavorResource, amount: int) -> float:
    return approximate(pair.resource, amount)
