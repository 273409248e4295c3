"""The contents of each queue: its PodGroups by phase, and the requests of their Pods that are bound to Nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from reconciler.controllers.volcano.kinds import BoundPod
from reconciler.objects.grouped import Grouped
from scheduling.volcano_queues.tree import VolcanoQueueTree

PODS = "pods"
ONE = 10**9


class Contents:
    """Adds every change to the sums in the tree. Keys are `namespace/name`. A Pod may come before its PodGroup."""

    def __init__(self, tree: VolcanoQueueTree) -> None:
        self._tree = tree
        self._groups: dict[str, tuple[str, str]] = {}
        self._pods: Grouped[str, str, BoundPod] = Grouped()

    def put_group(self, key: str, group: tuple[str, str] | None) -> None:
        """Process a PodGroup: its queue and phase; None if it is gone."""
        before = self._groups.pop(key, None)
        if before == group and group is not None:
            self._groups[key] = group
            return
        if before is not None:
            self._enter(before, key, -1)
        if group is not None:
            self._groups[key] = group
            self._enter(group, key, 1)

    def put_pod(self, key: str, pod: BoundPod | None) -> None:
        before = self._pods.pop(key)
        if before is not None:
            self._enter_pods(before.group, [before], -1)
        if pod is not None and pod.group:
            self._pods.put(key, pod.group, pod)
            self._enter_pods(pod.group, [pod], 1)

    def _enter(self, group: tuple[str, str], key: str, sign: int) -> None:
        queue, phase = group
        self._tree.add(queue, [(("phase", phase), sign)])
        self._add(queue, self._pods.of(key).values(), sign)

    def _enter_pods(self, group: str, pods: Iterable[BoundPod], sign: int) -> None:
        if group in self._groups:
            self._add(self._groups[group][0], pods, sign)

    def _add(self, queue: str, pods: Iterable[BoundPod], sign: int) -> None:
        amounts: Counter[tuple[str, str]] = Counter()
        for pod in pods:
            amounts["amount", PODS] += sign * ONE
            for resource, nano in pod.requests:
                amounts["amount", resource] += sign * nano
        if amounts:
            self._tree.add(queue, amounts.items())
