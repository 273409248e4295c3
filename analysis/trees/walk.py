"""The nodes of a forest in the order in which they are drawn. There is no recursion, so trees may be deep or cyclic."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from policies.model.forest import Forest
from policies.model.objects import Ref

K = TypeVar("K", bound=tuple[str, ...])
MOST_LEVELS = 30
"""The most levels in one drawing. Deeper nodes start a new drawing, so that lines stay readable."""


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node in a drawing.

    last: for each level below the root, whether the path to the node takes the last branch.
    start_note: why a drawing starts at this node; empty for a root, and for a node that starts no drawing.
    is_continued: whether its children are in a later drawing.
    has_children: whether its children follow in this drawing.
    """

    ref: Ref
    last: tuple[bool, ...] = ()
    start_note: str = ""
    is_continued: bool = False
    has_children: bool = False


def roots(forest: Forest) -> list[Ref]:
    """The nodes without a parent, and the missing parents, sorted by name."""
    found = set()
    for node in forest.nodes():
        if node.parent is None:
            found.add(node.ref)
        elif forest.node(node.parent) is None:
            found.add(node.parent)
    return sorted(found)


def cycles(forest: Forest) -> list[tuple[Ref, ...]]:
    return cycles_among({node.ref: node.parent for node in forest.nodes()}) if forest.has_cycles else []


def cycles_among(parents: Mapping[K, K | None]) -> list[tuple[K, ...]]:
    """All cycles. Each begins with its first node by name, and continues with the parents."""
    found, visited = [], set[K]()
    for start in sorted(parents):
        path: dict[K, None] = {}
        at: K | None = start
        while at is not None and at not in visited and at not in path:
            path[at] = None
            at = parents.get(at)
        if at in path:
            steps = list(path)
            cycle = steps[steps.index(at) :]
            first = cycle.index(min(cycle))
            found.append((*cycle[first:], *cycle[:first]))
        visited.update(path)
    return found


def walk(forest: Forest, only: Container[Ref] | None = None) -> Iterator[DrawnNode]:
    """Yield every node of the forest once: first the trees, then the cycles with their descendants.

    only: the nodes to draw, with all their ancestors; None for all nodes.
    """
    for root in roots(forest):
        yield from _walk_tree(forest, root, "", only)
    for cycle in cycles(forest):
        names = " -> ".join(ref.name for ref in (*cycle, cycle[0]))
        for ref in cycle:
            start_note = f"on the cycle {names}" if ref == cycle[0] else f"on the cycle of {cycle[0].name}"
            yield from _walk_tree(forest, ref, start_note, only)


def node_with_children(forest: Forest, ref: Ref) -> list[DrawnNode]:
    children = [child.ref for child in forest.children(ref) if child.ref != ref]
    node = forest.node(ref)
    start_note = f"below {node.parent.name}" if node is not None and node.parent is not None else ""
    below = (DrawnNode(child, (child == children[-1],)) for child in children)
    return [DrawnNode(ref, (), start_note, has_children=bool(children)), *below]


def _walk_tree(forest: Forest, root: Ref, start_note: str, only: Container[Ref] | None) -> Iterator[DrawnNode]:
    if only is not None and root not in only:
        return
    drawings = [DrawnNode(root, (), start_note)]
    while drawings:
        stack = [drawings.pop()]
        while stack:
            node = stack.pop()
            children = [child.ref for child in forest.children(node.ref) if not forest.on_cycle(child.ref)]
            children = [child for child in children if only is None or child in only]
            if children and len(node.last) == MOST_LEVELS:
                yield DrawnNode(node.ref, node.last, node.start_note, is_continued=True)
                drawings += [DrawnNode(child, (), f"below {node.ref.name}") for child in reversed(children)]
                continue
            yield replace(node, has_children=bool(children))
            below = [DrawnNode(child, (*node.last, child == children[-1])) for child in children]
            stack += reversed(below)
