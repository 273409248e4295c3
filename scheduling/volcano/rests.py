"""Which PodGroups the next session looks at: those that changed, and those for which something was released.

A PodGroup that was refused rests until a queue that was short has less reserved, or a node has more room. As long as
neither happens it would be refused again: all else that changes only takes room away.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.volcano.refusal import NO_ROOM, Refusal

NODES = ""
"""Stands for the room on nodes, where a queue has its name."""


class Rests:
    """`awake` are the PodGroups that do not rest, by name. `nobody`: it is as if none did."""

    def __init__(self) -> None:
        self.awake: set[str] = set()
        self.nobody = True
        self._waits_for: dict[str, frozenset[str]] = {}
        self._behind: dict[str, set[str]] = {}

    def wake(self, job: str) -> None:
        self.awake.add(job)
        for what in self._waits_for.pop(job, ()):
            behind = self._behind[what]
            behind.discard(job)
            if not behind:
                del self._behind[what]

    def released(self, what: str) -> None:
        """The queue of this name, or NODES, has more room than before."""
        for job in [*self._behind.get(what, ())]:
            self.wake(job)

    def wake_all(self, jobs: Iterable[str]) -> None:
        self._waits_for.clear()
        self._behind.clear()
        self.awake = {*jobs}
        self.nobody = False

    def rest(self, job: str, waits_for: frozenset[str]) -> None:
        """Leave the PodGroup out until one of these is released, or the PodGroup itself changes."""
        self.drop(job)
        self._waits_for[job] = waits_for
        for what in waits_for:
            self._behind.setdefault(what, set()).add(job)

    def drop(self, job: str) -> None:
        self.wake(job)
        self.awake.discard(job)


def obstacles(refusals: Iterable[Refusal]) -> frozenset[str]:
    """What was too little: queues by name, and NODES where no node had room."""
    found: set[str] = set()
    for refusal in refusals:
        found.update(shortage.queue for shortage in refusal.shortages)
        if refusal == NO_ROOM:
            found.add(NODES)
    return frozenset(found)
