"""Notes the objects whose status may have changed, so that only these are computed again.

A note is cheap. The effect on ancestors and siblings is computed only when the notes are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from scheduling.objects.queue_settings import LocalQueueSettings
from scheduling.objects.workload import Workload
from scheduling.quota.node import QuotaNode, stored_below

Touch: TypeAlias = tuple[str, str]
"""The kind and `namespace/name` of an object, or only the name of a cluster-scoped one."""
CLUSTER_QUEUE = "ClusterQueue"
LOCAL_QUEUE = "LocalQueue"
COHORT = "Cohort"


class Touched:
    """Notes of changes.

    A change of usage affects the status of every node up to the root. A change of quota or edges affects all nodes of
    the tree, since shares depend on what the whole tree can lend.
    """

    def __init__(self) -> None:
        self._used: dict[str, None] = {}  # ClusterQueues with changed usage
        self._queues: dict[str, None] = {}  # changed ClusterQueues
        self._local_queues: dict[str, None] = {}  # changed LocalQueues
        self._trees: dict[QuotaNode, None] = {}  # nodes of changed trees

    def usage(self, queue: str, local_queue: str) -> None:
        """Note a change of usage of a ClusterQueue and one of its LocalQueues (`namespace/name`)."""
        self._used[queue] = self._local_queues[local_queue] = None

    def pending(self, local_queue: str) -> None:
        """Note a change of the number of pending workloads in a LocalQueue and its ClusterQueue."""
        self._local_queues[local_queue] = None

    def waiting(self, *workloads: Workload | None) -> None:
        """Note the same change for the queues of these workloads, which were added or removed."""
        for workload in workloads:
            if workload is not None:
                self.pending(workload.local_queue)

    def queue(self, name: str) -> None:
        """Note a change of the ClusterQueue, or of whether it is active. Its LocalQueues report that, too."""
        self._queues[name] = None

    def tree(self, node: QuotaNode) -> None:
        """Note a change of quota or edges near the node."""
        self._trees[node] = None

    def take(
        self,
        nodes: Mapping[str, QuotaNode],
        local_queues: Mapping[str, LocalQueueSettings],
        local_queues_of: Callable[[str], Iterable[str]],
    ) -> list[Touch]:
        """Return every existing object whose status may have changed, and clear the notes.

        nodes: the ClusterQueues. local_queues_of: returns the LocalQueues of one.
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
    """A node from which all nodes of the tree can be reached downward, even if the tree has a cycle."""
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
