"""Which resources Volcano counts at all."""

from __future__ import annotations

_PLAIN = ("cpu", "memory", "pods", "ephemeral-storage")
_PREFIXES = ("hugepages-", "attachable-volumes-")
_DROPPED = ("count/", "requests.")


def counted(resource: str) -> bool:
    """Whether Volcano keeps the resource when it adds up or compares queues; it drops the others silently.

    A queue's own three amounts are compared as written, so this does not matter there. A name with a domain, such as
    nvidia.com/gpu, is kept; the bare `gpu` is not.
    """
    if resource in _PLAIN or resource.startswith(_PREFIXES):
        return True
    return "/" in resource and not resource.startswith(_DROPPED)
