"""Which domains a pod set asks for: its topologyRequest, and the levels of a Topology that it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from policies.dialects.reading import integer, listing, mapping, text


class SliceLayer(NamedTuple):
    """Pods in groups of `size`, each group whole in one domain of the level `topology`. `size` 0: none is given."""

    topology: str
    size: int


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """What a pod set asks for.

    required, preferred: a level, empty if none.
    anywhere: `unconstrained: true`, or implied because its ClusterQueue has flavors with topologies only.
    layers: slices, the largest first.
    group: the name of its pod set group, empty if none.
    """

    required: str = ""
    preferred: str = ""
    anywhere: bool = False
    layers: tuple[SliceLayer, ...] = ()
    group: str = ""

    @property
    def unconstrained(self) -> bool:
        """Whether no domain has to hold all pods; slices without a level are such a request too."""
        return self.anywhere or bool(self.layers and not self.required and not self.preferred)

    def level(self, levels: Sequence[str]) -> str:
        """The level that it means of these, coarsest first; empty where it means none.

        `unconstrained: false` alone means none.
        """
        if self.required or self.preferred:
            return self.required or self.preferred
        if not levels:
            return ""
        if self.layers:
            return levels[0]
        return levels[-1] if self.anywhere else ""

    def has_levels(self, levels: Sequence[str]) -> bool:
        """Whether each level that it names is one of these."""
        named = (self.level(levels), *(layer.topology for layer in self.layers))
        return all(name in levels for name in named)


IMPLIED = TopologyRequest(anywhere=True)
"""The request of a pod set that asks for nothing, in a ClusterQueue with topologies only."""


def read_topology_request(request: Mapping[str, Any]) -> TopologyRequest:
    """The topologyRequest of a Workload's pod set. Layers win over the two fields for a single one."""
    return TopologyRequest(
        required=text(request.get("required")) or "",
        preferred=text(request.get("preferred")) or "",
        anywhere=request.get("unconstrained") is True,
        layers=_layers(request),
        group=text(request.get("podSetGroupName")) or "",
    )


def _layers(request: Mapping[str, Any]) -> tuple[SliceLayer, ...]:
    layers = [mapping(each) for each in listing(request.get("podsetSliceRequiredTopologyConstraints"))]
    if layers:
        return tuple(SliceLayer(text(each.get("topology")) or "", integer(each.get("size")) or 0) for each in layers)
    single = text(request.get("podSetSliceRequiredTopology"))
    return (SliceLayer(single, integer(request.get("podSetSliceSize")) or 0),) if single else ()
