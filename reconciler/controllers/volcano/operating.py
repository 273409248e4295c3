"""Continues recorded operations on queues that are not complete. The client that began them may have crashed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from cluster.actions import Patch
from policies.configuration.settings import Configuration
from reconciler.controllers.volcano.orders import WantedOperation
from reconciler.controllers.volcano.queue_writes import metadata_patch, parent_patch, record_patch
from reconciler.objects.stored import Stored
from scheduling.volcano_queues.operations import (
    Close,
    Follow,
    Open,
    OperationKind,
    OperationRecord,
    QueueOperation,
    Remove,
    Reparent,
    Step,
    next_steps,
    read_operation,
)
from scheduling.volcano_queues.plans import objections
from scheduling.volcano_queues.queue_object import QueueObject
from scheduling.volcano_queues.states import QueueAction
from scheduling.volcano_queues.tree import VolcanoQueueTree


@dataclass(frozen=True, slots=True)
class QueueWrite:
    """A write of the queue `name`; `patch` computes it from the stored queue."""

    name: str
    patch: Callable[[Stored], Patch]


Operated: TypeAlias = WantedOperation | QueueWrite


class Operating:
    """The recorded operations that are not complete, by the queue that has the record."""

    def __init__(self, tree: VolcanoQueueTree, configuration: Configuration) -> None:
        self._tree = tree
        self._configuration = configuration
        self._under_way: dict[str, QueueOperation] = {}

    def observe(self, name: str, queue: QueueObject | None) -> None:
        operation = read_operation(queue.operation) if queue is not None else None
        if operation is not None and not operation.is_paused:
            self._under_way[name] = operation
        else:
            self._under_way.pop(name, None)

    def steps(self) -> Iterator[Operated]:
        for name, operation in self._under_way.items():
            for step in checked_steps(self._tree, name, operation, self._configuration):
                if not isinstance(step, Remove):
                    yield self._written(step)

    def _written(self, step: Close | Open | Follow | Reparent | OperationRecord) -> Operated:
        match step:
            case Close(queue):
                return WantedOperation(queue, QueueAction.CLOSE)
            case Open(queue):
                return WantedOperation(queue, QueueAction.OPEN)
            case Reparent(queue, parent):
                return QueueWrite(queue, lambda stored: parent_patch(queue, stored, parent))
            case OperationRecord(queue, operation):
                text = operation.text() if operation is not None else None
                return QueueWrite(queue, lambda stored: record_patch(queue, stored, text))
            case Follow(queue):
                return QueueWrite(queue, lambda stored: follow_patch(self._tree.queues[queue], stored))


def follow_patch(queue: QueueObject, stored: Stored) -> Patch:
    """The patch that lets the queue open with its parent."""
    return _closed_by_parent_patch(queue, stored, closed_by_parent=True)


def stay_patch(queue: QueueObject, stored: Stored) -> Patch:
    """The patch that keeps the queue closed when its parent opens."""
    return _closed_by_parent_patch(queue, stored, closed_by_parent=False)


def _closed_by_parent_patch(queue: QueueObject, stored: Stored, *, closed_by_parent: bool) -> Patch:
    made = metadata_patch(queue, stored, closed_by_parent=closed_by_parent, guarded=queue.guarded, root=False)
    assert made is not None
    return made


def checked_steps(
    tree: VolcanoQueueTree, name: str, operation: QueueOperation, configuration: Configuration
) -> list[Step]:
    """The next steps of an operation.

    If the rules refuse a move now, the move is reverted, even if the queue has its new parent already. If they refuse
    the reversal as well, the queue stays where it is.
    """
    steps = next_steps(tree, name, operation)
    source, target = operation.source, operation.target
    if operation.kind is OperationKind.MOVE and steps and objections(tree, name, source, target, configuration):
        return [OperationRecord(name, replace(operation, kind=OperationKind.BACK))]
    goes_back = any(isinstance(step, Reparent) for step in steps) and operation.kind is OperationKind.BACK
    if goes_back and objections(tree, name, target, source, configuration):
        return [OperationRecord(name, replace(operation, kind=OperationKind.RESUME))]
    return steps
