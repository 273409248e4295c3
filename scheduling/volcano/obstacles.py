"""What a PodGroup waits for that was refused: a queue that was short, or room on nodes."""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.volcano.refusal import NO_ROOM, QueueRefusal

NODES = ""
"""Stands for the room on nodes, where a queue has its name."""


def obstacles(refusals: Iterable[QueueRefusal]) -> frozenset[str]:
    """What was too little: queues by name, and NODES where no node had room."""
    found: set[str] = set()
    for refusal in refusals:
        found.update(shortage.queue for shortage in refusal.shortages)
        if refusal == NO_ROOM:
            found.add(NODES)
    return frozenset(found)
