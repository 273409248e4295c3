"""Which part of the trees is shown: all of them, some nodes with what is around them, or their children alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.trees.quotas import with_quota
from analysis.trees.usage import Users
from analysis.trees.walk import DrawnNode, branch, walk
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.suggestion import suggest

_KINDS = {
    "ClusterQueue": ("clusterqueue", "clusterqueues", "cq"),
    "Cohort": ("cohort", "cohorts"),
    "Queue": ("queue", "queues", "q"),
    "Namespace": ("namespace", "namespaces", "ns"),
}
"""How people name a kind, as in kubectl."""


class UnknownNode(Exception):
    """There is no node of this name; the message says which one may be meant."""


@dataclass(frozen=True, slots=True)
class WantedNode:
    """A node by its name, of that kind where one is named. A queue of YuniKorn has its path as its name."""

    kind: str
    name: str

    def is_of(self, kind: str, name: str) -> bool:
        return self.kind in ("", kind) and self.name == name


def parse_node(written: str) -> WantedNode:
    """Parse NAME or KIND/NAME."""
    kind, slash, name = written.partition("/")
    kinds = [known for known, words in _KINDS.items() if kind.lower() in words]
    return WantedNode(kinds[0], name) if slash and kinds else WantedNode("", written)


@dataclass(frozen=True, slots=True)
class ShownTree:
    """`only` are the nodes to show, with their ancestors and all below them; empty: all trees.

    `children`: nothing but each node and its direct children.
    """

    only: tuple[Ref, ...] = ()
    queues: tuple[str, ...] = ()
    """Paths of YuniKorn's."""
    namespaces: tuple[str, ...] = ()
    children: bool = False

    @property
    def whole(self) -> bool:
        return not (self.only or self.queues or self.namespaces)

    def drawn(self, forest: Forest) -> list[DrawnNode]:
        if self.whole:
            return list(walk(forest))
        if self.children:
            return [each for ref in self.only for each in branch(forest, ref)]
        return list(walk(forest, forest.upward(self.only) | set(_below(forest, self.only)))) if self.only else []

    @property
    def tops_of_yunikorn(self) -> tuple[str | None, ...]:
        """Where drawings of its queues begin; None is root."""
        if self.children:
            return self.queues
        return (None,) if self.whole or self.queues else ()

    def shows_queue(self, path: str) -> bool:
        if self.whole:
            return True
        return any(_is_near(path, each, self.children) for each in self.queues)

    def shows_namespace(self, name: str) -> bool:
        return self.whole or name in self.namespaces


ALL = ShownTree()


def view_of(nodes: Sequence[WantedNode], children: bool, forest: Forest, use: Users) -> ShownTree:
    """The part of the trees that the nodes name. Raises UnknownNode."""
    trees = set(forest.upward(node.ref for node in forest.nodes()))
    queues = set(use.yunikorn.scheduler.tree.queues) if use.yunikorn is not None else set()
    namespaces = {space.ref.name for space, _ in with_quota(forest)}
    only, paths, spaces = [], [], []
    for each in nodes:
        found = sorted(ref for ref in trees if each.is_of(ref.kind, ref.name))
        path = [name for name in queues if each.is_of("Queue", name)]
        space = [name for name in namespaces if each.is_of("Namespace", name)]
        if not found and not path and not space:
            raise UnknownNode(unknown(each, [ref.name for ref in sorted(trees)] + sorted(queues | namespaces)))
        only += found
        paths += path
        spaces += space
    return ShownTree(tuple(only), tuple(paths), tuple(spaces), children)


def unknown(node: WantedNode, known: list[str]) -> str:
    """That there is no such node, and which one may be meant."""
    what = f"{node.kind} named {node.name}" if node.kind else f"queue, Cohort or Namespace named {node.name}"
    hint = suggest(node.name, known) if known else "there are no trees here"
    return f"there is no {what}" + (f"; {hint}" if hint else "")


def _below(forest: Forest, refs: Sequence[Ref]) -> Iterator[Ref]:
    """The nodes and their descendants, each once, also on a cycle."""
    seen, stack = set(refs), list(refs)
    while stack:
        here = stack.pop()
        yield here
        fresh = [child.ref for child in forest.children(here) if child.ref not in seen]
        seen.update(fresh)
        stack += fresh


def _is_near(path: str, node: str, children: bool) -> bool:
    if children:
        return node in (path, path.rpartition(".")[0])
    return path == node or path.startswith(f"{node}.") or node.startswith(f"{path}.")
