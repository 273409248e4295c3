"""The rows of trees with the quota that is in use, and who uses it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from analysis.trees.quotas import QuotaRow, Quotas
from policies.dialects import kueue, volcano
from policies.dialects.yunikorn import type_of
from policies.dialects.yunikorn_config.quotas import amount_text
from policies.model.forest import Forest
from policies.model.objects import Ref
from scheduling.flavors.messages import written
from scheduling.objects.amounts import FlavorResource
from scheduling.volcano.play.usage import amounts, phases_below
from scheduling.volcano.world import SessionWorld as Volcano
from scheduling.world.nodes import InUse, WorkloadCounts, below, nodes
from scheduling.world.world import World
from scheduling.yunikorn.simulation import YuniKornSimulation as YuniKorn
from scheduling.yunikorn.usage import Applications, applications_by_namespace

_NOTHING: Mapping[FlavorResource, InUse] = {}


class QuotasInUse(Quotas):
    """The quota of every node, what its subtree uses, and how much of that it borrows."""

    def __init__(self, forest: Forest, downward: Sequence[Ref], world: World):
        super().__init__(forest, downward)
        self._found = below(nodes(world))

    def rows(self, ref: Ref) -> list[QuotaRow]:
        rows = super().rows(ref)
        if ref.group != kueue.GROUP:
            return rows
        of_kind = self._found.queues if ref.kind == kueue.CLUSTER_QUEUE.kind else self._found.cohorts
        found = of_kind.get(ref.name, _NOTHING)
        listed = {FlavorResource(row.flavor, row.resource) for row in rows}
        rows += [QuotaRow(*pair, {}, {}) for pair in sorted(found.keys() - listed)]
        return [_with_use(row, found.get(FlavorResource(row.flavor, row.resource))) for row in rows]


class QuotasAndWorkloads(QuotasInUse):
    """Rows of quota, with the number of workloads that are pending, reserve quota and are admitted."""

    def counts(self, ref: Ref) -> Mapping[str, Mapping[str, int]]:
        if ref.group != kueue.GROUP:
            return super().counts(ref)
        found = self._found.queue_counts if ref.kind == kueue.CLUSTER_QUEUE.kind else self._found.cohort_counts
        return {"workloads": asdict(found.get(ref.name, WorkloadCounts()))}

    def note(self, ref: Ref) -> str:
        return workload_note(self.counts(ref).get("workloads", {}))


def workload_note(counts: Mapping[str, int]) -> str:
    """How many workloads a node has; empty for none."""
    words = {"pending": "pending", "reserving": "with quota", "admitted": "admitted"}
    return ", ".join(f"{count} {words[word]}" for word, count in counts.items() if count)


class QuotasOfVolcano(Quotas):
    """The quota of Volcano's queues, what of it is allocated and reserved, and the PodGroups of each with all below."""

    def __init__(self, forest: Forest, downward: Sequence[Ref], world: Volcano):
        super().__init__(forest, downward)
        self._queues = world.queues
        self._phases = phases_below(world)

    def rows(self, ref: Ref) -> list[QuotaRow]:
        rows, node = super().rows(ref), self._queues.get(ref.name)
        found = amounts(self._queues, node) if node is not None else {}
        used = {word: texts for word, texts in found.items() if word in ("limit", "allocated", "inqueue")}
        listed = {row.resource for row in rows}
        rows += [
            QuotaRow("", name, {}, {}) for name in sorted({name for texts in used.values() for name in texts} - listed)
        ]
        return [replace(row, own={**row.own, **_of(row.resource, used)}) for row in rows]

    def counts(self, ref: Ref) -> Mapping[str, Mapping[str, int]]:
        return {"podGroups": dict(sorted(self._phases.get(ref.name, {}).items()))}

    def note(self, ref: Ref) -> str:
        return ", ".join(phase_notes(self.counts(ref)["podGroups"]))


def phase_notes(phases: Mapping[str, int]) -> list[str]:
    return [f"{phase}: {count}" for phase, count in sorted(phases.items())]


class NamespacesInUse:
    """The quota of Namespaces with what their Pods have allocated, and their applications."""

    def __init__(self, simulation: YuniKorn) -> None:
        self._used = simulation.used_by_namespace()
        self._applications = applications_by_namespace(simulation)

    def rows(self, name: str, rows: Iterable[QuotaRow]) -> list[QuotaRow]:
        used = self._used.get(name, {})
        return [replace(row, own={**row.own, "used": _used(row.resource, used)}) for row in rows]

    def applications(self, name: str) -> Applications:
        return self._applications.get(name, Applications(0, 0))


@dataclass(frozen=True, slots=True)
class Users:
    """The engines that know the usage of each project's queues; None if the usage is unknown or zero."""

    kueue: World | None = None
    volcano: Volcano | None = None
    yunikorn: YuniKorn | None = None

    def quotas(self, forest: Forest, downward: Sequence[Ref]) -> Mapping[str, Quotas]:
        """The quotas and their usage, by the API group of the queues."""
        plain = Quotas(forest, downward)
        return {
            kueue.GROUP: QuotasAndWorkloads(forest, downward, self.kueue) if self.kueue is not None else plain,
            volcano.GROUP: QuotasOfVolcano(forest, downward, self.volcano) if self.volcano is not None else plain,
        }


def _of(resource: str, texts: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {word: each[resource] for word, each in texts.items() if resource in each}


def _used(resource: str, used: Mapping[str, int]) -> str:
    kind = type_of(resource)
    return amount_text(kind, used.get(kind, 0))


def _with_use(row: QuotaRow, use: InUse | None) -> QuotaRow:
    amounts = {"used": written(row.resource, use.used if use else 0)}
    beyond = {"borrowed": use.borrowed, "over": use.over} if use is not None else {}
    amounts |= {word: written(row.resource, amount) for word, amount in beyond.items() if amount}
    return replace(row, own={**row.own, **amounts})
