"""With `--mode observe`: compares the states that Volcano's controller writes with those that ours would have written.

The watches of different kinds are not synchronized, so the causes of a state may arrive after it. A state that differs
from ours is checked again after a while, and is reported as a difference only if it still differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from reconciler.controllers.volcano.contents import Contents
from reconciler.controllers.volcano.kinds import COMMAND, POD_GROUP, QUEUE
from reconciler.objects.observed import Observed
from reconciler.observer.observer import NullObserver
from scheduling.objects.times import SECOND
from scheduling.volcano_queues.life import OperationRefused, wanted_state
from scheduling.volcano_queues.queue_object import QueueObject
from scheduling.volcano_queues.states import QueueAction
from scheduling.volcano_queues.tree import VolcanoQueueTree

PATIENCE = 2 * SECOND


class _Doubt(NamedTuple):
    """A difference to check again.

    `theirs`: the state that Volcano's controller wrote.
    `actions`: the possible causes of the change.
    """

    due: int
    before: QueueObject
    theirs: str
    actions: tuple[QueueAction, ...]


class QueueComparison(NullObserver):
    """An observer of queue states.

    `report`: called with the name of a queue, the state that was written, and ours. If several states of ours are
        possible, one that equals the written state is preferred.
    """

    def __init__(self, report: Callable[[str, str, str], None]) -> None:
        self._report = report
        self._tree = VolcanoQueueTree()
        self._contents = Contents(self._tree)
        self._actions: dict[str, dict[QueueAction, None]] = {}
        self._doubts: list[_Doubt] = []

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:
        kind, key = after.key
        if kind == POD_GROUP.kind:
            self._contents.put_group(key, POD_GROUP.value(after))
        elif (command := COMMAND.value(after)) is not None:
            if command.action in (QueueAction.OPEN, QueueAction.CLOSE):
                self._actions.setdefault(command.queue, {})[QueueAction(command.action)] = None
        elif kind == QUEUE.kind and after.value is None:
            self._tree.drop(key)
            self._actions.pop(key, None)
        elif (queue := QUEUE.value(after)) is not None:
            was = QUEUE.value(before)
            if was is not None and was.state != queue.state:
                self._compare(was, queue.state, now)
            self._tree.put(queue)

    def passed(self, now: int, _: float, /) -> None:
        due = [doubt for doubt in self._doubts if doubt.due <= now]
        self._doubts = [doubt for doubt in self._doubts if doubt.due > now]
        for doubt in due:
            ours = self._ours(doubt.before, doubt.actions)
            self._report(doubt.before.name, doubt.theirs, doubt.theirs if doubt.theirs in ours else ours[0])

    def _compare(self, before: QueueObject, theirs: str, now: int) -> None:
        """Compare a state that was written with ours.

        Volcano deletes a Command before it acts, so any Command since the last change may be the cause.
        """
        actions = (*self._actions.pop(before.name, {}), QueueAction.SYNC)
        if theirs in self._ours(before, actions):
            self._report(before.name, theirs, theirs)
        else:
            self._doubts.append(_Doubt(now + PATIENCE, before, theirs, actions))

    def _ours(self, queue: QueueObject, actions: Sequence[QueueAction]) -> list[str]:
        above, found = self._tree.above(queue.name), []
        work = bool(self._tree.pod_groups(queue.name)) or not self._tree.settled_below(queue.name)
        for action in actions:
            try:
                found.append(wanted_state(queue, above, action, work=work).state.value)
            except OperationRefused:
                found.append(queue.state)
        return found
