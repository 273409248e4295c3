"""The rows of a tree with the quota that is in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from cli.report.quotas import Quotas, Row
from policies.dialects import kueue
from policies.model.forest import Forest
from policies.model.objects import Ref
from scheduling.flavors.messages import written
from scheduling.objects.amounts import FlavorResource
from scheduling.world.nodes import Counts, InUse, below, nodes
from scheduling.world.world import World

_NOTHING: Mapping[FlavorResource, InUse] = {}


class QuotasInUse(Quotas):
    """The quota of every node, what its subtree uses, and how much of that it borrows."""

    def __init__(self, forest: Forest, downward: Sequence[Ref], world: World):
        super().__init__(forest, downward)
        self._found = below(nodes(world))

    def rows(self, ref: Ref) -> list[Row]:
        rows = super().rows(ref)
        if ref.group != kueue.GROUP:
            return rows
        of_kind = self._found.queues if ref.kind == kueue.CLUSTER_QUEUE.kind else self._found.cohorts
        found = of_kind.get(ref.name, _NOTHING)
        listed = {FlavorResource(row.flavor, row.resource) for row in rows}
        rows += [Row(*pair, {}, {}) for pair in sorted(found.keys() - listed)]
        return [_with_use(row, found.get(FlavorResource(row.flavor, row.resource))) for row in rows]


class QuotasAndWorkloads(QuotasInUse):
    """The same, with the number of workloads that are pending, reserve quota and are admitted."""

    def counts(self, ref: Ref) -> Mapping[str, int]:
        found = self._found.queue_counts if ref.kind == kueue.CLUSTER_QUEUE.kind else self._found.cohort_counts
        return asdict(found.get(ref.name, Counts())) if ref.group == kueue.GROUP else {}

    def mark(self, ref: Ref) -> str:
        words = {"pending": "pending", "reserving": "with quota", "admitted": "admitted"}
        counts = {words[word]: count for word, count in self.counts(ref).items() if count}
        return ", ".join(f"{count} {word}" for word, count in counts.items())


def _with_use(row: Row, use: InUse | None) -> Row:
    amounts = {"used": written(row.resource, use.used if use else 0)}
    if use is not None and use.borrowed:
        amounts["borrowed"] = written(row.resource, use.borrowed)
    return replace(row, own={**row.own, **amounts})
