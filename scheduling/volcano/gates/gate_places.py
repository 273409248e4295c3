"""An index of the Pods that wait at the gate: by Namespace, and by the queue of their PodGroup.

A change costs the same however many Pods wait: the index of queues has PodGroups, and a PodGroup moves with its Pods.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduling.volcano.gates.gated_pod import VolcanoGatedPod

Index = dict[str, dict[str, None]]


class GatePlaces:
    """The waiting Pods by Namespace and by PodGroup, and the PodGroups that have waiting Pods by queue."""

    def __init__(self) -> None:
        self._namespaces: Index = {}
        self._groups: Index = {}
        self._queues: Index = {}

    def put(self, pod: VolcanoGatedPod, queue: str, times: int = 1) -> None:
        """Add a waiting Pod; with `times` -1, remove it. `queue`: the queue of its PodGroup, empty if there is none."""
        _put(self._namespaces, pod.namespace, pod.key, times)
        if pod.group:
            _put(self._groups, pod.group, pod.key, times)
            _put(self._queues, queue, pod.group, 1 if pod.group in self._groups else -1)

    def move(self, group: str, before: str, after: str) -> None:
        if group in self._groups:
            _put(self._queues, before, group, -1)
            _put(self._queues, after, group, 1)

    def in_namespace(self, namespace: str) -> Iterator[str]:
        """The waiting Pods of the Namespace."""
        return iter(self._namespaces.get(namespace, ()))

    def in_queue(self, queue: str) -> Iterator[str]:
        """The waiting Pods of PodGroups in the queue, without those in its descendants."""
        return (key for group in self._queues.get(queue, ()) for key in self._groups[group])


def _put(index: Index, where: str, what: str, times: int) -> None:
    here = index.setdefault(where, {})
    if times > 0:
        here[what] = None
    else:
        here.pop(what, None)
    if not here:
        del index[where]
