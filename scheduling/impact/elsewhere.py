"""The effect of a change on the work of Volcano and YuniKorn, by a simulation that settles before and after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from policies.dialects.reading import Manifest
from policies.impact.quotas import Excess, QuotaPair
from policies.model.objects import Ref
from scheduling.queue_tree.running import RunningPods


class PlayedElsewhere(Protocol):
    """A simulation of Volcano's or YuniKorn's queues. `excesses`: the queues that use more than their limit."""

    unsettled: bool

    def change(self, manifests: Iterable[Manifest]) -> None: ...

    def drop(self, refs: Iterable[Ref]) -> None: ...

    def settle(self) -> None: ...

    def running(self) -> dict[str, RunningPods]: ...

    def excesses(self) -> Iterator[Excess]: ...


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


def predict_elsewhere(simulation: PlayedElsewhere, manifests: Iterable[Manifest], deleted: Iterable[Ref]) -> Elsewhere:
    """The effect of applying these manifests and deleting these objects at the same moment."""
    before, over = simulation.running(), _by_node(simulation)
    simulation.change(manifests)
    simulation.drop(deleted)
    now_over = _by_node(simulation)
    simulation.settle()
    after = simulation.running()
    grown = (each for key, each in now_over.items() if key not in over or _above(each) > _above(over[key]))
    changes = (_change(name, before.get(name), after.get(name)) for name in sorted({*before, *after}))
    return Elsewhere(
        tuple(grown), tuple(each for each in changes if each.before != each.after), not simulation.unsettled
    )


def _by_node(simulation: PlayedElsewhere) -> dict[tuple[Ref, QuotaPair], Excess]:
    return {(each.ref, each.pair): each for each in simulation.excesses()}


def _above(excess: Excess) -> int:
    return excess.used - excess.limit


def _change(name: str, before: RunningPods | None, after: RunningPods | None) -> WorkChange:
    where = after or before
    return WorkChange(name, where.queue if where else "", before.pods if before else 0, after.pods if after else 0)
