"""Makes an engine from the plugins of a scheduler configuration, tier by tier."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from scheduling.volcano.capacity import Capacity, CapacitySettings
from scheduling.volcano.engine import PluginEngine
from scheduling.volcano.node_groups import NodeGroups
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
    """A plugin in a tier. `features`: those that are switched on; None means all."""

    name: str
    features: frozenset[str] | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)


DEFAULT_TIERS = (
    (
        *map(PluginSettings, ("priority", "gang", "conformance", "predicates")),
        PluginSettings("capacity", arguments={SETTLED: True}),
    ),
)
"""All plugins are in one tier, so that `capacity` is asked about each victim. Tiers after the deciding one are not."""


def engine(tiers: Iterable[Iterable[PluginSettings]] = DEFAULT_TIERS) -> PluginEngine:
    """An engine with these plugins, and a world without objects. Plugins that are not in PLUGINS are left out."""
    tiers = [[*tier] for tier in tiers]
    named = {settings.name: settings for tier in tiers for settings in tier}
    capacity = named.get("capacity")
    hierarchy = capacity is not None and (capacity.features is None or HIERARCHY in capacity.features)
    world = SessionWorld(hierarchy=hierarchy, flat="proportion" in named)
    plugins = {name: PLUGINS[name](settings, world) for name, settings in named.items() if name in PLUGINS}
    return PluginEngine(
        world, [[Enabled(plugins[s.name], s.features) for s in tier if s.name in plugins] for tier in tiers]
    )


def _capacity(arguments: Mapping[str, object]) -> CapacitySettings:
    """Read the arguments. As in Volcano, a level counts as 0 if it is not an integer or is below 0."""
    level = arguments.get("ancestorReclaimLevel")
    return CapacitySettings(
        ancestor_reclaim_level=max(0, level) if type(level) is int else 0,  # a bool is an int, too
        settled=arguments.get(SETTLED) is True,
        devices=arguments.get("capacity.DynamicResourceAllocationEnable") is not False,
        device_capacities=arguments.get("capacity.DRAConsumableCapacityEnable") is True,
    )


def _node_groups(settings: PluginSettings, _world: SessionWorld) -> NodeGroups:
    hierarchy = settings.features is not None and HIERARCHY in settings.features
    return NodeGroups(settings.arguments, hierarchy=hierarchy)


PLUGINS: dict[str, Callable[[PluginSettings, SessionWorld], Plugin]] = {
    "capacity": lambda settings, world: Capacity(world.queues, _capacity(settings.arguments)),
    "proportion": lambda _, world: Proportion(world.flat),
    "drf": lambda _, world: Drf(world.queues.total),
    "gang": lambda *_: GangPlugin(),
    "priority": lambda *_: PriorityPlugin(),
    "predicates": lambda *_: Predicates(),
    "conformance": lambda *_: Conformance(),
    "binpack": lambda settings, _: Binpack(settings.arguments),
    "nodegroup": _node_groups,
}
"""The plugins that sessions simulate, by name."""
