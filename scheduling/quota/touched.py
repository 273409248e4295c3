"""Which objects may show something else by now: what changed since somebody looked, so that only that is looked at.

Noting costs next to nothing; what a change means for the nodes above and around is worked out when the notes are taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from scheduling.quota.node import QuotaNode, stored_below

if TYPE_CHECKING:
    from scheduling.objects.workload import Workload
    from scheduling.world.world import World

Touch: TypeAlias = tuple[str, str]
"""The kind and `namespace/name`, or the bare name of what is in no namespace."""
CLUSTER_QUEUE = "ClusterQueue"
LOCAL_QUEUE = "LocalQueue"
COHORT = "Cohort"


class Touched:
    """Notes of one world.

    `usage` of a ClusterQueue also shows on the way to its root; a `tree` that changed shows in all its nodes, since
    shares are parts of what the whole tree can lend.
    """

    def __init__(self) -> None:
        self._ways: dict[str, None] = {}
        self._queues: dict[str, None] = {}
        self._local_queues: dict[str, None] = {}
        self._trees: dict[QuotaNode, None] = {}

    def usage(self, queue: str, local_queue: str) -> None:
        """What a ClusterQueue and one of its LocalQueues (`namespace/name`) hold changed."""
        self._ways[queue] = self._local_queues[local_queue] = None

    def pending(self, local_queue: str) -> None:
        """What waits there, and so at its ClusterQueue, changed."""
        self._local_queues[local_queue] = None

    def waiting(self, *workloads: Workload | None) -> None:
        """The same, by the workloads that come or go."""
        for workload in workloads:
            if workload is not None:
                self.pending(f"{workload.namespace}/{workload.queue}")

    def queue(self, name: str) -> None:
        """The ClusterQueue itself changed, or whether it can admit; its LocalQueues tell of that too."""
        self._queues[name] = None

    def tree(self, node: QuotaNode) -> None:
        """Quota or edges around the node changed."""
        self._trees[node] = None

    def take(self, world: World) -> list[Touch]:
        """Every object there is that may show something else, each once; the notes are gone then."""
        found = [*dict.fromkeys(self._all(world))]
        for notes in (self._ways, self._queues, self._local_queues):
            notes.clear()
        self._trees.clear()
        return found

    def _all(self, world: World) -> Iterator[Touch]:
        queues, known = world.state.queues, world.queues.local_queues
        trees = [*stored_below(*dict.fromkeys(map(_top, self._trees)))]
        names = {node.name: None for node in trees if node.is_queue} | self._queues
        for name in self._ways | names:
            if name in queues:
                yield CLUSTER_QUEUE, name
                yield from ((COHORT, node.name) for node in _above(queues[name].node) if node.explicit)
        yield from ((COHORT, node.name) for node in trees if node.explicit and not node.is_queue)
        for name in self._queues:
            yield from ((LOCAL_QUEUE, key) for key in world.queues.local_queues_of(name))
        for key in self._local_queues:
            if key in known:
                yield LOCAL_QUEUE, key
                if known[key].cluster_queue in queues:
                    yield CLUSTER_QUEUE, known[key].cluster_queue


def _top(node: QuotaNode) -> QuotaNode:
    """From where every node of its tree is below, also where that is a cycle."""
    *_, top = node, *_above(node)
    return top


def _above(node: QuotaNode) -> list[QuotaNode]:
    """The way up by the edges as they are stored, each node once."""
    above, seen, here = [], {node}, node.parent
    while here is not None and here not in seen:
        above.append(here)
        seen.add(here)
        here = here.parent
    return above
