"""The queues of the source scheduler as one tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from policies.migration.model import SourceQueue


@dataclass(frozen=True, slots=True)
class SourceTree:
    """A tree.

    `order`: the root first, and each queue after its parent.
    `unrooted`: the queues whose ancestors do not include the root.
    """

    queues: dict[str, SourceQueue]
    children: dict[str, list[str]]
    order: tuple[str, ...]
    unrooted: tuple[str, ...]

    @property
    def root(self) -> str:
        return self.order[0]

    def is_leaf(self, name: str) -> bool:
        return not self.children[name] and not self.queues[name].inner

    def leaves(self) -> Iterator[str]:
        return (name for name in self.order if self.is_leaf(name))

    def parent(self, name: str) -> str:
        """The parent of any queue but the root."""
        parent = self.queues[name].parent
        assert parent is not None
        return parent


def grow(root: str, queues: Iterable[SourceQueue]) -> SourceTree:
    """The tree with this root, which is one of the queues. Siblings are sorted by name."""
    named = {queue.name: queue for queue in queues}
    children: dict[str, list[str]] = {name: [] for name in named}
    for name in sorted(named):
        parent = named[name].parent
        if name != root and parent in children:
            children[parent].append(name)
    order, waiting = [], [root]
    while waiting:
        here = waiting.pop()
        order.append(here)
        waiting += reversed(children[here])
    reached = set(order)
    return SourceTree(named, children, tuple(order), tuple(sorted(named.keys() - reached)))
