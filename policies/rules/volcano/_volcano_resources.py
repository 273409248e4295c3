"""Decides which resources Volcano counts."""

from __future__ import annotations

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
