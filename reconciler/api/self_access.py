"""What a caller may see of /v1, and in which namespaces: a menu, and a list of one's own work, begin with that.

Kubernetes cannot list the namespaces in which somebody may read. So those that have a LocalQueue are tried one by one,
the likely ones first, and no more than `MOST_TRIED` of them however large the cluster is.
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
"""Namespaces for which the API server is asked; each costs a question."""
KEPT = 60.0
"""Seconds for which the namespaces of a caller are kept."""
LIST_WORKLOADS = Access("list", GROUP, "workloads")
_ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):[^:]+")
_PARTS = re.compile(r"[:/@]")


def self_access_json(
    caller: Caller, wanted: Mapping[str, Sequence[Access]], may: Callable[[Access], bool]
) -> dict[str, Any]:
    """`wanted`: the rights that each answer of /v1 demands, by its name."""
    reads = [name for name, rights in wanted.items() if all(may(each) for each in rights)]
    named = {"apiVersion": API_VERSION, "kind": "SelfAccess", "user": caller.name}
    return {**named, "reads": reads, "allNamespaces": may(LIST_WORKLOADS)}


def own_namespaces(
    caller: Caller, namespaces: Collection[str], may: Callable[[Access], bool]
) -> tuple[Sequence[str], bool]:
    """Return those in which the caller may list Workloads, by name, and whether all of `namespaces` were tried."""
    tried = _likely_first(caller, namespaces)
    return sorted(each for each in tried if may(replace(LIST_WORKLOADS, namespace=each))), len(tried) == len(namespaces)


def _likely_first(caller: Caller, namespaces: Collection[str]) -> Sequence[str]:
    """Return that of the caller's service account, those with the name of a user or group, then others by name."""
    likely = dict.fromkeys(each for each in _names(caller) if each in namespaces)
    others = heapq.nsmallest(MOST_TRIED, (each for each in namespaces if each not in likely))
    return [*likely, *others][:MOST_TRIED]


def _names(caller: Caller) -> Iterator[str]:
    """What a namespace of this caller may be called: `ml` for the groups `ml`, `oidc:ml` and `/teams/ml`."""
    if found := _ACCOUNT.fullmatch(caller.name):
        yield found[1]
    for text in (*caller.groups, caller.name):
        yield from _PARTS.split(text)
