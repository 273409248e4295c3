"""The contents of each queue: its Commands, its PodGroups by phase, and the requests of their Pods on Nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from reconciler.controllers.volcano.kinds import COMMAND, BoundPod, CommandObject
from reconciler.objects.observed import Key, Observed
from scheduling.objects.grouped import Grouped
from scheduling.volcano_queues.queue_object import QueueObject
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
    """The Commands of each queue. Commands to other kinds are ignored.

    Commands and queues have independent watches. So a Command whose queue is missing, or has another uid, may be for a
    queue that is not visible yet. Only the API server knows.

    Private state:
    `_asked`: the Commands whose queue is being looked up, by the name of the queue.
    `_looked_up`: the Commands whose queue was looked up after they were observed.
    """

    def __init__(self) -> None:
        self._commands: Grouped[str, str, Observed[CommandObject]] = Grouped()
        self._asked: dict[str, list[Key]] = {}
        self._looked_up: set[Key] = set()

    def put(self, key: str, observed: Observed[CommandObject] | None) -> str:
        """Process the Command `namespace/name`; None if it is gone. Returns its queue; empty for none."""
        before = self._commands.group_of.get(key, "")
        self._commands.pop(key)
        if observed is None or not observed.value.queue:
            self._looked_up.discard((COMMAND.kind, key))
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

    def ask(self, queue: QueueObject | None, commands: Iterable[Observed[CommandObject]]) -> bool:
        """Whether the queue has to be looked up, because these Commands may be for one that is not visible yet.

        `queue`: the visible queue; None if there is none.
        """
        unsure = [
            command
            for command in commands
            if command.key not in self._looked_up
            and (queue is None or (command.value.uid and queue.uid and command.value.uid != queue.uid))
        ]
        if unsure:
            self._asked[unsure[0].value.queue] = [command.key for command in unsure]
        return bool(unsure)

    def answered(self, queue: str) -> None:
        """The queue was looked up."""
        self._looked_up.update(self._asked.pop(queue, ()))
