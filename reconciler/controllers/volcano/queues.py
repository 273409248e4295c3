"""Manages Volcano's queues: their state, Commands, counts, finalizers and operations.

Each queue has at most one write in flight. The write is computed from the stored queue, and is bound to its version. To
close a queue, its annotation is written before its state; to open it, the state is written first. A Command is deleted
last. The counts of a queue are written at most once a second. While Volcano's own controller runs, nothing is written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from cluster.actions import Delete
from policies.configuration.settings import Configuration
from policies.dialects.volcano import BROKEN_SUMS, BUILT_IN, DELETE_CHILDREN
from policies.dialects.volcano_programs import VC_CONTROLLER, VC_SCHEDULER
from reconciler.controllers.volcano.contents import Commands, Contents
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
from reconciler.controllers.volcano.peers import FOREVER, VolcanoProgram
from reconciler.controllers.volcano.queue_writers import QueueWriters
from reconciler.controllers.volcano.queue_writes import counts_patch, delete_command, metadata_patch, state_patch
from reconciler.controllers.volcano.root import ROOT_PERIOD, RootAmounts
from reconciler.core.commands import ReadObject
from reconciler.core.controller import Busy, Controller, WaitFor, WakeAt, Wanted
from reconciler.objects.observed import Key, Observed
from reconciler.objects.stored import Stored
from reconciler.objects.wanted import ObjectReference, WantedWrite, refer
from reconciler.objects.watched import WatchedKind
from scheduling.objects.times import SECOND
from scheduling.volcano.gates.gate_queues import BROKEN_TREE, broken_sum
from scheduling.volcano.queues import QueueAccounts
from scheduling.volcano_queues.operations import deletable
from scheduling.volcano_queues.queue_object import TOP, QueueObject
from scheduling.volcano_queues.states import QueueAction, VolcanoQueueState, WantedQueue
from scheduling.volcano_queues.tree import VolcanoQueueTree

log = logging.getLogger(__name__)
COUNTS_PERIOD = SECOND
"""The shortest time in nanoseconds between two writes of one queue's counts."""
_LEASE: Key = (MANAGER.kind, "")
_STOP = (
    "stop Volcano's queue controller, list vc-controller-manager in reconciler.replaces, and restart this process"
    " (docs/volcano.md)"
)


class VolcanoQueuesController(Controller):
    """Manages Volcano's queues.

    `look`: returns the fields of the stored queue that writes need; None if the queue does not exist.
    `configuration`: the settings that moves are checked against.

    Private state, by the name of the queue:
    `_holds_state`: the queues whose `status.state` belongs to a patch of an earlier version of this reconciler.
    `_counts_due`: when the counts may be written again, in nanoseconds.
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
        settings = configuration.volcano
        self._sums = TreeSums(root_from_nodes=settings.root_from_nodes) if settings.checks_sums else None
        if self._sums is not None:
            self.watched = (*self.watched, GATED_QUEUE)
        self._holds_state: dict[str, None] = {}
        self._due: dict[str, None] = {}
        self._counts_due: dict[str, int] = {}
        self._root_due = 0

    # --- observed changes

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
        self._holds_state.pop(name, None)
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
            self._holds_state[name] = self._due[name] = None

    def _observe_queue(self, name: str, queue: QueueObject | None) -> None:
        self._operating.observe(name, queue)
        if queue is not None:
            self.tree.put(queue)
            if queue.takes_children:
                self._due.update(dict.fromkeys(self.tree.subtree(name)))
        else:
            self.tree.drop(name)
            self._counts_due.pop(name, None)
            self._due[name] = None  # the Commands of a queue that is gone are deleted, too

    def found(self, observed: Observed[object]) -> None:
        self.gone(observed.key)

    def gone(self, key: Key) -> None:
        """The API server has answered whether the queue exists. If it does, it is visible now."""
        if key[0] == QUEUE.kind:
            self._commands.answered(key[1])
            self._due[key[1]] = None

    def wake(self, item: Key) -> None:
        if item[0] == QUEUE.kind:
            self._due[item[1]] = None

    # --- writes

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        until = self._manager.runs_until(now)
        self._report_obstacle(self._manager.sign(now) if until > now else "")
        if until > now:
            if until < FOREVER:
                yield WakeAt(_LEASE, until)
            return
        if self._sums is not None and self._sums.changed():
            self._due.update(dict.fromkeys(self.tree.queues))
        due = dict.fromkeys([*self._due, *self.tree.take_touched()])
        if self._root is not None and TOP not in self.tree.queues:
            due[TOP] = None
        self._due = {}
        actions: dict[str, QueueAction] = {}
        if due:  # without a change the recorded operations have no next steps either
            yield from self._operate(actions, busy)
        for name in dict.fromkeys([*due, *actions]):
            if busy(QUEUE.kind, name):
                yield WaitFor((QUEUE.kind, name), (QUEUE.kind, name))
            else:
                yield from self._reconcile_queue(name, actions.get(name, QueueAction.SYNC), busy, now)

    def _operate(self, actions: dict[str, QueueAction], busy: Busy) -> Iterator[Wanted]:
        """Continue the recorded operations.

        `actions`: filled with the actions that operations need, by queue.
        """
        for step in self._operating.steps():
            if isinstance(step, WantedOperation):
                actions[step.queue] = step.action
            elif busy(QUEUE.kind, step.name):
                yield WaitFor((QUEUE.kind, step.name), (QUEUE.kind, step.name))
            elif (stored := self._look(step.name)) is not None:
                yield from _write_and_wait(WantedWrite((QUEUE.kind, step.name), step.patch(stored)))

    def _reconcile_queue(self, name: str, action: QueueAction, busy: Busy, now: int) -> Iterator[Wanted]:
        stored, queue = self._look(name), self.tree.queues.get(name)
        if name == TOP and self._root is not None and (root_write := self._root.write(queue, stored)) is not None:
            if self._root_due <= now:
                self._root_due = now + ROOT_PERIOD
                yield from _write_and_wait(WantedWrite((QUEUE.kind, TOP), root_write))
                return
            yield WakeAt((QUEUE.kind, TOP), self._root_due)
        commands = []
        for command in self._commands.of(name):
            if command.value.step:  # the steps of an operation are computed from its record
                yield from _drop_command(command, busy)
            else:
                commands.append(command)
        if self._commands.ask(queue, commands):
            yield ReadObject((QUEUE.kind, name))
            yield WaitFor((QUEUE.kind, name), (QUEUE.kind, name))
            return
        if stored is None or queue is None:
            for command in commands:
                yield from _drop_command(command, busy)
            return
        work = bool(self.tree.pod_groups(name)) or not self.tree.settled_below(name)
        order = next_order(self.tree, queue, commands, action, now, work=work, opening=self._ancestor_will_open(name))
        if order.refused:
            yield from _drop_command(commands[0], busy, queue, order.refused)
        if order.again:
            yield WakeAt((QUEUE.kind, name), order.again)
        if write := self._state_or_metadata_write(queue, stored, order.wanted):
            yield from _write_and_wait(write)
            return
        if order.done is not None:
            yield from _drop_command(order.done, busy)
        if (ancestor := self._deleting_ancestor(name)) and deletable(self.tree, name):
            yield from _write_and_wait(_delete_queue(queue, stored, ancestor))
            return
        yield from self._counts_write(queue, stored, now)

    def _deleting_ancestor(self, name: str) -> str:
        """The nearest ancestor that is being deleted together with its descendants; empty for none."""
        queues = self.tree.queues
        return next((each for each in self.tree.ancestors(name) if each in queues and queues[each].takes_children), "")

    def _ancestor_will_open(self, name: str) -> bool:
        """Whether an ancestor has a Command to open."""
        return any(
            command.value.action == QueueAction.OPEN
            for ancestor in self.tree.ancestors(name)
            for command in self._commands.of(ancestor)
        )

    def _state_or_metadata_write(self, queue: QueueObject, stored: Stored, wanted: WantedQueue) -> WantedWrite | None:
        """The next write of the state or of the metadata; None if neither has to change."""
        broken = self._sums.broken if self._sums is not None else ""
        meta = metadata_patch(
            queue,
            stored,
            closed_by_parent=wanted.closed_by_parent,
            guarded=self._needs_finalizer(queue),
            root=queue.name != TOP,
            broken=broken,
        )
        state = state_patch(queue, stored, wanted.state, holds_state=queue.name in self._holds_state)
        first = state if state and wanted.state is VolcanoQueueState.OPEN else meta or state
        if first is None:
            return None
        if first is meta and broken and broken != stored.annotations.get(BROKEN_SUMS):
            message = f"The quota of a queue does not cover its children: {broken}"
            return WantedWrite((QUEUE.kind, queue.name), first, reference(queue), BROKEN_TREE, message, warning=True)
        changes = first is state and wanted.state != queue.state
        about = reference(queue) if queue.state and changes else None
        return WantedWrite(
            (QUEUE.kind, queue.name), first, about, f"Queue{wanted.state}", _state_message(queue, wanted)
        )

    def _counts_write(self, queue: QueueObject, stored: Stored, now: int) -> Iterator[Wanted]:
        """The next write of the counts, if they have changed, or the time of the next look."""
        key, scheduler_until = (QUEUE.kind, queue.name), self._scheduler.runs_until(now)
        counts = counts_patch(queue, stored, self.tree.sums(queue.name), allocates=scheduler_until > now)
        if now < scheduler_until < FOREVER:
            yield WakeAt(key, scheduler_until)
        due = self._counts_due.get(queue.name, 0)
        if counts is not None and due > now:
            yield WakeAt(key, due)
        elif counts is not None:
            self._counts_due[queue.name] = now + COUNTS_PERIOD
            yield from _write_and_wait(WantedWrite(key, counts))

    def _needs_finalizer(self, queue: QueueObject) -> bool:
        """Whether the queue should have the finalizer.

        The finalizer is removed when the queue is closed, empty and without children.
        """
        if queue.name in BUILT_IN:
            return False
        if not queue.deleting:
            return True
        empty = not self.tree.pod_groups(queue.name) and not self.tree.children(queue.name)
        return queue.guarded and not (queue.state == VolcanoQueueState.CLOSED and empty)

    def _report_obstacle(self, sign: str) -> None:
        """Set the obstacle, and log when it begins and when it ends.

        `sign`: what shows that Volcano's controller runs; empty if it does not run.
        """
        before, self.obstacle = self.obstacle, f"{sign}, so Volcano's queues are not written; {_STOP}" if sign else ""
        if sign and not before:
            log.error("%s", self.obstacle)
        elif before and not sign:
            log.warning("Volcano's controller does not run any more; this process manages its queues")


def _write_and_wait(write: WantedWrite) -> Iterator[Wanted]:
    """The write. After it the controller looks at the queue again."""
    yield write
    yield WaitFor(write.key, write.key)


def reference(queue: QueueObject) -> ObjectReference | None:
    return refer("scheduling.volcano.sh/v1beta1", "Queue", queue.name, queue.uid)


def _state_message(queue: QueueObject, wanted: WantedQueue) -> str:
    if wanted.closed_by_parent:
        return f"The queue is {wanted.state}, because its parent {queue.parent} is closed"
    return f"The queue is {wanted.state}"


def _delete_queue(queue: QueueObject, stored: Stored, ancestor: str) -> WantedWrite:
    message = f"The queue is deleted with {ancestor}, which has the annotation {DELETE_CHILDREN}"
    action = Delete(QUEUES, None, queue.name, resource_version=stored.version)
    return WantedWrite((QUEUE.kind, queue.name), action, reference(queue), "QueueDeleted", message)


def _drop_command(
    command: Observed[CommandObject], busy: Busy, queue: QueueObject | None = None, refused: str = ""
) -> Iterator[Wanted]:
    """Delete a Command that was executed or refused.

    `queue`, `refused`: the reason for a refusal, and the queue on which an Event reports it.
    """
    if busy(*command.key):
        yield WaitFor((QUEUE.kind, command.value.queue), command.key)
        return
    about = reference(queue) if queue is not None and refused else None
    message = f"Command {command.value.action} is dropped: {refused}"
    yield WantedWrite(command.key, delete_command(command), about, "CommandRefused", message, warning=True)


class TreeSums:
    """Whether a tree of queues is stopped as a whole, because the children of a queue are promised more than it has.

    `root_from_nodes`: whether the capability of root is the sum of the Nodes. Then root's sums are not checked.
    """

    def __init__(self, *, root_from_nodes: bool) -> None:
        self._root_from_nodes = root_from_nodes
        self._queues = QueueAccounts(nodes=False)
        self._outdated = False
        self.broken = ""
        """The first queue that has less than its children are promised, with the amounts; empty if there is none."""

    def observe(self, observed: Observed[object]) -> None:
        name, queue = observed.key[1], GATED_QUEUE.value(observed)
        before = self._queues.get(name)
        if queue is not None and (before is None or before.settings != queue.settings):
            self._queues.put(queue.settings)
            self._outdated = True
        elif queue is None and before is not None:
            self._queues.drop(name)
            self._outdated = True

    def changed(self) -> bool:
        """Check the sums again. Returns whether `broken` has changed."""
        if not self._outdated:
            return False
        self._outdated = False
        wrong = broken_sum(self._queues, root_from_nodes=self._root_from_nodes)
        before, self.broken = self.broken, f"queue {wrong[0]}: {wrong[1]}" if wrong is not None else ""
        return self.broken != before
