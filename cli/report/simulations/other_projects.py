"""Renders the simulations of Volcano's and YuniKorn's queues. A project without work is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis.simulation import OtherQueues, Simulations
from analysis.why import Answer, waiting_groups
from cli.report.explanations import allocation_lines, group_lines
from cli.report.simulations import volcano, yunikorn
from policies.dialects.volcano import BUILT_IN
from scheduling.volcano.play import waiting as of_volcano
from scheduling.yunikorn import waiting as of_yunikorn
from scheduling.yunikorn.as_json import waiting_json as waiting_allocation


def texts(simulations: Simulations) -> Iterator[str]:
    if simulations.volcano.has_work:
        yield volcano.as_text(simulations.volcano)
    if simulations.yunikorn.has_work:
        yield yunikorn.as_text(simulations.yunikorn)


def as_json(simulations: Simulations) -> dict[str, Any]:
    found: dict[str, Any] = {"problems": simulations.problems} if simulations.problems else {}
    if simulations.volcano.has_work:
        found["volcano"] = volcano.as_json(simulations.volcano)
    if simulations.yunikorn.has_work:
        found["yunikorn"] = yunikorn.as_json(simulations.yunikorn)
    return found


class PendingWork:
    """The pending work in the queues of Volcano and YuniKorn.

    `simulations`: None for a snapshot, which does not have the requests of Pods.
    `queue`: the name of one of these queues, for it and its descendants; empty for all.
    `names`: those of all these queues, but for the queues that exist without a manifest.
    `named`: whether `queue` is one of them.
    """

    def __init__(self, simulations: OtherQueues | None, queue: str) -> None:
        self.named = False
        self.names: frozenset[str] = frozenset()
        self._volcano: list[Answer] = []
        self._yunikorn: list[Answer] = []
        if simulations is not None:
            self._take(simulations, queue)

    def _take(self, simulations: OtherQueues, queue: str) -> None:
        queues, tree = simulations.volcano.engine.world.queues, simulations.yunikorn.scheduler.tree
        path = f"{queue.lower()}."
        in_volcano = simulations.volcano.has_work and queues.get(queue) is not None
        self.names = frozenset([*tree.queues, *(each.name for each in queues)]).difference(BUILT_IN)
        self.named = in_volcano or queue in self.names or queue.lower() in tree.queues
        if self.named or not queue:
            every = of_volcano.waiting(simulations.volcano)
            groups = [each for each in every if not queue or queues.is_within(each.queue, queue)]
            self._volcano = waiting_groups(simulations.volcano, groups)
            waiting = of_yunikorn.waiting(simulations.yunikorn)
            allocations = (each for each in waiting if not queue or f"{each.queue}.".startswith(path))
            self._yunikorn = list(map(waiting_allocation, allocations))

    def lines(self) -> Iterator[str]:
        yield from group_lines(self._volcano)
        yield from allocation_lines(self._yunikorn)

    def as_json(self) -> Answer:
        found = {"volcano": self._volcano, "yunikorn": self._yunikorn}
        return {project: waiting for project, waiting in found.items() if waiting}
