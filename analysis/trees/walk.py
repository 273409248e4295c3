"""The trees of a forest in drawing order. Nothing recurses, and cycles end."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from policies.model.forest import Forest
from policies.model.objects import Ref

DEEPEST = 30
"""Levels of one drawing; deeper nodes start a new drawing, so that lines stay readable."""


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node in a drawing. `last` says for each level below the root whether the path takes the last branch there.

    `top` is why a drawing starts here: "" for a root, else the words that say it.
    """

    ref: Ref
    last: tuple[bool, ...] = ()
    top: str = ""
    cut: bool = False
    """Its children are in another drawing, below."""
    branches: bool = False
    """Whether children of it follow."""


def roots(forest: Forest) -> list[Ref]:
    """The nodes without a parent, and the bare names that nodes have as their parent, by name."""
    found = set()
    for node in forest.nodes():
        if node.parent is None:
            found.add(node.ref)
        elif forest.node(node.parent) is None:
            found.add(node.parent)
    return sorted(found)


def cycles(forest: Forest) -> list[tuple[Ref, ...]]:
    """Every cycle once, from its first name upward."""
    members = {node.ref for node in forest.nodes() if forest.on_cycle(node.ref)}
    found = []
    for ref in sorted(members):
        if ref in members:
            cycle = forest.cycle(ref)
            found.append(cycle)
            members.difference_update(cycle)
    return found


def walk(forest: Forest, only: Container[Ref] | None = None) -> Iterator[DrawnNode]:
    """Every node of the forest once: first the trees, then the cycles with what is below them.

    `only`: no others than these. A drawing then begins at the highest of them.
    """
    for root in roots(forest):
        yield from _tree(forest, root, "", only)
    for cycle in cycles(forest):
        names = " -> ".join(ref.name for ref in (*cycle, cycle[0]))
        for ref in cycle:
            top = f"on the cycle {names}" if ref == cycle[0] else f"on the cycle of {cycle[0].name}"
            yield from _tree(forest, ref, top, only)


def branch(forest: Forest, ref: Ref) -> list[DrawnNode]:
    """The node and its direct children, as a drawing of their own."""
    children = [child.ref for child in forest.children(ref) if child.ref != ref]
    node = forest.node(ref)
    top = f"below {node.parent.name}" if node is not None and node.parent is not None else ""
    below = (DrawnNode(child, (child == children[-1],)) for child in children)
    return [DrawnNode(ref, (), top, branches=bool(children)), *below]


def _tree(forest: Forest, root: Ref, top: str, only: Container[Ref] | None) -> Iterator[DrawnNode]:
    if only is not None and root not in only:
        return
    waiting = [DrawnNode(root, (), top)]
    while waiting:
        stack = [waiting.pop()]
        while stack:
            spot = stack.pop()
            children = [child.ref for child in forest.children(spot.ref) if not forest.on_cycle(child.ref)]
            children = [child for child in children if only is None or child in only]
            if children and len(spot.last) == DEEPEST:
                yield DrawnNode(spot.ref, spot.last, spot.top, cut=True)
                waiting += [DrawnNode(child, (), f"below {spot.ref.name}") for child in reversed(children)]
                continue
            yield replace(spot, branches=bool(children))
            below = [DrawnNode(child, (*spot.last, child == children[-1])) for child in children]
            stack += reversed(below)
