"""Finds the ClusterQueues that refer to a flavor or an admission check."""

from __future__ import annotations

from scheduling.objects.queue_settings import ClusterQueueSettings


class References:
    """ClusterQueues by the objects to which they refer, in the order in which they were added."""

    def __init__(self) -> None:
        self._by_flavor: dict[str, dict[str, None]] = {}  # ClusterQueues by flavor
        self._by_check: dict[str, dict[str, None]] = {}  # ClusterQueues by AdmissionCheck

    def replace(self, old: ClusterQueueSettings | None, new: ClusterQueueSettings | None) -> None:
        """Update the references of a ClusterQueue. `old`: None if it is new. `new`: None if it was deleted."""
        for queue, add in ((old, False), (new, True)):
            if queue is None:
                continue
            checks = [use.name for use in queue.checks]
            for users, names in ((self._by_flavor, queue.flavors), (self._by_check, checks)):
                for name in names:
                    if add:
                        users.setdefault(name, {})[queue.name] = None
                    else:
                        users.get(name, {}).pop(queue.name, None)

    def to_flavor(self, flavor: str) -> list[str]:
        return [*self._by_flavor.get(flavor, ())]

    def to_check(self, check: str) -> list[str]:
        return [*self._by_check.get(check, ())]
