"""The shown part of the trees: all, some nodes with their subtrees and ancestors, or only their children."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.trees.quotas import with_quota
from analysis.trees.usage import UsageSources
from analysis.trees.walk import DrawnNode, node_with_children, walk
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.suggestion import suggest

_KINDS = {
    "ClusterQueue": ("clusterqueue", "clusterqueues", "cq"),
    "Cohort": ("cohort", "cohorts"),
    "Queue": ("queue", "queues", "q"),
    "Namespace": ("namespace", "namespaces", "ns"),
}
"""The names of each kind on the command line, as in kubectl."""


class UnknownNode(Exception):
    """No node has this name. The message suggests one that may be meant."""


@dataclass(frozen=True, slots=True)
class WantedNode:
    """A node as the user names it.

    kind: empty if the user did not name one.
    name: for a queue of YuniKorn, its path.
    """

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
    """The part of the trees that is shown. Without nodes, queues and namespaces, all is shown.

    only: the nodes of Kueue and Volcano, with their ancestors and subtrees.
    queues: the paths of YuniKorn's queues.
    namespaces: the names of namespaces with a quota.
    children: whether only the nodes and their direct children are shown.
    """

    only: tuple[Ref, ...] = ()
    queues: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    children: bool = False

    @property
    def whole(self) -> bool:
        return not (self.only or self.queues or self.namespaces)

    def drawn(self, forest: Forest) -> list[DrawnNode]:
        if self.whole:
            return list(walk(forest))
        if self.children:
            return [each for ref in self.only for each in node_with_children(forest, ref)]
        return list(walk(forest, forest.upward(self.only) | set(_below(forest, self.only)))) if self.only else []

    @property
    def yunikorn_starts(self) -> tuple[str | None, ...]:
        """The queues at which drawings of YuniKorn's queues start; None means root."""
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


def view_of(nodes: Sequence[WantedNode], children: bool, forest: Forest, sources: UsageSources) -> ShownTree:
    """The part of the trees that the nodes name. Raises UnknownNode."""
    trees = set(forest.upward(node.ref for node in forest.nodes()))
    queues = set(sources.yunikorn.scheduler.tree.queues) if sources.yunikorn is not None else set()
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
    """The message for an unknown name, with a suggestion."""
    what = f"{node.kind} named {node.name}" if node.kind else f"queue, Cohort or Namespace named {node.name}"
    hint = suggest(node.name, known) if known else "there are no trees here"
    return f"there is no {what}" + (f"; {hint}" if hint else "")


def _below(forest: Forest, refs: Sequence[Ref]) -> Iterator[Ref]:
    """Yield the nodes and their descendants, each once, even on a cycle."""
    seen, stack = set(refs), list(refs)
    while stack:
        ref = stack.pop()
        yield ref
        unseen = [child.ref for child in forest.children(ref) if child.ref not in seen]
        seen.update(unseen)
        stack += unseen


def _is_near(path: str, node: str, children: bool) -> bool:
    if children:
        return node in (path, path.rpartition(".")[0])
    return path == node or path.startswith(f"{node}.") or node.startswith(f"{path}.")
