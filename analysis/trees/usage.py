"""The rows of trees with their usage, and the work that uses quota."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from analysis.trees.quotas import QuotaRow, Quotas
from policies.dialects import kueue, volcano
from policies.dialects.yunikorn import type_of
from policies.dialects.yunikorn_config.quotas import queue_amount
from policies.model.forest import Forest
from policies.model.objects import Ref
from scheduling.flavors.messages import amount_text
from scheduling.objects.amounts import FlavorResource
from scheduling.volcano.play.usage import amounts, phases_below
from scheduling.volcano.world import SessionWorld as Volcano
from scheduling.world.nodes import InUse, WorkloadCounts, below, nodes
from scheduling.world.world import World
from scheduling.yunikorn.simulation import YuniKornSimulation as YuniKorn
from scheduling.yunikorn.usage import Applications, applications_by_namespace

_NO_USAGE: Mapping[FlavorResource, InUse] = {}


class QuotasWithUsage(Quotas):
    """The quota of every node of Kueue, with the usage of its subtree and the borrowed part of it."""

    def __init__(self, forest: Forest, downward: Sequence[Ref], world: World):
        super().__init__(forest, downward)
        states = nodes(world)
        self._usage = below(states)
        self._inactive = {each.name: each.inactive for each in states if each.inactive}

    def rows(self, ref: Ref) -> list[QuotaRow]:
        rows = super().rows(ref)
        if ref.group != kueue.GROUP:
            return rows
        nodes_of_kind = self._usage.queues if ref.kind == kueue.CLUSTER_QUEUE.kind else self._usage.cohorts
        usage = nodes_of_kind.get(ref.name, _NO_USAGE)
        listed = {FlavorResource(row.flavor, row.resource) for row in rows}
        rows += [QuotaRow(*pair, {}, {}) for pair in sorted(usage.keys() - listed)]
        return [_with_usage(row, usage.get(FlavorResource(row.flavor, row.resource))) for row in rows]


class QuotasWithWorkloads(QuotasWithUsage):
    """The quotas with usage, and the numbers of workloads that are pending, have quota, and are admitted."""

    def counts(self, ref: Ref) -> Mapping[str, Mapping[str, int]]:
        if ref.group != kueue.GROUP:
            return super().counts(ref)
        found = self._usage.queue_counts if ref.kind == kueue.CLUSTER_QUEUE.kind else self._usage.cohort_counts
        return {"workloads": asdict(found.get(ref.name, WorkloadCounts()))}

    def condition(self, ref: Ref) -> Mapping[str, str]:
        found = super().condition(ref)
        inactive = self._inactive.get(ref.name) if ref.group_kind == kueue.CLUSTER_QUEUE else None
        return {**found, "inactive": inactive} if inactive else found

    def note(self, ref: Ref) -> str:
        return workload_note(self.counts(ref).get("workloads", {}))


def condition_note(condition: Mapping[str, Any]) -> str:
    """Why a queue takes no work, as a text; empty if it does. `condition`: see `Quotas.condition`."""
    stopped = [f"{key} {condition[key]}" for key in ("stopPolicy", "state") if key in condition]
    return stopped[0] if stopped else str(condition.get("inactive", ""))


def workload_note(counts: Mapping[str, int]) -> str:
    """The numbers of workloads as a text; empty if there are none.

    counts: by the names of WorkloadCounts.
    """
    words = {"pending": "pending", "reserving": "with quota", "admitted": "admitted"}
    return ", ".join(f"{count} {words[word]}" for word, count in counts.items() if count)


class VolcanoQuotas(Quotas):
    """The quota of Volcano's queues, its allocated and reserved parts, and the PodGroups of each subtree by phase."""

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
        for at, row in enumerate(rows):
            own = {word: texts[row.resource] for word, texts in used.items() if row.resource in texts}
            rows[at] = replace(row, own={**row.own, **own})
        return rows

    def counts(self, ref: Ref) -> Mapping[str, Mapping[str, int]]:
        return {"podGroups": dict(sorted(self._phases.get(ref.name, {}).items()))}

    def note(self, ref: Ref) -> str:
        return ", ".join(phase_notes(self.counts(ref)["podGroups"]))


def phase_notes(phases: Mapping[str, int]) -> list[str]:
    return [f"{phase}: {count}" for phase, count in sorted(phases.items())]


class NamespaceUsage:
    """The quota that the Pods of namespaces use in YuniKorn, and their applications."""

    def __init__(self, simulation: YuniKorn) -> None:
        self._used = simulation.used_by_namespace()
        self._applications = applications_by_namespace(simulation)

    def rows(self, name: str, rows: Iterable[QuotaRow]) -> list[QuotaRow]:
        used = self._used.get(name, {})
        return [replace(row, own={**row.own, "used": _used(row.resource, used)}) for row in rows]

    def applications(self, name: str) -> Applications:
        return self._applications.get(name, Applications(0, 0))


@dataclass(frozen=True, slots=True)
class UsageSources:
    """The engines with the usage of each project's queues; None if the usage is unknown, or nothing is used."""

    kueue: World | None = None
    volcano: Volcano | None = None
    yunikorn: YuniKorn | None = None

    def quotas(self, forest: Forest, downward: Sequence[Ref]) -> Mapping[str, Quotas]:
        """The quotas with their usage, by the API group of the queues.

        downward: every node, parents before their children.
        """
        plain = Quotas(forest, downward)
        return {
            kueue.GROUP: QuotasWithWorkloads(forest, downward, self.kueue) if self.kueue is not None else plain,
            volcano.GROUP: VolcanoQuotas(forest, downward, self.volcano) if self.volcano is not None else plain,
        }


def _used(resource: str, used: Mapping[str, int]) -> str:
    kind = type_of(resource)
    return queue_amount(kind, used.get(kind, 0))


def _with_usage(row: QuotaRow, usage: InUse | None) -> QuotaRow:
    amounts = {"used": amount_text(row.resource, usage.used if usage else 0)}
    exceeding = {"borrowed": usage.borrowed, "over": usage.over} if usage is not None else {}
    amounts |= {word: amount_text(row.resource, amount) for word, amount in exceeding.items() if amount}
    return replace(row, own={**row.own, **amounts})
