"""Makes an engine from objects and a configuration of plugins by tier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scheduling.volcano.capacity import Capacity, CapacitySettings
from scheduling.volcano.engine import PluginEngine
from scheduling.volcano.node_groups import NodeGroups
from scheduling.volcano.objects import Machine, PodGroup, Task, VolcanoQueueSettings
from scheduling.volcano.plugin import Plugin
from scheduling.volcano.plugins import Binpack, Conformance, Drf, GangPlugin, Predicates, PriorityPlugin
from scheduling.volcano.proportion import Proportion
from scheduling.volcano.session import Enabled
from scheduling.volcano.world import SessionWorld

HIERARCHY = "hierarchy"
SETTLED = "quotree.settled"
"""An argument of `capacity` that only Quotree has: see `CapacitySettings.settled`."""


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """A plugin as a tier names it. `features`: those that are switched on; None means all."""

    name: str
    features: frozenset[str] | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionSetup:
    """The objects that a session decides about."""

    queues: Sequence[VolcanoQueueSettings] = ()
    groups: Sequence[PodGroup] = ()
    tasks: Sequence[Task] = ()
    machines: Sequence[Machine] = ()


DEFAULT_TIERS = (
    (
        *map(PluginSettings, ("priority", "gang", "conformance", "predicates")),
        PluginSettings("capacity", arguments={SETTLED: True}),
    ),
)
"""All plugins are in one tier, so that `capacity` is asked about every victim. A tier after the deciding one is not."""


def engine(
    cluster: SessionSetup,
    tiers: Iterable[Iterable[PluginSettings]] = DEFAULT_TIERS,
    others: Mapping[str, Plugin] | None = None,
) -> PluginEngine:
    """An engine with the objects of the cluster. Later changes go into its world.

    others: further plugins by name, which replace those of this module.
    """
    tiers = [[*tier] for tier in tiers]
    named = {settings.name: settings for tier in tiers for settings in tier}
    capacity = named.get("capacity")
    alone = capacity is None or (capacity.features is not None and HIERARCHY not in capacity.features)
    world = SessionWorld(hierarchy=not alone, flat="proportion" in named)
    _fill(world, cluster)
    plugins = {name: plugin for name in named if (plugin := _plugin(named[name], world)) is not None}
    plugins.update(others or {})
    return PluginEngine(
        world, [[Enabled(plugins[s.name], s.features) for s in tier if s.name in plugins] for tier in tiers]
    )


def _fill(world: SessionWorld, cluster: SessionSetup) -> None:
    for machine in cluster.machines:
        world.put_machine(machine)
    for queue in cluster.queues:
        world.put_queue(queue)
    for group in cluster.groups:
        world.put_group(group)
    for task in cluster.tasks:
        world.put_task(task)


def _plugin(settings: PluginSettings, world: SessionWorld) -> Plugin | None:
    match settings.name:
        case "capacity":
            return Capacity(world.queues, _capacity(settings.arguments))
        case "proportion":
            return Proportion(world.flat)
        case "drf":
            return Drf(world.queues.total)
        case "gang":
            return GangPlugin()
        case "priority":
            return PriorityPlugin()
        case "predicates":
            return Predicates()
        case "conformance":
            return Conformance()
        case "binpack":
            return Binpack(settings.arguments)
        case "nodegroup":
            hierarchy = settings.features is not None and HIERARCHY in settings.features
            return NodeGroups(settings.arguments, hierarchy=hierarchy)
    return None


def is_played(plugin: str) -> bool:
    """Whether sessions simulate the plugin of this name."""
    return plugin in _PLAYED


_PLAYED = frozenset(
    ["capacity", "proportion", "drf", "gang", "priority", "predicates", "conformance", "binpack", "nodegroup"]
)


def _capacity(arguments: Mapping[str, object]) -> CapacitySettings:
    """Read the arguments. A level that is not a number, or is below 0, counts as 0, as in Volcano."""
    level = arguments.get("ancestorReclaimLevel")
    return CapacitySettings(
        ancestor_reclaim_level=max(0, level) if isinstance(level, int) else 0,
        settled=arguments.get(SETTLED) is True,
        devices=arguments.get("capacity.DynamicResourceAllocationEnable") is not False,
        device_capacities=arguments.get("capacity.DRAConsumableCapacityEnable") is True,
    )
