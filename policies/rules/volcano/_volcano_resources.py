"""Decides which resources Volcano counts, and finds the descendant of a queue with the highest capability."""

from __future__ import annotations

from policies.dialects.volcano import Queue
from policies.model.forest import Forest
from policies.model.objects import Ref

_PLAIN = ("cpu", "memory", "pods", "ephemeral-storage")
_PREFIXES = ("hugepages-", "attachable-volumes-")
_DROPPED = ("count/", "requests.")


def counted(resource: str) -> bool:
    """Whether Volcano counts the resource when it adds up or compares queues. It drops other resources without a
    message.

    A name with a domain, such as nvidia.com/gpu, is counted; a name without one, such as `gpu`, is not. When Volcano
    compares the three amounts of one queue, it counts all resources.
    """
    if resource in _PLAIN or resource.startswith(_PREFIXES):
        return True
    return "/" in resource and not resource.startswith(_DROPPED)


def holder_of(forest: Forest, ref: Ref, resource: str, highest: int) -> Queue | None:
    """The first descendant by name with this capability. Use it only for messages."""
    here = ref
    while children := [ref for ref, share in forest.shares(here) if share.limit.get(resource) == highest]:
        here = min(children)
        queue = forest.node(here)
        if isinstance(queue, Queue) and resource in dict(queue.limits()):
            return queue
    return None
