"""A session from objects and a configuration of plugins, tier by tier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scheduling.volcano.capacity import Capacity, CapacitySettings
from scheduling.volcano.objects import Machine, PodGroup, QueueSettings, Task
from scheduling.volcano.plugin import Plugin
from scheduling.volcano.plugins import Conformance, Drf, Gang, Predicates, Priority
from scheduling.volcano.proportion import Proportion
from scheduling.volcano.queues import Queues
from scheduling.volcano.session import Enabled, Session

HIERARCHY = "hierarchy"
SETTLED = "quotree.settled"
"""The argument of `capacity` that is ours: see `CapacitySettings.settled`."""


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """A plugin as a tier names it. `features`: those that are on; None: all of them."""

    name: str
    features: frozenset[str] | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Everything that a session decides about."""

    queues: Sequence[QueueSettings] = ()
    groups: Sequence[PodGroup] = ()
    tasks: Sequence[Task] = ()
    machines: Sequence[Machine] = ()


DEFAULT_TIERS = (
    (
        *map(PluginSettings, ("priority", "gang", "conformance", "predicates")),
        PluginSettings("capacity", arguments={SETTLED: True}),
    ),
)
"""All in one tier, so that `capacity` is asked about every victim. Behind a tier that decides, it would not be."""


def open_session(
    cluster: Cluster,
    tiers: Iterable[Iterable[PluginSettings]] = DEFAULT_TIERS,
    others: Mapping[str, Plugin] | None = None,
) -> Session:
    """A session over the cluster. `others` are plugins that are not ours; a name that nobody knows has no say."""
    tiers = [[*tier] for tier in tiers]
    named = {settings.name: settings for tier in tiers for settings in tier}
    capacity = named.get("capacity")
    flat = capacity is not None and capacity.features is not None and HIERARCHY not in capacity.features
    queues = queues_of(cluster, hierarchy=capacity is not None and not flat)
    plugins = {name: plugin for name in named if (plugin := _plugin(named[name], cluster, queues)) is not None}
    plugins.update(others or {})
    enabled = [[Enabled(plugins[s.name], s.features) for s in tier if s.name in plugins] for tier in tiers]
    return Session(queues, cluster.groups, cluster.tasks, cluster.machines, enabled)


def queues_of(cluster: Cluster, *, hierarchy: bool) -> Queues:
    """The queues without usage, and what the nodes have."""
    queues = Queues(hierarchy=hierarchy)
    for machine in cluster.machines:
        queues.resize(machine.allocatable)
    for queue in cluster.queues:
        queues.put(queue)
    return queues


def _plugin(settings: PluginSettings, cluster: Cluster, queues: Queues) -> Plugin | None:
    match settings.name:
        case "capacity":
            return Capacity(queues, _capacity(settings.arguments))
        case "proportion":
            return Proportion(queues_of(cluster, hierarchy=False))
        case "drf":
            return Drf(queues.total)
        case "gang":
            return Gang()
        case "priority":
            return Priority()
        case "predicates":
            return Predicates()
        case "conformance":
            return Conformance()
    return None


def _capacity(arguments: Mapping[str, object]) -> CapacitySettings:
    """A level that is no number, or below 0, counts as 0, as in Volcano."""
    level = arguments.get("ancestorReclaimLevel")
    return CapacitySettings(
        ancestor_reclaim_level=max(0, level) if isinstance(level, int) else 0,
        settled=arguments.get(SETTLED) is True,
        devices=arguments.get("capacity.DynamicResourceAllocationEnable") is not False,
        device_capacities=arguments.get("capacity.DRAConsumableCapacityEnable") is True,
    )
