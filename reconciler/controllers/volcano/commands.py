"""Commands to queues, in the order in which they were created."""

from __future__ import annotations

from reconciler.controllers.volcano.kinds import CommandObject
from reconciler.objects.observed import Observed


class Commands:
    """Those of each queue; Commands to other kinds are none of ours."""

    def __init__(self) -> None:
        self._queue_of: dict[str, str] = {}
        self._of: dict[str, dict[str, Observed]] = {}

    def put(self, observed: Observed) -> str:
        """It is there, or gone. The queue that it is for; empty for none."""
        key = observed.key[1]
        before = self._queue_of.pop(key, "")
        if before:
            del self._of[before][key]
            if not self._of[before]:
                del self._of[before]
        value: CommandObject | None = observed.value
        if value is None or not value.queue:
            return before
        self._queue_of[key] = value.queue
        self._of.setdefault(value.queue, {})[key] = observed
        return value.queue

    def of(self, queue: str) -> list[Observed]:
        """The oldest first; those of one second in the order in which the API server took them."""

        def order(each: Observed) -> tuple[int, int, str]:
            return each.value.created, int(each.version) if each.version.isdecimal() else 0, each.key[1]

        return sorted(self._of.get(queue, {}).values(), key=order)
