"""What the loop tells people: Events about Workloads, Jobs, queues and Cohorts, at a rate that makes no storm."""

from __future__ import annotations

from collections.abc import Iterable

from cluster.actions import Create
from reconciler.events import About, Events
from reconciler.side import Turn
from reconciler.telling import Nodes, tell_change, tell_preemption
from scheduling.objects.workload import Workload
from scheduling.quota.touched import Touch
from scheduling.world.decisions import Preempt
from scheduling.world.world import World

UNHEEDED = "WriteWithoutEffect"


class Teller:
    """Moments are in nanoseconds. An Event that is lost is no loss: conditions say what is."""

    def __init__(self) -> None:
        self._events = Events()
        self._nodes = Nodes()

    def changed(self, before: Workload, after: Workload, now: int) -> None:
        tell_change(self._events, before, after, now)

    def preempted(self, decision: Preempt, now: int) -> None:
        tell_preemption(self._events, decision, now)

    def turned(self, turn: Turn, now: int) -> None:
        """Not every turn is worth an Event."""
        if turn.reason and turn.about is not None:
            self._events.tell(turn.about, turn.reason, turn.message, now, warning=turn.warning)

    def unheeded(self, about: About, which: str, fields: str, now: int) -> None:
        """A write that the API server took and stored nothing of."""
        message = (
            f"The API server took a change of {fields} in {which} and stored nothing of it; see whether the definition "
            "of its kind has these fields. It is tried again later"
        )
        self._events.tell(about, UNHEEDED, message, now, warning=True)

    def stopped(self, world: World, touched: Iterable[Touch], now: int) -> None:
        """Queues and Cohorts that may have stopped admitting, or gone on."""
        self._nodes.tell(self._events, world, touched, now)

    def due(self, now: int) -> list[Create]:
        """What may be written by now."""
        return self._events.due(now)
