"""The outcome of the simulations beside Kueue's, Volcano's and YuniKorn's: whichever has something to say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis.simulation import OtherQueues, Simulations
from cli.report.simulations import volcano, yunikorn
from scheduling.volcano.play import waiting as of_volcano
from scheduling.yunikorn import waiting as of_yunikorn


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


def why_text(simulations: OtherQueues, name: str) -> str:
    """Why the work waits in Volcano or YuniKorn; empty if neither has work of this name."""
    found = volcano.why_text(simulations.volcano, name)
    return found or yunikorn.why_text(simulations.yunikorn, name)


def why_json(simulations: OtherQueues, name: str) -> dict[str, Any]:
    """Why the work waits in Volcano or YuniKorn; empty if neither has work of this name."""
    for kind, found in (
        ("PodGroupExplanation", volcano.why_json(simulations.volcano, name)),
        ("ApplicationExplanation", yunikorn.why_json(simulations.yunikorn, name)),
    ):
        if found["running"] or found["waiting"]:
            return {"kind": kind, **found}
    return {}


class PendingWork:
    """What waits; `queue` names one of Volcano's or of YuniKorn's queues, and all below it count. Empty: all queues.

    `named`: there is such a queue. `simulations` is None for a snapshot, which does not hold what Pods request.
    """

    def __init__(self, simulations: OtherQueues | None, queue: str) -> None:
        self._simulations = simulations
        self.named = False
        self._volcano: list[of_volcano.WaitingPodGroup] = []
        self._yunikorn: list[of_yunikorn.WaitingAllocation] = []
        if simulations is not None:
            self._take(simulations, queue)

    def _take(self, simulations: OtherQueues, queue: str) -> None:
        queues, tree = simulations.volcano.engine.world.queues, simulations.yunikorn.scheduler.tree
        path = f"{queue.lower()}."
        of_volcanos = simulations.volcano.has_work and queues.get(queue) is not None
        self.named = of_volcanos or queue.lower() in tree.queues
        if self.named or not queue:
            every = of_volcano.waiting(simulations.volcano)
            self._volcano = [each for each in every if not queue or queues.is_within(each.queue, queue)]
            others = of_yunikorn.waiting(simulations.yunikorn)
            self._yunikorn = [each for each in others if not queue or f"{each.queue}.".startswith(path)]

    def lines(self) -> Iterator[str]:
        if self._simulations is not None:
            yield from volcano.waiting_lines(self._simulations.volcano, self._volcano)
            yield from yunikorn.waiting_lines(self._yunikorn)

    def as_json(self) -> dict[str, Any]:
        found = {}
        if self._simulations is not None and self._volcano:
            found["volcano"] = volcano.waiting_json(self._simulations.volcano, self._volcano)
        if self._yunikorn:
            found["yunikorn"] = yunikorn.waiting_json(self._yunikorn)
        return found
