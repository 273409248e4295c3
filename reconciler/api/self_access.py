"""What a caller has access to in /v1, and in which namespaces. Programs need this for menus and lists of own work.

Kubernetes cannot list the namespaces to which a user has access. So the namespaces with a LocalQueue are checked one by
one, likely ones first. However large the cluster is, at most `MOST_TRIED` are checked.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cluster.reviews import Access, Caller
from policies.dialects.kueue_kinds import GROUP
from reconciler.api.tree import API_VERSION

MOST_TRIED = 64
"""The most namespaces that are checked. Each needs a request to the API server."""
KEPT = 60.0
"""Seconds for which the namespaces of a caller are kept."""
LIST_WORKLOADS = Access("list", GROUP, "workloads")
_ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):[^:]+")
_PARTS = re.compile(r"[:/@]")


def self_access_json(
    caller: Caller, wanted: Mapping[str, Sequence[Access]], may: Callable[[Access], bool]
) -> dict[str, Any]:
    """The caller's access. `wanted`: the access that is needed for each response of /v1, by its name."""
    reads = [name for name, rights in wanted.items() if all(may(each) for each in rights)]
    named = {"apiVersion": API_VERSION, "kind": "SelfAccess", "user": caller.name}
    return {**named, "reads": reads, "allNamespaces": may(LIST_WORKLOADS)}


def own_namespaces(
    caller: Caller, namespaces: Collection[str], may: Callable[[Access], bool]
) -> tuple[Sequence[str], bool]:
    """The namespaces in which the caller may list Workloads, sorted, and whether all of `namespaces` were checked."""
    tried = _likely_first(caller, namespaces)
    return sorted(each for each in tried if may(replace(LIST_WORKLOADS, namespace=each))), len(tried) == len(namespaces)


def _likely_first(caller: Caller, namespaces: Collection[str]) -> Sequence[str]:
    """The namespace of a service account, then namespaces with the name of a group or user, then others."""
    likely = dict.fromkeys(each for each in _names(caller) if each in namespaces)
    others = heapq.nsmallest(MOST_TRIED, (each for each in namespaces if each not in likely))
    return [*likely, *others][:MOST_TRIED]


def _names(caller: Caller) -> Iterator[str]:
    """Likely names of this caller's namespaces, such as `ml` for the groups `ml`, `oidc:ml` and `/teams/ml`."""
    if found := _ACCOUNT.fullmatch(caller.name):
        yield found[1]
    for text in (*caller.groups, caller.name):
        yield from _PARTS.split(text)
