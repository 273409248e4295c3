"""With `--mode observe`: compares the states that Volcano's controller writes with those that ours would have written.

PodGroups and Commands have watches of their own, so the cause of a state may arrive after it. A state is reported as a
difference only if its cause has not arrived after a while.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reconciler.controllers.volcano.contents import Contents
from reconciler.controllers.volcano.kinds import COMMAND, POD_GROUP, QUEUE
from reconciler.objects.observed import Observed
from reconciler.observer.observer import Observer
from scheduling.objects.times import SECOND
from scheduling.volcano_queues.queue_object import QueueObject
from scheduling.volcano_queues.states import OperationRefused, QueueAction, VolcanoQueueState, wanted_state
from scheduling.volcano_queues.tree import VolcanoQueueTree

PATIENCE = 2 * SECOND


@dataclass(slots=True)
class _Change:
    """A change of a queue's state, whose cause may not be known yet.

    `before`: the queue before the change.
    `theirs`: the state that Volcano's controller wrote.
    `actions`: the actions that may have caused the change.
    `due`: when a difference is reported.
    `above`: the state of the parent at the end of the round.
    `busy_below`: whether a child was not Closed then.
    """

    before: QueueObject
    theirs: str
    actions: dict[QueueAction, None]
    due: int
    above: VolcanoQueueState = VolcanoQueueState.UNKNOWN
    busy_below: bool = False


class QueueComparison(Observer):
    """An observer of queue states.

    `report`: called with the name of a queue, the state that was written, and ours. If one of several possible actions
        leads to the written state, that state counts as ours.
    """

    def __init__(self, report: Callable[[str, str, str], None]) -> None:
        self._report = report
        self._tree = VolcanoQueueTree()
        self._contents = Contents(self._tree)
        self._actions: dict[str, dict[QueueAction, None]] = {}
        self._new: list[_Change] = []
        self._differing: list[_Change] = []

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:
        kind, key = after.key
        if kind == POD_GROUP.kind:
            self._contents.put_group(key, POD_GROUP.value(after))
        elif (command := COMMAND.value(after)) is not None:
            if command.action in (QueueAction.OPEN, QueueAction.CLOSE):
                self._note_action(command.queue, QueueAction(command.action))
        elif kind == QUEUE.kind and after.value is None:
            self._look_around()
            self._tree.drop(key)
            self._actions.pop(key, None)
        elif (queue := QUEUE.value(after)) is not None:
            was = QUEUE.value(before)
            if was is not None and was.state != queue.state:
                self._new.append(_Change(was, queue.state, self._possible_actions(key), now + PATIENCE))
            self._tree.put(queue)

    def passed(self, now: int, _: float, /) -> None:
        self._look_around()
        differing, self._differing = self._differing, []
        for change in differing:
            name, theirs, ours = change.before.name, change.theirs, self._ours(change)
            if theirs in ours:
                self._report(name, theirs, theirs)
            elif change.due <= now:
                self._report(name, theirs, ours[0])
            else:
                self._differing.append(change)

    def _possible_actions(self, queue: str) -> dict[QueueAction, None]:
        """The actions that may have caused a change, which no longer count for the next one.

        Volcano deletes a Command before it acts, so any Command since the last change may be the cause.
        """
        return {**self._actions.pop(queue, {}), QueueAction.SYNC: None}

    def _note_action(self, queue: str, action: QueueAction) -> None:
        """Note an action that a Command requests. It may cause the next change, or have caused an earlier one."""
        self._actions.setdefault(queue, {})[action] = None
        for change in (*self._new, *self._differing):
            if change.before.name == queue:
                change.actions[action] = None

    def _look_around(self) -> None:
        """Note the states around the new changes. Later changes of the parent and the children are not their causes.

        All queues come by one watch. A list shows them in no particular order, but in one round.
        """
        for change in self._new:
            name = change.before.name
            change.above, change.busy_below = self._tree.above(name), not self._tree.settled_below(name)
        self._differing += self._new
        self._new = []

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
