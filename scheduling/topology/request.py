"""The topologyRequest of a pod set, and the levels of a Topology to which it refers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from policies.dialects.reading import integer, listing, mapping, text


class SliceLayer(NamedTuple):
    """Slices of `size` pods, each of which stays in one domain of the level `topology`. `size` 0: not set."""

    topology: str
    size: int


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """The topology request of a pod set.

    required, preferred: a level; empty if not set.
    anywhere: `unconstrained: true`, or implied because all flavors of its ClusterQueue have topologies.
    layers: the slices, the largest first.
    group: the name of its pod set group; empty if it has none.
    """

    required: str = ""
    preferred: str = ""
    anywhere: bool = False
    layers: tuple[SliceLayer, ...] = ()
    group: str = ""

    @property
    def unconstrained(self) -> bool:
        """Whether the pods may be in any domains. Slices without a level are such a request, too."""
        return self.anywhere or bool(self.layers and not self.required and not self.preferred)

    def level(self, levels: Sequence[str]) -> str:
        """The requested one of these levels, coarsest first; empty if it requests none.

        A request with only `unconstrained: false` requests none.
        """
        if self.required or self.preferred:
            return self.required or self.preferred
        if not levels:
            return ""
        if self.layers:
            return levels[0]
        return levels[-1] if self.anywhere else ""

    def has_levels(self, levels: Sequence[str]) -> bool:
        named = (self.level(levels), *(layer.topology for layer in self.layers))
        return all(name in levels for name in named)


def read_topology_request(request: Mapping[str, Any]) -> TopologyRequest:
    """Read the topologyRequest of a pod set. The list of layers takes precedence over the fields for a single layer."""
    return TopologyRequest(
        required=text(request.get("required")) or "",
        preferred=text(request.get("preferred")) or "",
        anywhere=request.get("unconstrained") is True,
        layers=_layers(request),
        group=group_name(request),
    )


def group_name(request: Mapping[str, Any]) -> str:
    """The name of the pod set group in a topologyRequest; empty without a group. It counts without a level, too."""
    return text(request.get("podSetGroupName")) or ""


def _layers(request: Mapping[str, Any]) -> tuple[SliceLayer, ...]:
    layers = [mapping(each) for each in listing(request.get("podsetSliceRequiredTopologyConstraints"))]
    if layers:
        return tuple(SliceLayer(text(each.get("topology")) or "", integer(each.get("size")) or 0) for each in layers)
    single = text(request.get("podSetSliceRequiredTopology"))
    return (SliceLayer(single, integer(request.get("podSetSliceSize")) or 0),) if single else ()
