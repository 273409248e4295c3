"""Operations on a queue and its descendants, in steps: pause, resume, move, delete.

An operation is recorded in an annotation of its queue before its first step. The remaining steps follow from the record
and the current queues, so that any process can continue after a crash.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from policies.dialects.volcano import BUILT_IN
from scheduling.volcano_queues.queue_object import TOP
from scheduling.volcano_queues.states import SHUT, VolcanoQueueState
from scheduling.volcano_queues.tree import VolcanoQueueTree

LONGEST = 200_000
"""The most characters of a record. All annotations of an object together may take 262144."""


class OperationKind(StrEnum):
    """The kind of an operation. BACK: a move is undone."""

    PAUSE = "pause"
    PAUSED = "paused"
    RESUME = "resume"
    MOVE = "move"
    BACK = "move-back"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class QueueOperation:
    """A recorded operation.

    open: the queues that took work when it began, parents first.
    source, target: the parents from which and to which a queue moves.
    deletes: the queues to delete, parents first.
    """

    kind: OperationKind
    open: tuple[str, ...]
    source: str = ""
    target: str = ""
    deletes: tuple[str, ...] = ()

    def text(self) -> str:
        found = {
            "operation": self.kind,
            "open": self.open,
            "from": self.source,
            "to": self.target,
            "delete": self.deletes,
        }
        return json.dumps({key: value for key, value in found.items() if value or key == "open"})

    @property
    def is_paused(self) -> bool:
        """Whether the queue is paused, so that no step is left until a user requests the next operation."""
        return self.kind is OperationKind.PAUSED


@dataclass(frozen=True)
class _OfQueue:
    """A step that only needs the name of its queue."""

    queue: str


class Close(_OfQueue):
    """Close the queue."""


class Open(_OfQueue):
    """Open the queue."""


class Follow(_OfQueue):
    """Mark the closed queue so that it opens with its parent."""


@dataclass(frozen=True, slots=True)
class Reparent:
    """Move the queue below the parent."""

    queue: str
    parent: str


class Remove(_OfQueue):
    """Delete the queue.

    Only the client that began the operation deletes: a record in a queue does not give its writer that right.
    """


@dataclass(frozen=True, slots=True)
class OperationRecord:
    """Store the record in the queue; None removes it."""

    queue: str
    operation: QueueOperation | None


Step: TypeAlias = Close | Open | Follow | Reparent | Remove | OperationRecord


def read_operation(text: str) -> QueueOperation | None:
    """Read the annotation; None if it is empty or is not a valid record."""
    try:
        found = json.loads(text)
        names, deletes = tuple(found["open"]), tuple(found.get("delete", ()))
        if not all(isinstance(name, str) for name in (*names, *deletes)):
            return None
        source, target = (str(found.get(key, "")) for key in ("from", "to"))
        return QueueOperation(OperationKind(found["operation"]), names, source, target, deletes)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def open_below(tree: VolcanoQueueTree, name: str) -> tuple[str, ...]:
    """The queues in the subtree that take work, parents first."""
    return tuple(each for each in tree.subtree(name) if tree.queues[each].state in ("", VolcanoQueueState.OPEN))


def next_steps(tree: VolcanoQueueTree, name: str, operation: QueueOperation) -> list[Step]:
    """The next steps, which may run in any order; empty if none is left for now, or if the queue was deleted.

    A record affects only its queue and the descendants. So a user who may write one queue cannot change others by it.
    """
    queue = tree.queues.get(name)
    if queue is None or operation.is_paused:
        return []
    parent = queue.parent or TOP
    below = set(tree.subtree(name))
    names = [each for each in operation.open if each in below]
    if operation.kind is OperationKind.PAUSE:
        return _closing(tree, names) or [OperationRecord(name, replace(operation, kind=OperationKind.PAUSED))]
    if operation.kind is OperationKind.DELETE:
        return _deleting(tree, [each for each in operation.deletes if each in below])
    if operation.kind is OperationKind.MOVE and parent == operation.source != operation.target:
        return _closing(tree, names) or [Reparent(name, operation.target)]
    if operation.kind is OperationKind.BACK and parent == operation.target != operation.source:
        return [Reparent(name, operation.source)]
    return _opening(tree, names) or [OperationRecord(name, None)]


def _closing(tree: VolcanoQueueTree, names: Iterable[str]) -> list[Step]:
    """Close the queues, children first."""
    left = [name for name in names if tree.queues[name].state not in SHUT]
    waiting = {above for name in left for above in tree.ancestors(name)}
    return [Close(name) for name in left if name not in waiting]


def _deleting(tree: VolcanoQueueTree, names: Iterable[str]) -> list[Step]:
    """Close all queues, children first, and delete those that are Closed and have no children and no PodGroups."""
    names = list(names)
    return [*_closing(tree, names), *(Remove(name) for name in names if deletable(tree, name))]


def deletable(tree: VolcanoQueueTree, name: str) -> bool:
    """Whether the queue is empty, can be deleted now, and is not being deleted yet."""
    queue = tree.queues[name]
    closed = queue.state == VolcanoQueueState.CLOSED and not tree.pod_groups(name)
    return closed and not queue.deleting and not tree.children(name) and name not in BUILT_IN


def awaited(tree: VolcanoQueueTree, name: str, operation: QueueOperation) -> str:
    """What a deletion without a next step waits for, in words; empty if it waits for a controller."""
    if operation.kind is not OperationKind.DELETE:
        return ""
    below, deletes = tree.subtree(name), set(operation.deletes)
    if new := [each for each in below if each not in deletes]:
        return f"queues that were added below {name} later are not deleted with it: {', '.join(new)}"
    work = [f"{tree.pod_groups(each)} in {each}" for each in below if tree.pod_groups(each)]
    return f"PodGroups to be deleted: {', '.join(work)}" if work else ""


def _opening(tree: VolcanoQueueTree, names: Iterable[str]) -> list[Step]:
    """Open the queues, parents first. Queues below one that stays closed are marked to open with their parent."""
    left = [tree.queues[name] for name in names if tree.queues[name].state in SHUT]
    ready: list[Step] = [
        Open(queue.name) for queue in left if tree.above(queue.name) not in SHUT and not queue.deleting
    ]
    blocked = [queue for queue in left if tree.above(queue.name) in SHUT and not queue.closed_by_parent]
    return ready or [Follow(queue.name) for queue in blocked]
