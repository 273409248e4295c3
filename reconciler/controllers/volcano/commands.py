"""The Commands to Volcano queues, in the order of their creation."""

from __future__ import annotations

from reconciler.controllers.volcano.kinds import CommandObject
from reconciler.objects.grouped import Grouped
from reconciler.objects.observed import Observed


class Commands:
    """The Commands of each queue. Commands to other kinds are ignored."""

    def __init__(self) -> None:
        self._commands: Grouped[str, str, Observed[CommandObject]] = Grouped()

    def put(self, key: str, observed: Observed[CommandObject] | None) -> str:
        """Process the Command `namespace/name`; None if it is gone. Returns its queue; empty for none."""
        before = self._commands.group_of.get(key, "")
        self._commands.pop(key)
        if observed is None or not observed.value.queue:
            return before
        self._commands.put(key, observed.value.queue, observed)
        return observed.value.queue

    def of(self, queue: str) -> list[Observed[CommandObject]]:
        """The Commands of a queue, oldest first.

        Creation times are whole seconds. Within a second the order is the one in which the API server stored them.
        """

        def order(each: Observed[CommandObject]) -> tuple[int, int, str]:
            return each.value.created, int(each.version) if each.version.isdecimal() else 0, each.key[1]

        return sorted(self._commands.of(queue).values(), key=order)
