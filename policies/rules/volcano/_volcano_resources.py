"""Finds the descendant of a queue with the highest capability."""

from __future__ import annotations

from policies.dialects.volcano import Queue
from policies.model.forest import Forest
from policies.model.objects import Ref


def holder_of(forest: Forest, ref: Ref, resource: str, highest: int) -> Queue | None:
    """The first descendant by name with this capability. Use it only for messages."""
    here = ref
    while children := [ref for ref, share in forest.shares(here) if share.limit.get(resource) == highest]:
        here = min(children)
        queue = forest.node(here)
        if isinstance(queue, Queue) and resource in dict(queue.limits()):
            return queue
    return None
