"""Exports the metrics of a Reconciler at /metrics: its own, and Kueue's if it replaces Kueue's manager."""

from __future__ import annotations

import platform
from collections.abc import Callable
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TypeVar

from prometheus_client import CollectorRegistry

from policies.configuration.settings import Dialect
from reconciler.api.clusters import clusters, dispatched, evicted_there, worker_statuses
from reconciler.core.core import Core
from reconciler.metrics.catalogue import register_other_queues
from reconciler.metrics.collector import Ask, Read, Scraped
from reconciler.metrics.custom_labels import CustomLabels
from reconciler.metrics.instruments import NO_CUSTOM_LABELS
from reconciler.metrics.kueue import FOLLOWER, LEADER
from reconciler.metrics.occasions import (
    BuildInfo,
    Certificate,
    Dispatches,
    GateCounts,
    ProcessScrape,
    QuotaGates,
    WorkerScrape,
)
from reconciler.multikueue.cluster_list import clusters_json
from reconciler.process import Reconciler
from scheduling.world.world import World

T = TypeVar("T")

PATIENCE = 2.0
"""The most seconds that a scrape waits for the loop. Prometheus gives up after ten seconds."""


def export(
    registry: CollectorRegistry,
    reconciler: Reconciler,
    may_write: Callable[[], bool],
    *,
    kueue: bool,
    labels: CustomLabels = NO_CUSTOM_LABELS,
) -> None:
    """Register the metrics.

    `kueue`: whether to export Kueue's metrics, because no other process does so for this cluster.
    """

    def role() -> str:
        return LEADER if may_write() else FOLLOWER

    registry.register(Scraped(ProcessScrape, lambda read: read(ProcessScrape(reconciler, may_write()))))
    if reconciler.multikueue is not None:
        registry.register(Scraped(WorkerScrape, lambda read: read(_workers(reconciler))))
    if reconciler.dialects - {Dialect.KUEUE}:
        _export_other_queues(registry, reconciler)
    if kueue:
        build = BuildInfo(_version(), platform.python_version(), platform.python_implementation(), platform.machine())
        registry.register(Scraped(BuildInfo, lambda read: read(build)))
        registry.register(Scraped(World, asking(reconciler, labels), role=role))
        if reconciler.multikueue is not None:
            registry.register(Scraped(Dispatches, lambda read: read(_dispatches(reconciler)), role=role))


def export_certificate(registry: CollectorRegistry, expires: Callable[[], datetime]) -> None:
    registry.register(Scraped(Certificate, lambda read: read(Certificate(expires().timestamp()))))


def _export_other_queues(registry: CollectorRegistry, reconciler: Reconciler) -> None:
    """Register the queues of YuniKorn and Volcano, and the Pods at their gates. Only the leader exports them."""
    from reconciler.controllers.volcano.gates import VolcanoGatesController  # imported here because it takes long
    from reconciler.controllers.volcano.queues import VolcanoQueuesController
    from reconciler.controllers.yunikorn.gates import QuotaGatesController
    from scheduling.volcano.gates.gatekeeper import VolcanoGatekeeper
    from scheduling.volcano_queues.tree import VolcanoQueueTree
    from scheduling.yunikorn.gates.gatekeeper import YuniKornGatekeeper

    register_other_queues()
    counts: dict[Dialect, GateCounts] = {}
    for each in reconciler.core.controllers:
        if isinstance(each, QuotaGatesController):
            counts[Dialect.YUNIKORN] = each.keeper.counts
            registry.register(Scraped(YuniKornGatekeeper, _of_leader(reconciler, each.keeper)))
        elif isinstance(each, VolcanoGatesController):
            counts[Dialect.VOLCANO] = each.keeper.counts
            registry.register(Scraped(VolcanoGatekeeper, _of_leader(reconciler, each.keeper)))
        elif isinstance(each, VolcanoQueuesController):
            registry.register(Scraped(VolcanoQueueTree, _of_leader(reconciler, each.tree)))
    if counts:
        registry.register(Scraped(QuotaGates, _of_leader(reconciler, QuotaGates(counts))))


def asking(reconciler: Reconciler, labels: CustomLabels = NO_CUSTOM_LABELS, patience: float = PATIENCE) -> Ask[World]:
    """Reads the world in the loop's thread between two steps, because only that thread may use it."""

    def read_world(read: Callable[[World], Read]) -> Read:
        def counted(core: Core) -> Read:
            labels.count(core.state.world)
            return read(core.state.world)

        return reconciler.ask(counted, timeout=patience)

    return read_world


def _of_leader(reconciler: Reconciler, occasion: T) -> Ask[T]:
    """Reads the occasion in the loop's thread if this process leads. A standby has no samples."""

    def read_there(read: Callable[[T], Read]) -> Read:
        return reconciler.ask(lambda core: read(occasion) if core.leads else [], timeout=PATIENCE)

    return read_there


def _workers(reconciler: Reconciler) -> WorkerScrape:
    """Read the workers. Raises TimeoutError if the loop does not answer in time."""
    return WorkerScrape(clusters_json(reconciler.ask(clusters, timeout=PATIENCE), named=False)["items"])


def _dispatches(reconciler: Reconciler) -> Dispatches:
    """Read the dispatches. Raises TimeoutError if the loop does not answer in time."""
    return reconciler.ask(
        lambda core: Dispatches(dispatched(core), evicted_there(core), worker_statuses(core)), timeout=PATIENCE
    )


def _version() -> str:
    try:
        return version("quotree")
    except PackageNotFoundError:
        return "unknown"
