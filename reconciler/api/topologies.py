"""The topologies of flavors as JSON: the domains of each level, their free room, and the workloads in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduling.flavors.messages import amount_text
from scheduling.topology.domains import level_word
from scheduling.visibility.domains import DomainUsage, domains_below, topologies
from scheduling.world.world import World

API_VERSION = "quotree.dev/v1alpha1"
_NAMED = 100
"""The most workloads of a domain that are listed by name. All of them are counted."""


def topologies_json(world: World) -> dict[str, Any]:
    """The flavors with a topology. Call this in the loop's thread."""
    items = [
        {
            "flavor": each.flavor,
            "topology": each.topology,
            "levels": list(each.levels),
            "nodes": each.usage.nodes,
            "resources": _resources(each.usage),
        }
        for each in topologies(world.state.fleet)
    ]
    return {"apiVersion": API_VERSION, "kind": "TopologyList", "items": items}


def domains_json(world: World, flavor: str, within: Sequence[str], *, named: bool) -> dict[str, Any]:
    """The domains below the domain `within`, sorted by name. Call this in the loop's thread.

    `named`: whether to list the names of workloads, and not only their number. Raises KeyError if there is no such
    topology or domain.
    """
    fleet = world.state.fleet
    if fleet is None:
        raise KeyError(flavor)
    found, topology = domains_below(world.state, flavor, within), fleet.flavors[flavor]
    levels = topology.tree.levels
    return {
        "apiVersion": API_VERSION,
        "kind": "DomainList",
        "flavor": flavor,
        "topology": topology.name,
        "levels": list(levels),
        "within": list(within),
        "level": level_word(levels[len(within)]),
        "items": [_domain(each, named=named) for each in found],
    }


def _domain(usage: DomainUsage, *, named: bool) -> dict[str, Any]:
    workloads = usage.workloads[:_NAMED] if named else []
    return {
        "values": list(usage.values),
        "nodes": usage.nodes,
        "resources": _resources(usage),
        "placed": len(usage.workloads),
        "workloads": [{"workload": each.key, "clusterQueue": each.queue, "pods": each.pods} for each in workloads],
    }


def _resources(usage: DomainUsage) -> list[dict[str, Any]]:
    return [_resource(usage, name) for name in sorted(usage.capacity)]


def _resource(usage: DomainUsage, name: str) -> dict[str, Any]:
    capacity, outside, held = usage.capacity[name], usage.outside.get(name, 0), usage.held.get(name, 0)
    return {
        "resource": name,
        "capacity": amount_text(name, capacity),
        "outside": amount_text(name, outside),
        "held": amount_text(name, held),
        "free": amount_text(name, usage.free(name)),
        "used": round((outside + held) / capacity, 4) if capacity else 0,
    }
