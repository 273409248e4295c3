"""What a request about a queue will do to it and all below, in words, before anything is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from policies.configuration.settings import Configuration
from scheduling.volcano_queues.moving import objections
from scheduling.volcano_queues.operations import LONGEST, Kind, Operation, open_below, read_operation
from scheduling.volcano_queues.queue_object import TOP
from scheduling.volcano_queues.states import SHUT, Action
from scheduling.volcano_queues.tree import QueueTree


@dataclass(frozen=True, slots=True)
class Plan:
    """`lines` say what is done, in its order. With `refusals` nothing is.

    `command` is to be given to the queue; or `operation` is to be recorded and carried out, from where it stands if it
    is recorded already. Neither: there is nothing to do.
    """

    lines: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    command: Action | None = None
    operation: Operation | None = None


def close(tree: QueueTree, name: str) -> Plan:
    if refused := _refused(tree, name):
        return refused
    queue = tree.queues[name]
    if queue.state in SHUT and not queue.closed_by_parent:
        return Plan((f"{name} is {queue.state} already",))
    if queue.state in SHUT:
        return Plan((f"{name} stays closed when its parent {queue.parent} opens",), command=Action.CLOSE)
    below = [f"close {each}, which opens with its parent" for each in _closing(tree, name) if each != name]
    stay = [f"{each} is closed already, and stays so" for each in tree.subtree(name) if tree.queues[each].state in SHUT]
    return Plan((*below, f"close {name}", *stay), command=Action.CLOSE)


def open_(tree: QueueTree, name: str) -> Plan:
    if refused := _refused(tree, name, top=True):
        return refused
    queue = tree.queues[name]
    if tree.above(name) in SHUT:
        return Plan(refusals=(f"the parent {queue.parent} of {name} is {tree.above(name)}; open that first",))
    if queue.state not in SHUT and queue.state:
        lines = (f"{name} is Open already",) if queue.state == "Open" else (f"open {name}",)
        return Plan(lines, command=None if queue.state == "Open" else Action.OPEN)
    return Plan((f"open {name}", *_opening(tree, name)), command=Action.OPEN)


def pause(tree: QueueTree, name: str) -> Plan:
    if refused := _refused(tree, name, Kind.PAUSE, Kind.PAUSED):
        return refused
    operation = read_operation(tree.queues[name].operation)
    if operation is not None and operation.rests:
        return Plan((f"{name} is paused already",))
    operation = operation or Operation(Kind.PAUSE, open_below(tree, name))
    if len(operation.text()) > LONGEST:
        return Plan(
            refusals=(f"the names of {len(operation.open)} queues do not fit an annotation; pause parts of it",)
        )
    if not operation.open:
        return Plan(refusals=(f"neither {name} nor a queue below is open",))
    closing = [f"close {each}" for each in _closing(tree, name) if each in set(operation.open)]
    return Plan((*closing, f"resume opens these again: {', '.join(operation.open)}"), operation=operation)


def resume(tree: QueueTree, name: str) -> Plan:
    if refused := _refused(tree, name, Kind.PAUSE, Kind.PAUSED, Kind.RESUME):
        return refused
    operation = read_operation(tree.queues[name].operation)
    if operation is None:
        return Plan(refusals=(f"{name} is not paused",))
    opening = [f"open {each}" for each in operation.open if each in tree.queues and tree.queues[each].state in SHUT]
    gone = [f"{each} is gone" for each in operation.open if each not in tree.queues]
    if tree.above(name) in SHUT:
        opening = [f"{name} and those below open with {tree.queues[name].parent}, which is {tree.above(name)}"]
    return Plan((*opening, *gone), operation=replace(operation, kind=Kind.RESUME))


def move(tree: QueueTree, name: str, target: str, configuration: Configuration) -> Plan:
    if refused := _refused(tree, name, Kind.MOVE):
        return refused
    queue = tree.queues[name]
    operation = read_operation(queue.operation)
    source = operation.source if operation is not None else queue.parent or TOP
    if operation is not None and operation.target != target:
        return Plan(refusals=(f"{name} is on its way to {operation.target}",))
    if operation is None and source == target:
        return Plan((f"{name} is below {target} already",))
    if target != TOP and target not in tree.queues:
        return Plan(refusals=(f"queue {target} does not exist",))
    if found := objections(tree, name, source, target, configuration):
        return Plan(refusals=tuple(found))
    operation = operation or Operation(Kind.MOVE, open_below(tree, name), source, target)
    if len(operation.text()) > LONGEST:
        return Plan(refusals=(f"the names of {len(operation.open)} queues do not fit an annotation",))
    closing = [f"close {each}" for each in _closing(tree, name) if each in set(operation.open)]
    opening = [f"open {each}" for each in operation.open]
    if target in tree.queues and tree.queues[target].state in SHUT and operation.open:
        opening = [f"{name} and those below stay closed, since {target} is {tree.queues[target].state}"]
    return Plan((*closing, f"move {name} from {source} to {target}", *opening), operation=operation)


def _refused(tree: QueueTree, name: str, *going_on: Kind, top: bool = False) -> Plan | None:
    """What is in the way of any request: `going_on` are the operations that it goes on with."""
    queue = tree.queues.get(name)
    if queue is None:
        return Plan(refusals=(f"queue {name} does not exist",))
    if name == TOP and not top:
        return Plan(refusals=(f"{TOP} is always open, and has no parent",))
    operation = read_operation(queue.operation)
    if operation is not None and going_on and operation.kind not in going_on:
        said = "is paused; resume it first" if operation.rests else f"is being changed: {operation.kind}"
        return Plan(refusals=(f"{name} {said}",))
    return None


def _closing(tree: QueueTree, name: str) -> Iterator[str]:
    """Those that are not closed yet, children first."""
    return (each for each in reversed(tree.subtree(name)) if tree.queues[each].state not in SHUT)


def _opening(tree: QueueTree, name: str) -> Iterator[str]:
    """What opens below with it, and what does not."""
    for child in tree.children(name):
        queue = tree.queues[child]
        if queue.closed_by_parent:
            yield f"open {child}"
            yield from _opening(tree, child)
        elif queue.state in SHUT:
            yield f"{child} stays closed: its parent did not close it"
