"""The obstacles of a refused PodGroup: queues whose limit was short, or room on nodes."""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.volcano.refusal import NO_ROOM, QueueRefusal

NODES = ""
"""The name of the obstacle \"room on nodes\", beside the names of queues."""


def obstacles(refusals: Iterable[QueueRefusal]) -> frozenset[str]:
    """The names of the queues that were short, and NODES if no node had room."""
    found: set[str] = set()
    for refusal in refusals:
        found.update(shortage.queue for shortage in refusal.shortages)
        if refusal == NO_ROOM:
            found.add(NODES)
    return frozenset(found)
