"""Plans what a request does to a queue and its descendants, in words, before anything is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from policies.configuration.settings import Configuration
from policies.dialects.volcano import BUILT_IN, QUEUE, Queue, queue_ref
from policies.judge import evaluate
from policies.judging.rule import propose
from policies.model.change import Change
from policies.model.findings import Severity
from policies.model.forest import Forest
from policies.model.quantity import Quantity
from scheduling.volcano_queues.operations import LONGEST, OperationKind, QueueOperation, open_below, read_operation
from scheduling.volcano_queues.queue_object import TOP
from scheduling.volcano_queues.states import SHUT, QueueAction
from scheduling.volcano_queues.tree import VolcanoQueueTree

_MAX_LEVELS = 200  # of the search for ancestors; rules refuse a deeper tree anyway


@dataclass(frozen=True, slots=True)
class OperationPlan:
    """A plan. Without `command` and `operation` there is nothing to do.

    lines: the steps in words, in their order.
    refusals: why the request is refused. Nothing is done then.
    command: the action to request from Volcano's controller for this queue.
    operation: the operation to record and carry out, or to continue if it is recorded already.
    """

    lines: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    command: QueueAction | None = None
    operation: QueueOperation | None = None


def close(tree: VolcanoQueueTree, name: str) -> OperationPlan:
    if refused := _refused(tree, name):
        return refused
    queue = tree.queues[name]
    if queue.state in SHUT and not queue.closed_by_parent:
        return OperationPlan((f"{name} is {queue.state} already",))
    if queue.state in SHUT:
        return OperationPlan((f"{name} stays closed when its parent {queue.parent} opens",), command=QueueAction.CLOSE)
    below = [f"close {each}, which opens with its parent" for each in _closing(tree, name) if each != name]
    stay = [f"{each} is closed already, and stays so" for each in tree.subtree(name) if tree.queues[each].state in SHUT]
    return OperationPlan((*below, f"close {name}", *stay), command=QueueAction.CLOSE)


def open_(tree: VolcanoQueueTree, name: str) -> OperationPlan:
    if refused := _refused(tree, name, top=True):
        return refused
    queue = tree.queues[name]
    if tree.above(name) in SHUT:
        return OperationPlan(refusals=(f"the parent {queue.parent} of {name} is {tree.above(name)}; open that first",))
    if queue.state not in SHUT and queue.state:
        lines = (f"{name} is Open already",) if queue.state == "Open" else (f"open {name}",)
        return OperationPlan(lines, command=None if queue.state == "Open" else QueueAction.OPEN)
    return OperationPlan((f"open {name}", *_opening(tree, name)), command=QueueAction.OPEN)


def pause(tree: VolcanoQueueTree, name: str) -> OperationPlan:
    if refused := _refused(tree, name, OperationKind.PAUSE, OperationKind.PAUSED):
        return refused
    operation = read_operation(tree.queues[name].operation)
    if operation is not None and operation.is_paused:
        return OperationPlan((f"{name} is paused already",))
    operation = operation or QueueOperation(OperationKind.PAUSE, open_below(tree, name))
    if len(operation.text()) > LONGEST:
        return OperationPlan(
            refusals=(
                f"the names of {len(operation.open)} queues do not fit in an annotation; pause its subtrees one by one",
            )
        )
    if not operation.open:
        return OperationPlan(refusals=(f"neither {name} nor a queue below is open",))
    opened, gone = _parted(tree, name, operation)
    closing = [f"close {each}" for each in _closing(tree, name) if each in opened]
    again = [f"resume opens these again: {', '.join(opened)}"] if opened else []
    return OperationPlan((*closing, *again, *gone), operation=operation)


def resume(tree: VolcanoQueueTree, name: str) -> OperationPlan:
    stopped = (OperationKind.PAUSE, OperationKind.PAUSED, OperationKind.DELETE)
    if refused := _refused(tree, name, *stopped, OperationKind.RESUME):
        return refused
    operation = read_operation(tree.queues[name].operation)
    if operation is None:
        return OperationPlan(refusals=(f"{name} is not paused",))
    opened, gone = _parted(tree, name, operation)
    opening = [f"open {each}" for each in opened if tree.queues[each].state in SHUT]
    if tree.above(name) in SHUT:
        opening = [f"{name} and those below open with {tree.queues[name].parent}, which is {tree.above(name)}"]
    return OperationPlan((*opening, *gone), operation=replace(operation, kind=OperationKind.RESUME))


def delete(tree: VolcanoQueueTree, name: str) -> OperationPlan:
    """Delete the queue and its descendants, children first, each once it is Closed and has no PodGroups."""
    if refused := _refused(tree, name, OperationKind.PAUSE, OperationKind.PAUSED, OperationKind.DELETE):
        return refused
    below = tree.subtree(name)
    if built_in := [each for each in below if each in BUILT_IN]:
        return OperationPlan(refusals=(f"{', '.join(built_in)} cannot be deleted",))
    recorded = read_operation(tree.queues[name].operation)
    operation = QueueOperation(OperationKind.DELETE, open_below(tree, name), deletes=tuple(below))
    if recorded is not None:
        operation = replace(operation, open=recorded.open)
    if len(operation.text()) > LONGEST:
        return OperationPlan(
            refusals=(f"the names of {len(below)} queues do not fit in an annotation; delete its subtrees one by one",)
        )
    closing = [f"close {each}" for each in _closing(tree, name)]
    deleting = [f"delete {each}{_after_work(tree, each)}" for each in reversed(below)]
    return OperationPlan((*closing, *deleting), operation=operation)


def move(tree: VolcanoQueueTree, name: str, target: str, configuration: Configuration) -> OperationPlan:
    if refused := _refused(tree, name, OperationKind.MOVE):
        return refused
    queue = tree.queues[name]
    operation = read_operation(queue.operation)
    source = operation.source if operation is not None else queue.parent or TOP
    if operation is not None and operation.target != target:
        return OperationPlan(refusals=(f"{name} is already being moved to {operation.target}",))
    if operation is None and source == target:
        return OperationPlan((f"{name} is below {target} already",))
    if target != TOP and target not in tree.queues:
        return OperationPlan(refusals=(f"queue {target} does not exist",))
    if found := objections(tree, name, source, target, configuration):
        return OperationPlan(refusals=tuple(found))
    operation = operation or QueueOperation(OperationKind.MOVE, open_below(tree, name), source, target)
    if len(operation.text()) > LONGEST:
        return OperationPlan(refusals=(f"the names of {len(operation.open)} queues do not fit in an annotation",))
    opened, gone = _parted(tree, name, operation)
    closing = [f"close {each}" for each in _closing(tree, name) if each in opened]
    opening = [f"open {each}" for each in opened]
    if target in tree.queues and tree.queues[target].state in SHUT and opened:
        opening = [f"{name} and those below stay closed, since {target} is {tree.queues[target].state}"]
    return OperationPlan((*closing, f"move {name} from {source} to {target}", *opening, *gone), operation=operation)


def _refused(tree: VolcanoQueueTree, name: str, *going_on: OperationKind, top: bool = False) -> OperationPlan | None:
    """A plan with the reasons to refuse any request; None if there are none.

    `going_on`: the recorded operations that the request continues.
    `top`: whether the request may be for root.
    """
    queue = tree.queues.get(name)
    if queue is None:
        return OperationPlan(refusals=(f"queue {name} does not exist",))
    if name == TOP and not top:
        return OperationPlan(refusals=(f"{TOP} is always open, and has no parent",))
    operation = read_operation(queue.operation)
    if operation is not None and going_on and operation.kind not in going_on:
        said = "is paused; resume it first" if operation.is_paused else f"is being changed: {operation.kind}"
        return OperationPlan(refusals=(f"{name} {said}",))
    return None


def _parted(tree: VolcanoQueueTree, name: str, operation: QueueOperation) -> tuple[dict[str, None], list[str]]:
    """The recorded open queues that are still in the subtree, and a line for each of the others."""
    below = set(tree.subtree(name))
    opened = dict.fromkeys(each for each in operation.open if each in below)
    return opened, [f"{each} is no longer below {name}" for each in operation.open if each not in below]


def _after_work(tree: VolcanoQueueTree, name: str) -> str:
    """The condition for deleting a queue with PodGroups, in words; empty if it has none."""
    held = tree.pod_groups(name)
    return f" once its {held} PodGroup{'s are' if held > 1 else ' is'} gone" if held else ""


def _closing(tree: VolcanoQueueTree, name: str) -> Iterator[str]:
    """The queues at and below `name` that are not closed yet, children first."""
    return (each for each in reversed(tree.subtree(name)) if tree.queues[each].state not in SHUT)


def _opening(tree: VolcanoQueueTree, name: str) -> Iterator[str]:
    """Which descendants open with the queue and which do not, in words."""
    for child in tree.children(name):
        queue = tree.queues[child]
        if queue.closed_by_parent:
            yield f"open {child}"
            yield from _opening(tree, child)
        elif queue.state in SHUT:
            yield f"{child} stays closed: its parent did not close it"


def objections(tree: VolcanoQueueTree, name: str, source: str, target: str, configuration: Configuration) -> list[str]:
    """The findings against the move of a queue from one parent to another, as sentences; empty if it may move.

    The move is judged as a change from `source` to `target`, even if the queue is below `target` already. So the move
    can be checked again after the step. Violations that the move does not make worse do not count.
    """
    judged = [queue.judged for queue in tree.queues.values() if queue.judged is not None]
    here = next((queue for queue in judged if queue.name == name), None)
    if here is None:
        return [f"queue {name} does not exist"]
    before, after = (replace(here, parent=queue_ref(up), written_parent=up) for up in (source, target))
    forest = Forest.of((before if queue is here else queue for queue in judged), known=[QUEUE])
    verdict = evaluate(propose(forest, [Change(before, after)], configuration))
    found = [f"{each.finding.message} [{each.rule.id}]" for each in verdict.of(Severity.ERROR)]
    return found or [*_work_in_parent(tree, name, target), *_over_capability(tree, here, source, target)]


def _work_in_parent(tree: VolcanoQueueTree, name: str, target: str) -> list[str]:
    """Why the target cannot be a parent: it has work, and Volcano's scheduler stops if a parent queue has work."""
    held = 0 if target == TOP else tree.pod_groups(target)
    others = [child for child in tree.children(target) if child != name]
    if not held or others:
        return []
    number = "a PodGroup is" if held == 1 else f"{held} PodGroups are"
    return [f"{number} in queue {target}, and a queue with children takes no work [parent-with-workloads]"]


def _over_capability(tree: VolcanoQueueTree, queue: Queue, source: str, target: str) -> list[str]:
    """Why the allocated amounts of the queue do not fit below the new parent, beside those of its descendants."""
    held = tree.queues[queue.name].allocated
    counted = {source, *islice(tree.ancestors(source), _MAX_LEVELS)}
    found = []
    for name in (target, *islice(tree.ancestors(target), _MAX_LEVELS)):
        above = tree.queues.get(name)
        if name == TOP or name in counted or above is None or above.judged is None:
            continue
        for resource, limit in above.judged.enforced().items():
            more = held.get(resource, Quantity.ZERO)
            inside = above.allocated.get(resource, Quantity.ZERO)
            moved = tree.queues[queue.name].parent == target
            total = inside if moved else inside + more
            if more.nano and total > limit:
                found.append(
                    f"{resource}={more} runs in queue {queue.name}; with it queue {name} would hold {total}, and its"
                    f" capability is {limit.text}"
                )
    return found
