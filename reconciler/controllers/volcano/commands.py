"""The Commands to Volcano queues, in the order of their creation."""

from __future__ import annotations

from reconciler.controllers.volcano.kinds import CommandObject
from reconciler.objects.observed import Observed


class Commands:
    """The Commands of each queue. Commands to other kinds are ignored."""

    def __init__(self) -> None:
        self._queue_of: dict[str, str] = {}
        self._of: dict[str, dict[str, Observed[CommandObject]]] = {}

    def put(self, key: str, observed: Observed[CommandObject] | None) -> str:
        """Process the Command `namespace/name`; None if it is gone. Returns its queue; empty for none."""
        before = self._queue_of.pop(key, "")
        if before:
            del self._of[before][key]
            if not self._of[before]:
                del self._of[before]
        if observed is None or not observed.value.queue:
            return before
        queue = self._queue_of[key] = observed.value.queue
        self._of.setdefault(queue, {})[key] = observed
        return queue

    def of(self, queue: str) -> list[Observed[CommandObject]]:
        """The Commands of a queue, oldest first.

        Creation times are whole seconds. Within a second the order is the one in which the API server stored them.
        """

        def order(each: Observed[CommandObject]) -> tuple[int, int, str]:
            return each.value.created, int(each.version) if each.version.isdecimal() else 0, each.key[1]

        return sorted(self._of.get(queue, {}).values(), key=order)
