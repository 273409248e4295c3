"""Makes an engine from a configuration of plugins by tier."""

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
    """A plugin as a tier names it. `features`: those that are switched on; None means all."""

    name: str
    features: frozenset[str] | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)


DEFAULT_TIERS = (
    (
        *map(PluginSettings, ("priority", "gang", "conformance", "predicates")),
        PluginSettings("capacity", arguments={SETTLED: True}),
    ),
)
"""All plugins are in one tier, so that `capacity` is asked about every victim. A tier after the deciding one is not."""


def engine(tiers: Iterable[Iterable[PluginSettings]] = DEFAULT_TIERS) -> PluginEngine:
    """An engine with these plugins, and a world without objects. Plugins that are not in PLUGINS are left out."""
    tiers = [[*tier] for tier in tiers]
    named = {settings.name: settings for tier in tiers for settings in tier}
    capacity = named.get("capacity")
    alone = capacity is None or (capacity.features is not None and HIERARCHY not in capacity.features)
    world = SessionWorld(hierarchy=not alone, flat="proportion" in named)
    plugins = {name: PLUGINS[name](settings, world) for name, settings in named.items() if name in PLUGINS}
    return PluginEngine(
        world, [[Enabled(plugins[s.name], s.features) for s in tier if s.name in plugins] for tier in tiers]
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
