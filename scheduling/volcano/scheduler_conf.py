"""The configuration of Volcano's scheduler: its actions, and its plugins by tier.

Source: Volcano v1.16, pkg/scheduler/conf, pkg/scheduler/plugins/defaults.go, installer/.../volcano-scheduler.conf.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policies.dialects.reading import listing, mapping, text
from policies.model.errors import BadConfiguration
from policies.text.yaml_values import single
from scheduling.volcano.actions import ACTIONS
from scheduling.volcano.setup import DEFAULT_TIERS, HIERARCHY, PLUGINS, SETTLED, PluginSettings

_FEATURES = (
    *("jobOrder", "jobReady", "jobPipelined", "jobEnqueued", "taskOrder", "preemptable", "reclaimable"),
    *("preemptive", "queueOrder", "predicate", "nodeOrder", "jobStarving", "overused", "allocatable"),
)
"""The features of a plugin that a configuration can switch. All are on by default, except the hierarchy."""
_OWN_FIELDS = ("name", "arguments")


@dataclass(frozen=True, slots=True)
class SchedulerConf:
    """A volcano-scheduler.conf.

    actions: the actions, in the order in which they run.
    tiers: the plugins, by tier.
    left_out: the actions, plugins and features of plugins that are not simulated.
    """

    actions: tuple[str, ...] = ("enqueue", "allocate", "backfill", "reclaim")
    tiers: Sequence[Sequence[PluginSettings]] = DEFAULT_TIERS
    left_out: tuple[str, ...] = ()

    @property
    def plugins(self) -> tuple[str, ...]:
        return tuple(plugin.name for tier in self.tiers for plugin in tier)

    @property
    def settled(self) -> bool:
        """Whether a queue reclaims only what the other queue cannot reclaim back. Volcano has no such restriction."""
        return any(plugin.arguments.get(SETTLED) is True for tier in self.tiers for plugin in tier)


SETTLED_CONF = SchedulerConf()
VOLCANO_CONF = SchedulerConf(
    tiers=tuple(tuple(PluginSettings(plugin.name) for plugin in tier) for tier in DEFAULT_TIERS)
)
"""The same plugins with Volcano's own reclaim."""


def conf_document(document: object) -> object:
    """Parse the configuration in a ConfigMap. Any other document is returned unchanged. Raises BadText."""
    data = mapping(mapping(document).get("data"))
    found = next((each for key, each in data.items() if key.endswith(".conf")), None)
    return single(found) if isinstance(found, str) else document


def read_conf(document: object) -> SchedulerConf:
    """Read the parsed YAML of a volcano-scheduler.conf. Raises BadConfiguration with the key's path."""
    if not isinstance(document, Mapping) or not isinstance(document.get("actions"), str):
        raise BadConfiguration("expected the actions of Volcano's scheduler, such as 'enqueue, allocate'", "actions")
    actions = [name for each in document["actions"].split(",") if (name := each.strip())]
    tiers = [[*_plugins(tier, i)] for i, tier in enumerate(map(mapping, listing(document.get("tiers"))))]
    if not any(tiers):
        raise BadConfiguration("expected plugins by tier", "tiers")
    unplayed = [action for action in actions if action not in ACTIONS]
    plugins = [plugin for tier in tiers for plugin in tier]
    unplayed += [plugin.name for plugin in plugins if plugin.name not in PLUGINS]
    if any(plugin.name == "drf" and HIERARCHY in (plugin.features or ()) for plugin in plugins):
        unplayed.append("enableHierarchy of drf")
    played = tuple(tuple(plugin for plugin in tier if plugin.name in PLUGINS) for tier in tiers)
    return SchedulerConf(tuple(action for action in actions if action in ACTIONS), played, tuple(unplayed))


def _plugins(tier: Mapping[str, object], index: int) -> list[PluginSettings]:
    found = enumerate(map(mapping, listing(tier.get("plugins"))))
    return [_plugin(each, f"tiers[{index}].plugins[{i}]") for i, each in found]


def _plugin(entry: Mapping[str, object], at: str) -> PluginSettings:
    name = text(entry.get("name"))
    if not name:
        raise BadConfiguration("expected the name of a plugin", f"{at}.name")
    switches = {_feature(key): value for key, value in entry.items() if key not in _OWN_FIELDS}
    on = {feature for feature in _FEATURES if switches.get(feature) is not False}
    if switches.get(HIERARCHY) is True:
        on.add(HIERARCHY)
    return PluginSettings(name, frozenset(on), mapping(entry.get("arguments")))


def _feature(key: str) -> str:
    """The name of the feature: `jobOrder` for `enableJobOrder`, `overused` for `enabledOverused`."""
    name = key.removeprefix("enabled") if key.startswith("enabled") else key.removeprefix("enable")
    return name[:1].lower() + name[1:]
