"""The workloads with quota, by their queues."""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.objects.workload import Workload

_NONE: dict[str, Workload] = {}


class WorkloadsWithQuota:
    """The workloads with quota, by ClusterQueue and by LocalQueue, in the order in which they got it.

    Both queues may be deleted. A LocalQueue may be new, and name another ClusterQueue than the one with the quota.
    """

    def __init__(self) -> None:
        self._queues: dict[str, tuple[str, str]] = {}  # ClusterQueue and LocalQueue of each workload
        self._by_cluster_queue: dict[str, dict[str, Workload]] = {}
        self._by_local_queue: dict[str, dict[str, Workload]] = {}

    def put(self, workload: Workload) -> None:
        assert workload.admission is not None
        queues = workload.admission.cluster_queue, workload.local_queue
        if self._queues.get(workload.key, queues) != queues:
            self.drop(workload.key)
        self._queues[workload.key] = queues
        self._by_cluster_queue.setdefault(queues[0], {})[workload.key] = workload
        self._by_local_queue.setdefault(queues[1], {})[workload.key] = workload

    def drop(self, key: str) -> None:
        for index, queue in zip(
            (self._by_cluster_queue, self._by_local_queue), self._queues.pop(key, ()), strict=False
        ):
            del index[queue][key]
            if not index[queue]:
                del index[queue]

    def find(self, key: str) -> Workload | None:
        queues = self._queues.get(key)
        return self._by_cluster_queue[queues[0]][key] if queues is not None else None

    def cluster_queues(self) -> Iterable[str]:
        return self._by_cluster_queue

    def in_cluster_queue(self, name: str) -> Iterable[Workload]:
        return self._by_cluster_queue.get(name, _NONE).values()

    def in_local_queue(self, key: str) -> Iterable[Workload]:
        """key: `namespace/name`."""
        return self._by_local_queue.get(key, _NONE).values()
