"""The rows of a tree with what is in use there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cli.quotas import Quotas, Row
from policies.dialects import kueue
from policies.forest import Forest
from policies.objects import Ref
from scheduling.flavors.messages import written
from scheduling.objects.amounts import FlavorResource
from scheduling.world.nodes import InUse, below, nodes
from scheduling.world.world import World

_NOTHING: Mapping[FlavorResource, InUse] = {}


class QuotasInUse(Quotas):
    """The quota of every node, and beside it what its subtree uses and what of that it borrows."""

    def __init__(self, forest: Forest, downward: Sequence[Ref], world: World):
        super().__init__(forest, downward)
        found = below(nodes(world))
        self._queues, self._cohorts = found.queues, found.cohorts

    def rows(self, ref: Ref) -> list[Row]:
        found = (self._queues if ref.kind == kueue.CLUSTER_QUEUE.kind else self._cohorts).get(ref.name, _NOTHING)
        rows = super().rows(ref)
        listed = {FlavorResource(row.flavor, row.resource) for row in rows}
        rows += [Row(*pair, {}, {}) for pair in sorted(found.keys() - listed)]
        return [_with_use(row, found.get(FlavorResource(row.flavor, row.resource))) for row in rows]


def _with_use(row: Row, use: InUse | None) -> Row:
    told = {"used": written(row.resource, use.used if use else 0)}
    if use is not None and use.borrowed:
        told["borrowed"] = written(row.resource, use.borrowed)
    return replace(row, own={**row.own, **told})
