"""The objects whose status may have changed since the last look, so that only these are computed again.

A note is cheap. The effect of a change on ancestors and siblings is computed when the notes are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from scheduling.objects.queue_settings import LocalQueueSettings
from scheduling.objects.workload import Workload
from scheduling.quota.node import QuotaNode, stored_below

Touch: TypeAlias = tuple[str, str]
"""The kind and `namespace/name`, or the bare name of what is in no namespace."""
CLUSTER_QUEUE = "ClusterQueue"
LOCAL_QUEUE = "LocalQueue"
COHORT = "Cohort"


class Touched:
    """Notes of what changed.

    The `usage` of a ClusterQueue also shows at every node up to its root. A `tree` that changed shows at all its nodes,
    since shares are fractions of what the whole tree can lend.
    """

    def __init__(self) -> None:
        self._used: dict[str, None] = {}
        self._queues: dict[str, None] = {}
        self._local_queues: dict[str, None] = {}
        self._trees: dict[QuotaNode, None] = {}

    def usage(self, queue: str, local_queue: str) -> None:
        """The usage of a ClusterQueue and of one of its LocalQueues (`namespace/name`) changed."""
        self._used[queue] = self._local_queues[local_queue] = None

    def pending(self, local_queue: str) -> None:
        """The number of pending workloads changed at a LocalQueue, and so at its ClusterQueue."""
        self._local_queues[local_queue] = None

    def waiting(self, *workloads: Workload | None) -> None:
        """The same, named by the workloads that come or go."""
        for workload in workloads:
            if workload is not None:
                self.pending(workload.local_queue)

    def queue(self, name: str) -> None:
        """The ClusterQueue changed, or whether it can admit. Its LocalQueues report that too."""
        self._queues[name] = None

    def tree(self, node: QuotaNode) -> None:
        """Quota or edges around the node changed."""
        self._trees[node] = None

    def take(
        self,
        nodes: Mapping[str, QuotaNode],
        local_queues: Mapping[str, LocalQueueSettings],
        local_queues_of: Callable[[str], Iterable[str]],
    ) -> list[Touch]:
        """Every existing object that may show a different status, each once; this clears the notes.

        `nodes` are the ClusterQueues, `local_queues_of` returns the LocalQueues of one.
        """
        found = [*dict.fromkeys(self._all(nodes, local_queues, local_queues_of))]
        for notes in (self._used, self._queues, self._local_queues):
            notes.clear()
        self._trees.clear()
        return found

    def _all(
        self,
        nodes: Mapping[str, QuotaNode],
        local_queues: Mapping[str, LocalQueueSettings],
        local_queues_of: Callable[[str], Iterable[str]],
    ) -> Iterator[Touch]:
        trees = [*stored_below(*dict.fromkeys(map(_top, self._trees)))]
        names = {node.name: None for node in trees if node.is_queue} | self._queues
        for name in self._used | names:
            if name in nodes:
                yield CLUSTER_QUEUE, name
                yield from ((COHORT, node.name) for node in _above(nodes[name]) if node.explicit)
        yield from ((COHORT, node.name) for node in trees if node.explicit and not node.is_queue)
        for name in self._queues:
            yield from ((LOCAL_QUEUE, key) for key in local_queues_of(name))
        for key in self._local_queues:
            if key in local_queues:
                yield LOCAL_QUEUE, key
                if local_queues[key].cluster_queue in nodes:
                    yield CLUSTER_QUEUE, local_queues[key].cluster_queue


def _top(node: QuotaNode) -> QuotaNode:
    """A node that has every node of its tree below it, also where the tree is a cycle."""
    *_, top = node, *_above(node)
    return top


def _above(node: QuotaNode) -> list[QuotaNode]:
    """The ancestors by the stored edges, each once."""
    above, visited, here = [], {node}, node.parent
    while here is not None and here not in visited:
        above.append(here)
        visited.add(here)
        here = here.parent
    return above
