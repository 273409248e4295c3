"""A refusal of the scheduler, with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from scheduling.queue_tree.amounts import Shortage
from scheduling.volcano.resources import amount_text


@dataclass(frozen=True, slots=True)
class QueueRefusal:
    """A refusal. `reason`: in words. `shortages`: the resources that are short, if a limit is the reason."""

    reason: str
    shortages: tuple[Shortage, ...] = ()

    def __str__(self) -> str:
        return self.reason


NO_ROOM = QueueRefusal("no node has room for the pod")
NODES = ""
"""The name of the obstacle "room on nodes", beside the names of queues."""


def beyond(limit: str, shortages: tuple[Shortage, ...]) -> QueueRefusal:
    """The refusal of a request that exceeds the named limit of one queue."""
    sentences = "; ".join(map(_sentence, shortages))
    return QueueRefusal(f"queue {shortages[0].queue} would exceed its {limit}: {sentences}", shortages)


def obstacles(refusals: Iterable[QueueRefusal]) -> frozenset[str]:
    """The names of the queues that were short, and NODES if no node had room."""
    found: set[str] = set()
    for refusal in refusals:
        found.update(shortage.queue for shortage in refusal.shortages)
        if refusal == NO_ROOM:
            found.add(NODES)
    return frozenset(found)


def _sentence(shortage: Shortage) -> str:
    def text(amount: float) -> str:
        name = shortage.resource
        return str(amount) if "deviceclass/" in name and amount != inf else amount_text(name, amount)

    used, requested, limit = text(shortage.used), text(shortage.requested), text(shortage.limit)
    return f"{shortage.resource} {used} used + {requested} requested > {limit}, {text(shortage.short)} short"
