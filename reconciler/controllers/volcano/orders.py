"""Computes the state that a queue should have next, from its oldest Command or from an operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reconciler.controllers.volcano.kinds import CommandObject
from reconciler.objects.observed import Observed
from scheduling.objects.times import SECOND
from scheduling.volcano_queues.queue_object import QueueObject
from scheduling.volcano_queues.states import OperationRefused, QueueAction, VolcanoQueueState, WantedQueue, wanted_state
from scheduling.volcano_queues.tree import VolcanoQueueTree

PATIENCE = 30 * SECOND
"""How long a Command to open a queue waits for a closed parent, in nanoseconds. Volcano retries about as long."""


@dataclass(frozen=True, slots=True)
class WantedOperation:
    """An action that an operation needs on a queue."""

    queue: str
    action: QueueAction


@dataclass(frozen=True, slots=True)
class NextOrder:
    """The state that a queue should have.

    `wanted`: the state.
    `done`: the Command that this state fulfils.
    `refused`: why the first Command is dropped.
    `again`: when to look at the queue again, in nanoseconds; 0 for never.
    """

    wanted: WantedQueue
    done: Observed[CommandObject] | None = None
    refused: str = ""
    again: int = 0


def next_order(
    tree: VolcanoQueueTree,
    queue: QueueObject,
    commands: Sequence[Observed[CommandObject]],
    ordered: QueueAction,
    now: int,
    *,
    work: bool,
    opening: bool,
) -> NextOrder:
    """Compute the next order of a queue.

    `ordered`: the action of an operation, used if there is no Command.
    `work`: whether the queue has work, or an open descendant.
    `opening`: whether an ancestor is about to open.
    """
    above = tree.above(queue.name)
    if not commands:
        return NextOrder(_wanted_by_operation(queue, above, ordered, work=work))
    command = commands[0]
    target = command.value.uid
    if command.value.action not in (QueueAction.OPEN, QueueAction.CLOSE, QueueAction.SYNC):
        refused = f"there is no action {command.value.action}"
    elif target and queue.uid and target != queue.uid:
        refused = "it was for an earlier queue of this name"
    else:
        try:
            return NextOrder(wanted_state(queue, above, QueueAction(command.value.action), work=work), done=command)
        except OperationRefused as error:
            refused = str(error)
            until = command.value.created + PATIENCE
            waits = command.value.action == QueueAction.OPEN and len(commands) == 1 and not queue.deleting
            if waits and (opening or now < until):
                return NextOrder(wanted_state(queue, above, work=work), again=0 if opening else until)
    return NextOrder(wanted_state(queue, above, work=work), refused=refused)


def _wanted_by_operation(
    queue: QueueObject, above: VolcanoQueueState, ordered: QueueAction, *, work: bool
) -> WantedQueue:
    try:
        return wanted_state(queue, above, ordered, work=work)
    except OperationRefused:
        return wanted_state(queue, above, work=work)
