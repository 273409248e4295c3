"""Which resources Volcano counts, which of them only have whole units, and which amounts limit them.

Source: Volcano v1.16, pkg/scheduler/api/resource_info.go; Kubernetes, pkg/apis/core/helper.
"""

from __future__ import annotations

from functools import lru_cache

from policies.dialects.labels import is_qualified_name

BASIC = ("cpu", "memory")
"""The resources whose capability is inherited if it is 0 or absent. Others are scalar resources."""
_PLAIN = (*BASIC, "pods", "ephemeral-storage")
_PREFIXES = ("hugepages-", "attachable-volumes-")
_OF_KUBERNETES = "kubernetes.io/"
_WHOLE = (
    *("pods", "configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets"),
    *("services", "services.loadbalancers", "services.nodeports"),
)


def limits(resource: str, capability: int) -> bool:
    """Whether the capability is a limit. 0 allows nothing of a scalar resource, but any amount of a basic one."""
    return capability > 0 or resource not in BASIC


@lru_cache(maxsize=4096)
def is_counted(resource: str) -> bool:
    """Whether Volcano counts the resource. It drops other resources without a message.

    A name with a domain, such as nvidia.com/gpu, is counted; a name without one, such as `gpu`, is not. When Volcano's
    webhook compares the three amounts of one queue, it counts all resources.
    """
    if resource.startswith("count/"):
        return False
    known = resource in _PLAIN or resource.startswith(_PREFIXES) or _OF_KUBERNETES in resource
    return known or _is_extended(resource)


def is_whole(resource: str) -> bool:
    """Whether the resource only has whole units: objects such as pods, and extended resources."""
    return resource in _WHOLE or _is_extended(resource)


def _is_extended(resource: str) -> bool:
    return (
        "/" in resource
        and _OF_KUBERNETES not in resource
        and not resource.startswith("requests.")
        and is_qualified_name(f"requests.{resource}")
    )
