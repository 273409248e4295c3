"""With `--mode observe`: compares the states that Volcano's controller writes with those that ours would have written.

PodGroups and Commands have watches of their own, so the cause of a state may arrive after it. A state that differs from
ours is checked again after a while, and is reported as a difference only if it still differs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from reconciler.controllers.volcano.contents import Contents
from reconciler.controllers.volcano.kinds import COMMAND, POD_GROUP, QUEUE
from reconciler.objects.observed import Observed
from reconciler.observer.observer import NullObserver
from scheduling.objects.times import SECOND
from scheduling.volcano_queues.life import OperationRefused, wanted_state
from scheduling.volcano_queues.queue_object import QueueObject
from scheduling.volcano_queues.states import QueueAction, VolcanoQueueState
from scheduling.volcano_queues.tree import VolcanoQueueTree

PATIENCE = 2 * SECOND


class _Change(NamedTuple):
    """A change of a queue's state. The watch of queues has shown its parent and children, but maybe not the cause yet.

    `due`: when to check it again if the states differ.
    `before`: the queue before the change.
    `theirs`: the state that Volcano's controller wrote.
    `above`: the state of the parent at that moment.
    `busy_below`: whether a child was not Closed at that moment.
    `actions`: the actions that may have caused the change.
    """

    due: int
    before: QueueObject
    theirs: str
    above: VolcanoQueueState
    busy_below: bool
    actions: dict[QueueAction, None]


class QueueComparison(NullObserver):
    """An observer of queue states.

    `report`: called with the name of a queue, the state that was written, and ours. If one of several possible actions
        leads to the written state, that state counts as ours.
    """

    def __init__(self, report: Callable[[str, str, str], None]) -> None:
        self._report = report
        self._tree = VolcanoQueueTree()
        self._contents = Contents(self._tree)
        self._actions: dict[str, dict[QueueAction, None]] = {}
        self._differing: list[_Change] = []

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:
        kind, key = after.key
        if kind == POD_GROUP.kind:
            self._contents.put_group(key, POD_GROUP.value(after))
        elif (command := COMMAND.value(after)) is not None:
            if command.action in (QueueAction.OPEN, QueueAction.CLOSE):
                self._note_action(command.queue, QueueAction(command.action))
        elif kind == QUEUE.kind and after.value is None:
            self._tree.drop(key)
            self._actions.pop(key, None)
        elif (queue := QUEUE.value(after)) is not None:
            was = QUEUE.value(before)
            if was is not None and was.state != queue.state:
                self._compare(was, queue.state, now)
            self._tree.put(queue)

    def passed(self, now: int, _: float, /) -> None:
        due = [change for change in self._differing if change.due <= now]
        self._differing = [change for change in self._differing if change.due > now]
        for change in due:
            ours = self._ours(change)
            self._report(change.before.name, change.theirs, change.theirs if change.theirs in ours else ours[0])

    def _note_action(self, queue: str, action: QueueAction) -> None:
        """Note an action that a Command requests. It may cause the next change, or have caused one that differs."""
        self._actions.setdefault(queue, {})[action] = None
        for change in self._differing:
            if change.before.name == queue:
                change.actions[action] = None

    def _compare(self, before: QueueObject, theirs: str, now: int) -> None:
        """Compare a state that was written with ours.

        Volcano deletes a Command before it acts, so any Command since the last change may be the cause.
        """
        above, busy = self._tree.above(before.name), not self._tree.settled_below(before.name)
        actions = {**self._actions.pop(before.name, {}), QueueAction.SYNC: None}
        change = _Change(now + PATIENCE, before, theirs, above, busy, actions)
        if theirs in self._ours(change):
            self._report(before.name, theirs, theirs)
        else:
            self._differing.append(change)

    def _ours(self, change: _Change) -> list[str]:
        """The state that we would have written, for each possible action."""
        queue, found = change.before, []
        work = change.busy_below or bool(self._tree.pod_groups(queue.name))
        for action in change.actions:
            try:
                found.append(wanted_state(queue, change.above, action, work=work).state.value)
            except OperationRefused:
                found.append(queue.state)
        return found
