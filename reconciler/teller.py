"""What the loop tells people: Events about Workloads, Jobs, queues and Cohorts, at a rate that makes no storm."""

from __future__ import annotations

from collections.abc import Iterable

from cluster.actions import Create, Delete, Patch
from cluster.errors import ApiError
from reconciler.events import About, Events
from reconciler.side import Turn
from reconciler.telling import Nodes, tell_change, tell_preemption
from scheduling.objects.workload import Workload
from scheduling.quota.touched import Touch
from scheduling.world.decisions import Preempt
from scheduling.world.world import World

REFUSED, UNHEEDED = "WriteRefused", "WriteWithoutEffect"
_VERBS: dict[type, str] = {Create: "create", Patch: "change", Delete: "delete"}


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

    def refused(self, about: About, action: Create | Patch | Delete, name: str, error: Exception, now: int) -> None:
        """A write that the API server wants none of, and why."""
        which = f"{_VERBS[type(action)]} {action.resource.plural} {name}"
        message = f"The API server refused to {which}: {_said(error)}; it is tried again later"
        self._events.tell(about, REFUSED, message, now, warning=True)

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


def _said(error: Exception) -> str:
    """What the API server says, without the request."""
    return error.message or error.reason if isinstance(error, ApiError) else str(error)
