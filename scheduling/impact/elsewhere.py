"""The effect of a change on the work of Volcano and YuniKorn, by a simulation that settles before and after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from policies.dialects.reading import Manifest
from policies.impact.quotas import Excess
from policies.model.objects import Ref
from scheduling.impact.excesses import by_node, grown
from scheduling.queue_tree.simulated import RunningPods
from scheduling.volcano.play.simulation import VolcanoSimulation
from scheduling.yunikorn.simulation import YuniKornSimulation

OtherSimulation: TypeAlias = VolcanoSimulation | YuniKornSimulation


@dataclass(frozen=True, slots=True)
class WorkChange:
    """A workload whose number of running pods changes. `queue`: after the change, or before it if it no longer runs."""

    name: str
    queue: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The effect on the work of one project.

    over: the queues that exceed their limit at the moment of the change.
    work: the workloads whose number of running pods changes.
    settled: whether the simulation settled.
    """

    over: tuple[Excess, ...] = ()
    work: tuple[WorkChange, ...] = ()
    settled: bool = True


def predict_elsewhere(simulation: OtherSimulation, manifests: Iterable[Manifest], deleted: Iterable[Ref]) -> Elsewhere:
    """The effect of applying these manifests and deleting these objects at the same moment."""
    before, over = simulation.running(), by_node(simulation.excesses())
    simulation.change(manifests)
    simulation.drop(deleted)
    now_over = by_node(simulation.excesses())
    simulation.settle()
    after = simulation.running()
    changes = (_change(name, before.get(name), after.get(name)) for name in sorted({*before, *after}))
    changed = tuple(each for each in changes if each.before != each.after)
    return Elsewhere(tuple(grown(over, now_over)), changed, not simulation.unsettled)


def _change(name: str, before: RunningPods | None, after: RunningPods | None) -> WorkChange:
    where = after or before
    return WorkChange(name, where.queue if where else "", before.pods if before else 0, after.pods if after else 0)
