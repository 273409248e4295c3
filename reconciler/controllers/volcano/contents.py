"""The contents of each queue: its Commands, its PodGroups by phase, and the requests of their Pods on Nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from reconciler.controllers.volcano.kinds import BoundPod, CommandObject
from reconciler.objects.grouped import Grouped
from reconciler.objects.observed import Observed
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


class Commands:
    """The Commands of each queue. Commands to other kinds are ignored."""

    def __init__(self) -> None:
        self._commands: Grouped[str, str, Observed[CommandObject]] = Grouped()

    def put(self, key: str, observed: Observed[CommandObject] | None) -> str:
        """Process the Command `namespace/name`; None if it is gone. Returns its queue; empty for none."""
        before = self._commands.group_of.get(key, "")
        self._commands.pop(key)
        if observed is None or not observed.value.queue:
            return before
        self._commands.put(key, observed.value.queue, observed)
        return observed.value.queue

    def of(self, queue: str) -> list[Observed[CommandObject]]:
        """The Commands of a queue, oldest first.

        Creation times are whole seconds. Within a second the order is the one in which the API server stored them.
        """

        def order(each: Observed[CommandObject]) -> tuple[int, int, str]:
            return each.value.created, int(each.version) if each.version.isdecimal() else 0, each.key[1]

        return sorted(self._commands.of(queue).values(), key=order)
