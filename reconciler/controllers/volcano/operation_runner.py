"""Runs an operation that a user requests on a queue, step by step, while any controller may manage the queues.

Commands open and close queues; Volcano's controller executes them, and so does ours. The record of an operation is
written before its first step. If the same command is run again, it continues the operation.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from cluster.actions import Create, Delete
from cluster.apply import perform
from cluster.client import ClusterClient
from cluster.errors import ApiError, ClusterError, Conflict, NotFound
from policies.configuration.settings import Configuration
from reconciler.controllers.volcano.contents import Contents
from reconciler.controllers.volcano.kinds import BUS, COMMANDS, POD_GROUP, QUEUES
from reconciler.controllers.volcano.operating import checked_steps, follow_patch, stay_patch
from reconciler.controllers.volcano.queue_writers import FIELD_MANAGER
from reconciler.controllers.volcano.queue_writes import parent_patch, record_patch
from reconciler.objects.stored import Stored, read_stored
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
    awaited,
    read_operation,
)
from scheduling.volcano_queues.queue_object import OPERATION, QueueObject, read_queue_object
from scheduling.volcano_queues.states import SHUT, QueueAction, VolcanoQueueState
from scheduling.volcano_queues.tree import VolcanoQueueTree

_POLL_SECONDS = 0.3
"""Seconds between two checks of a controller's progress."""
_PROMPT = 3.0
"""Seconds within which a controller usually executes a Command. After that the wait is reported."""
_REACHED = {QueueAction.CLOSE: SHUT, QueueAction.OPEN: frozenset([VolcanoQueueState.OPEN])}
"""The states that show that an action was executed, by action."""
_CONTROLLERS = "Volcano's controller, or quotree serve reconciler with the dialect volcano"


class CommandIgnored(ClusterError):
    """No controller executes the Commands."""


class OperationRunner:
    """Runs operations from the command line.

    `namespace`: where Commands are created.
    `longest`: seconds without progress after which the operation gives up.
    `begun`: called with a description of each step.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        configuration: Configuration,
        namespace: str,
        longest: float,
        begun: Callable[[str], object],
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._configuration = configuration
        self._namespace = namespace
        self._longest = longest
        self._begun = begun
        self._sleep = sleep
        self._clock = clock
        self._stored: Mapping[str, Stored] = {}
        self._reported = False

    def read(self, *, work: bool = True) -> VolcanoQueueTree:
        """All queues as they are stored now. `work`: whether to read the PodGroups in them, too."""
        tree, stored = VolcanoQueueTree(), {}
        contents = Contents(tree)
        for manifest in self._cluster.list(QUEUES):
            queue = read_queue_object(manifest)
            tree.put(queue)
            stored[queue.name] = read_stored(manifest)
        for manifest in self._cluster.list(POD_GROUP.resource) if work else ():
            observed = POD_GROUP.observed(manifest)
            contents.put_group(observed.key[1], observed.value)
        self._stored = stored
        return tree

    def command(self, queue: QueueObject, action: QueueAction) -> None:
        """Create a Command, and wait until a controller has executed it.

        Volcano's controller deletes a Command before it acts, so only the state shows that the Command was executed. If
        the queue was closed with its parent, a Command to close it changes nothing. So the annotation that marks it as
        closed by its parent is removed here.
        """
        since = self._clock()
        name = self.give(queue, action)
        with suppress(NotFound):
            while self._cluster.get(COMMANDS.item(name, self._namespace)):
                self._check(since, f"{action} of {queue.name}")
                self._sleep(_POLL_SECONDS)
        with suppress(NotFound):
            while not self._reached(queue.name, action):
                if self._clock() - since > self._longest:
                    state = read_queue_object(self._cluster.get(QUEUES.item(queue.name))).state or "without a state"
                    raise CommandIgnored(
                        f"a controller took the Command, but queue {queue.name} is still {state} after"
                        f" {self._longest:g} s. Look at the Events of the queue and at the log of the controller"
                    )
                self._sleep(_POLL_SECONDS)

    def _reached(self, name: str, action: QueueAction) -> bool:
        manifest = self._cluster.get(QUEUES.item(name))
        queue = read_queue_object(manifest)
        if queue.state not in _REACHED[action]:
            return False
        if action is QueueAction.CLOSE and queue.closed_by_parent:
            with suppress(Conflict):  # the next read shows whether the annotation is still there
                perform(self._cluster, stay_patch(queue, read_stored(manifest)))
            return False
        return True

    def carry_out(self, name: str, operation: QueueOperation, planned: VolcanoQueueTree) -> QueueOperation | None:
        """Record the operation and run its remaining steps. Returns the last record. Completed steps are not reverted.

        `planned`: the queues as `read` returned them last, from which the operation was planned.

        Raises CommandIgnored if there is no progress, Conflict if another operation was recorded since `planned`, and
        other ClusterErrors.
        """
        self._record(name, operation, planned.queues.get(name))
        before: list[Step] = []
        done: set[Step] = set()
        since = self._clock()
        while True:
            tree = self.read(work=operation.kind in (OperationKind.MOVE, OperationKind.DELETE))
            queue = tree.queues.get(name)
            recorded = read_operation(queue.operation) if queue is not None else None
            if recorded is None or recorded.is_paused:
                return recorded
            steps = checked_steps(tree, name, recorded, self._configuration)
            if steps != before:
                before, since = steps, self._clock()
            elif done.issuperset(steps):
                self._check(since, _next_steps(steps, name), awaited(tree, name, recorded))
                # Each check may list all PodGroups, so the checks become rarer the longer the wait is.
                self._sleep(max(_POLL_SECONDS, (self._clock() - since) / 10))
            for step in (each for each in steps if each not in done):
                with suppress(Conflict, NotFound):  # the queue has changed or is gone, so compute the steps again
                    try:
                        self._execute(step, tree)
                    except (Conflict, NotFound):
                        raise
                    except ApiError:
                        # The cache of Volcano's webhook may still have the deleted children.
                        if not isinstance(step, Remove) or self._clock() - since > _PROMPT:
                            raise
                        self._sleep(_POLL_SECONDS)
                    else:
                        done.add(step)

    def _record(self, name: str, operation: QueueOperation, queue: QueueObject | None) -> None:
        """Write the record, unless it is stored already. Raises Conflict if another operation was recorded meanwhile.

        If a controller writes the queue's status at the same time, the write is tried again.
        """
        while queue is not None and read_operation(queue.operation) != operation:
            try:
                perform(self._cluster, record_patch(name, self._stored[name], operation.text()))
                return
            except Conflict:
                before, queue = queue.operation, self.read(work=False).queues.get(name)
                if queue is not None and queue.operation != before and read_operation(queue.operation) != operation:
                    raise

    def _execute(self, step: Step, tree: VolcanoQueueTree) -> None:
        if not isinstance(step, OperationRecord):
            self._begun(step_text(step))
        stored = self._stored[step.queue]
        match step:
            case Close(queue):
                self.give(tree.queues[queue], QueueAction.CLOSE, step=True)
            case Open(queue):
                self.give(tree.queues[queue], QueueAction.OPEN, step=True)
            case Follow(queue):
                perform(self._cluster, follow_patch(tree.queues[queue], stored))
            case Reparent(queue, parent):
                perform(self._cluster, parent_patch(queue, stored, parent))
            case Remove(queue):
                perform(self._cluster, Delete(QUEUES, None, queue, resource_version=stored.version))
            case OperationRecord(queue, operation):
                text = operation.text() if operation is not None else None
                perform(self._cluster, record_patch(queue, stored, text))

    def give(self, queue: QueueObject, action: QueueAction, *, step: bool = False) -> str:
        """Create a Command and return its name. A Command that a crashed run has left is reused.

        `step`: the Command belongs to an operation. Our controller runs an operation from its record, and skips its
            Commands.
        """
        digest = hashlib.sha256(queue.name.encode()).hexdigest()[:8]
        name = f"{queue.name[:200].rstrip('.')}-{'step-' if step else ''}{action.lower()}-{digest}"
        notes = {"annotations": {OPERATION: "step"}} if step else {}
        target = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": queue.name, "uid": queue.uid}
        body = {
            "apiVersion": f"{BUS}/v1alpha1",
            "kind": "Command",
            "metadata": {"name": name, "namespace": self._namespace, "ownerReferences": [target], **notes},
            "action": action.value,
            "target": target,
        }
        try:
            perform(self._cluster, Create(COMMANDS, body, FIELD_MANAGER))
        except NotFound as error:  # not suppressed like that of a queue: the same step would be tried for ever
            raise CommandIgnored(f"no Command can be created in namespace {self._namespace}: {error}") from error
        except Conflict:
            pass
        return name

    def _check(self, since: float, what: str, awaited_work: str = "") -> None:
        """Raise CommandIgnored if it is of no use to wait any longer.

        A controller sets the state of every queue at once. So if no queue has a state, there is no controller.

        `awaited_work`: work in a queue that the operation waits for, as a sentence; no controller can end that wait.
        """
        waited = self._clock() - since
        left = f"Its Commands stay in namespace {self._namespace}; run the same command again to continue"
        if awaited_work:
            if waited > self._longest:
                raise CommandIgnored(f"waited {self._longest:g} s. {awaited_work}. {left}")
            return
        if waited > _PROMPT and not self._reported:
            self._reported = True
            if not any(queue.state for queue in self.read(work=False).queues.values()):
                raise CommandIgnored(
                    f"no controller executes {what}: no queue has a state, so no controller manages queues here. Start"
                    f" {_CONTROLLERS}. {left}"
                )
            self._begun(f"waiting up to {self._longest:g} s for {_CONTROLLERS}")
        if waited > self._longest:
            raise CommandIgnored(
                f"waited {self._longest:g} s for {what}: no controller executed it. Check that one runs:"
                f" {_CONTROLLERS}. {left}"
            )


def step_text(step: Step) -> str:
    match step:
        case Close(queue):
            return f"close {queue}"
        case Open(queue):
            return f"open {queue}"
        case Follow(queue):
            return f"{queue} follows its parent"
        case Reparent(queue, parent):
            return f"move {queue} to {parent}"
        case Remove(queue):
            return f"delete {queue}"
        case OperationRecord(queue):
            return f"the record of {queue}"


def _next_steps(steps: Sequence[Step], name: str) -> str:
    """A description of the next steps. If there are none, a finalizer delays the deletion of queues."""
    return ", ".join(map(step_text, steps)) or f"the deletion of queues in {name}"
