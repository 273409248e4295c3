"""Manages Volcano's queues: their state, Commands, counts, finalizers and operations.

Each queue has at most one write in flight, bound to the version that the decision used, and computed from the stored
queue. When a queue closes the annotation is written before the state, when it opens after the state. A Command is
deleted last. Counts of one queue are written at most once a second. While Volcano's own controller runs, nothing is
written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from cluster.actions import Delete
from policies.configuration.settings import Configuration
from policies.dialects.volcano import BROKEN_SUMS, BUILT_IN, DELETE_CHILDREN
from policies.dialects.volcano_programs import VC_CONTROLLER, VC_SCHEDULER
from reconciler.controllers.volcano.commands import Commands
from reconciler.controllers.volcano.contents import Contents
from reconciler.controllers.volcano.gate_kinds import GATED_QUEUE
from reconciler.controllers.volcano.kinds import (
    BOUND_POD,
    COMMAND,
    MANAGER,
    NODE_AMOUNTS,
    POD_GROUP,
    PROGRAM,
    QUEUE,
    QUEUES,
    SCHEDULER,
    WATCHED,
    WRITERS,
    CommandObject,
)
from reconciler.controllers.volcano.operating import Operating
from reconciler.controllers.volcano.orders import WantedOperation, next_order
from reconciler.controllers.volcano.peers import ALWAYS, VolcanoProgram
from reconciler.controllers.volcano.queue_writers import QueueWriters
from reconciler.controllers.volcano.queue_writes import command_gone, counts_patch, metadata_patch, state_patch
from reconciler.controllers.volcano.root import ROOT_PERIOD, RootAmounts
from reconciler.controllers.volcano.tree_sums import TreeSums
from reconciler.core.controller import Busy, Controller, WaitFor, WakeAt, Wanted
from reconciler.objects.observed import Key, Observed
from reconciler.objects.stored import Stored
from reconciler.objects.wanted import ObjectReference, WantedWrite, refer
from reconciler.objects.watched import WatchedKind
from scheduling.objects.times import SECOND
from scheduling.volcano.gates.gate_queues import BROKEN_TREE
from scheduling.volcano_queues.life import WantedQueue as Wish
from scheduling.volcano_queues.operations import deletable
from scheduling.volcano_queues.queue_object import TOP, QueueObject
from scheduling.volcano_queues.states import QueueAction, VolcanoQueueState
from scheduling.volcano_queues.tree import VolcanoQueueTree

log = logging.getLogger(__name__)
PERIOD = SECOND
"""The shortest interval in nanoseconds between two writes of one queue's counts."""
_LEASE: Key = (MANAGER.kind, "")
_STOP = (
    "stop Volcano's queue controller, list vc-controller-manager in reconciler.replaces, and restart this process"
    " (docs/volcano.md)"
)


class VolcanoQueuesController(Controller):
    """Manages queues.

    `look`: returns what is kept of a queue for writes; None if the queue does not exist.
    `configuration`: the settings that moves are checked against.
    """

    watched: tuple[WatchedKind[object], ...] = WATCHED

    def __init__(self, look: Callable[[str], Stored | None], configuration: Configuration) -> None:
        self.tree = VolcanoQueueTree()
        self._look = look
        self._contents = Contents(self.tree)
        self._commands = Commands()
        self._operating = Operating(self.tree, configuration)
        replaced = configuration.reconciler.replaces
        self._manager, self._scheduler = (
            VolcanoProgram(name, replaced=name in replaced) for name in (VC_CONTROLLER, VC_SCHEDULER)
        )
        self._root = RootAmounts() if configuration.volcano.root_from_nodes else None
        if self._root is not None:
            self.watched = (*self.watched, NODE_AMOUNTS)
        rooted = configuration.volcano.root_from_nodes
        self._sums = TreeSums(root_from_nodes=rooted) if configuration.volcano.checks_sums else None
        if self._sums is not None:
            self.watched = (*self.watched, GATED_QUEUE)
        self._held: dict[str, None] = {}
        self._due: dict[str, None] = {}
        self._counted: dict[str, int] = {}
        self._root_written = 0

    # --- what is observed

    def observe(self, observed: Observed[object]) -> None:
        kind, key = observed.key
        if kind == QUEUE.kind:
            self._observe_queue(key, QUEUE.value(observed))
        elif kind == POD_GROUP.kind:
            self._contents.put_group(key, POD_GROUP.value(observed))
        elif kind == BOUND_POD.kind:
            self._contents.put_pod(key, BOUND_POD.value(observed))
        elif kind == COMMAND.kind:
            if queue := self._commands.put(key, COMMAND.of(observed)):
                self._due.update(dict.fromkeys([queue, *self.tree.children(queue)]))
        elif kind == WRITERS.kind:
            self._observe_writers(key, WRITERS.value(observed))
        elif kind == PROGRAM.kind:
            for program in (self._manager, self._scheduler):
                program.observe_pod(key, runs=PROGRAM.value(observed) == program.name)
        elif kind == NODE_AMOUNTS.kind and self._root is not None:
            self._root.observe_node(observed)
            self._due[TOP] = None
        elif kind == GATED_QUEUE.kind and self._sums is not None:
            self._sums.observe(observed)
        elif kind == MANAGER.kind:
            self._manager.leases.observe(key, MANAGER.value(observed))
        elif kind == SCHEDULER.kind:
            self._scheduler.leases.observe(key, SCHEDULER.value(observed))

    def _observe_writers(self, name: str, writers: QueueWriters | None) -> None:
        self._held.pop(name, None)
        if name == TOP and self._root is not None:
            self._root.observe_writers(writers)
            self._due[TOP] = None
        if writers is None:
            self._manager.drop_queue(name)
            self._scheduler.drop_queue(name)
            return
        self._manager.observe_write(name, writers.controller, writers.ours)
        self._scheduler.observe_write(name, writers.scheduler)
        if writers.holds_state:
            self._held[name] = self._due[name] = None

    def _observe_queue(self, name: str, queue: QueueObject | None) -> None:
        self._operating.observe(name, queue)
        if queue is not None:
            self.tree.put(queue)
            if queue.takes_children:
                self._due.update(dict.fromkeys(self.tree.subtree(name)))
        else:
            self.tree.drop(name)
            self._counted.pop(name, None)
            self._due[name] = None  # its Commands go, too

    def wake(self, item: Key) -> None:
        if item[0] == QUEUE.kind:
            self._due[item[1]] = None

    # --- what is wanted

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        until = self._manager.runs_until(now)
        self._report(self._manager.sign(now) if until > now else "")
        if until > now:
            if until < ALWAYS:
                yield WakeAt(_LEASE, until)
            return
        if self._sums is not None and self._sums.changed():
            self._due.update(dict.fromkeys(self.tree.queues))
        due = dict.fromkeys([*self._due, *self.tree.take_touched()])
        if self._root is not None and TOP not in self.tree.queues:
            due[TOP] = None
        self._due = {}
        orders: dict[str, QueueAction] = {}
        if due:  # else nothing is new to what is under way either
            yield from self._operate(orders, busy)
        for name in dict.fromkeys([*due, *orders]):
            if busy(QUEUE.kind, name):
                yield WaitFor((QUEUE.kind, name), (QUEUE.kind, name))
            else:
                yield from self._one(name, orders.get(name, QueueAction.SYNC), busy, now)

    def _operate(self, orders: dict[str, QueueAction], busy: Busy) -> Iterator[Wanted]:
        """Continue the recorded operations. `orders` receives what single queues have to do for them."""
        for step in self._operating.steps():
            if isinstance(step, WantedOperation):
                orders[step.queue] = step.action
            elif busy(QUEUE.kind, step.name):
                yield WaitFor((QUEUE.kind, step.name), (QUEUE.kind, step.name))
            elif (stored := self._look(step.name)) is not None:
                yield WantedWrite((QUEUE.kind, step.name), step.patch(stored))
                yield WaitFor((QUEUE.kind, step.name), (QUEUE.kind, step.name))

    def _one(self, name: str, ordered: QueueAction, busy: Busy, now: int) -> Iterator[Wanted]:
        stored, queue = self._look(name), self.tree.queues.get(name)
        if name == TOP and self._root is not None and (action := self._root.write(queue, stored)) is not None:
            if self._root_written <= now:
                self._root_written = now + ROOT_PERIOD
                yield WantedWrite((QUEUE.kind, TOP), action)
                yield WaitFor((QUEUE.kind, TOP), (QUEUE.kind, TOP))
                return
            yield WakeAt((QUEUE.kind, TOP), self._root_written)
        commands = self._commands.of(name)
        gone = stored is None or queue is None
        # The steps of an operation follow from its record; a Command for one may be seen when that is over.
        for command in commands:
            if gone or command.value.step:
                yield from _removed(command, busy)
        if stored is None or queue is None:
            return
        commands = [command for command in commands if not command.value.step]
        work = bool(self.tree.pod_groups(name)) or not self.tree.settled_below(name)
        order = next_order(self.tree, queue, commands, ordered, now, work=work, opening=self._opens_above(name))
        if order.refused:
            yield from _removed(commands[0], busy, queue, order.refused)
        if order.again:
            yield WakeAt((QUEUE.kind, name), order.again)
        if write := self._write(queue, stored, order.wish):
            yield write
            yield WaitFor(write.key, write.key)
            return
        if order.done is not None:
            yield from _removed(order.done, busy)
        if (above := self._deleted_with(name)) and deletable(self.tree, name):
            yield _deletion(queue, stored, above)
            yield WaitFor((QUEUE.kind, name), (QUEUE.kind, name))
            return
        yield from self._counts(queue, stored, now)

    def _deleted_with(self, name: str) -> str:
        """The nearest queue above that is being deleted together with its descendants; empty for none."""
        queues = self.tree.queues
        return next((each for each in self.tree.ancestors(name) if each in queues and queues[each].takes_children), "")

    def _opens_above(self, name: str) -> bool:
        """Whether a Command to open waits at a queue above."""
        return any(
            command.value.action == QueueAction.OPEN
            for above in self.tree.ancestors(name)
            for command in self._commands.of(above)
        )

    def _write(self, queue: QueueObject, stored: Stored, wish: Wish) -> WantedWrite | None:
        """The next write of its state or of its metadata."""
        broken = self._sums.broken if self._sums is not None else ""
        meta = metadata_patch(
            queue,
            stored,
            closed_by_parent=wish.closed_by_parent,
            guarded=self._guarded(queue),
            root=queue.name != "root",
            broken=broken,
        )
        state = state_patch(queue, stored, wish.state, held=queue.name in self._held)
        first = state if state and wish.state is VolcanoQueueState.OPEN else meta or state
        if first is None:
            return None
        if first is meta and broken and broken != stored.annotations.get(BROKEN_SUMS):
            message = f"The quota of a queue does not cover its children: {broken}"
            return WantedWrite((QUEUE.kind, queue.name), first, reference(queue), BROKEN_TREE, message, warning=True)
        changes = first is state and wish.state != queue.state
        about = reference(queue) if queue.state and changes else None
        return WantedWrite((QUEUE.kind, queue.name), first, about, f"Queue{wish.state}", _why(queue, wish))

    def _counts(self, queue: QueueObject, stored: Stored, now: int) -> Iterator[Wanted]:
        """The next write of its counts, if any, and when to look at them again."""
        key, scheduler = (QUEUE.kind, queue.name), self._scheduler.runs_until(now)
        counts = counts_patch(queue, stored, self.tree.sums(queue.name), allocates=scheduler > now)
        if now < scheduler < ALWAYS:
            yield WakeAt(key, scheduler)
        until = self._counted.get(queue.name, 0)
        if counts is not None and until > now:
            yield WakeAt(key, until)
        elif counts is not None:
            self._counted[queue.name] = now + PERIOD
            yield WantedWrite(key, counts)
            yield WaitFor(key, key)

    def _guarded(self, queue: QueueObject) -> bool:
        """Whether the queue should have the finalizer.

        It is removed when the queue is closed, empty and without children.
        """
        if queue.name in BUILT_IN:
            return False
        if not queue.deleting:
            return True
        empty = not self.tree.pod_groups(queue.name) and not self.tree.children(queue.name)
        return queue.guarded and not (queue.state == VolcanoQueueState.CLOSED and empty)

    def _report(self, sign: str) -> None:
        """Log who keeps this process from writing. `sign`: what shows that Volcano's controller runs; empty if not."""
        before, self.obstacle = self.obstacle, f"{sign}, so Volcano's queues are not written; {_STOP}" if sign else ""
        if sign and not before:
            log.error("%s", self.obstacle)
        elif before and not sign:
            log.warning("Volcano's controller does not run any more; this process manages its queues")


def reference(queue: QueueObject) -> ObjectReference | None:
    return refer("scheduling.volcano.sh/v1beta1", "Queue", queue.name, queue.uid)


def _why(queue: QueueObject, wish: Wish) -> str:
    if wish.closed_by_parent:
        return f"The queue is {wish.state}, because its parent {queue.parent} is closed"
    return f"The queue is {wish.state}"


def _deletion(queue: QueueObject, stored: Stored, above: str) -> WantedWrite:
    message = f"The queue is deleted with {above}, which has the annotation {DELETE_CHILDREN}"
    action = Delete(QUEUES, None, queue.name, resource_version=stored.version)
    return WantedWrite((QUEUE.kind, queue.name), action, reference(queue), "QueueDeleted", message)


def _removed(
    command: Observed[CommandObject], busy: Busy, queue: QueueObject | None = None, refused: str = ""
) -> Iterator[Wanted]:
    """Delete a Command that is fulfilled, or that cannot be; an Event reports the latter."""
    if busy(*command.key):
        yield WaitFor((QUEUE.kind, command.value.queue), command.key)
        return
    about = reference(queue) if queue is not None and refused else None
    message = f"Command {command.value.action} is dropped: {refused}"
    yield WantedWrite(command.key, command_gone(command), about, "CommandRefused", message, warning=True)
