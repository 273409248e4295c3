"""Finds the fastest order to put many objects into a forest."""

from __future__ import annotations

from collections.abc import Iterable

from policies.model.objects import KubeObject, Node, Ref


def children_first(objects: Iterable[KubeObject]) -> list[KubeObject]:
    """The objects, deepest nodes first, so that each share is computed once. In the reverse order, each node would
    change the shares of all its ancestors again."""
    every = list(objects)
    if len(every) < 2:
        return every
    parents = {obj.ref: obj.parent for obj in every if isinstance(obj, Node)}
    depth: dict[Ref, int] = {}
    for ref in parents:
        _measure(ref, parents, depth)
    return sorted(every, key=lambda obj: -depth.get(obj.ref, 0))


def _measure(ref: Ref, parents: dict[Ref, Ref | None], depth: dict[Ref, int]) -> None:
    """Find the depth of `ref` and of its ancestors. The order on a cycle does not matter."""
    path: dict[Ref, None] = {}
    here: Ref | None = ref
    while here is not None and here in parents and here not in depth and here not in path:
        path[here] = None
        here = parents[here]
    steps = depth.get(here, 0) if here is not None else 0
    for member in reversed(path):
        steps += 1
        depth[member] = steps
