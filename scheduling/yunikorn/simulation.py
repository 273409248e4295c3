"""Simulates YuniKorn's queues and applications from manifests: Pods are created and end, and time passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from policies.dialects import yunikorn, yunikorn_flaws
from policies.dialects.reading import Manifest
from policies.dialects.yunikorn_config.dynamic import gang_excess
from policies.dialects.yunikorn_config.model import Partition
from policies.dialects.yunikorn_config.reading import read_config
from policies.dialects.yunikorn_config.resources import YuniKornAmounts, plus
from policies.dialects.yunikorn_config.validation import unusable
from policies.dialects.yunikorn_gangs import BadTaskGroups, TaskGroup, task_groups, together
from policies.impact.quotas import Excess, QuotaPair
from policies.impact.yunikorn_quotas import GROUP, nano
from policies.model.objects import Ref
from scheduling.queue_tree.simulated import PlayedEvent, RunningPods
from scheduling.yunikorn.application import Application
from scheduling.yunikorn.intake import PodRequest, YuniKornIntake
from scheduling.yunikorn.properties import FIFO
from scheduling.yunikorn.queue import YuniKornQueue
from scheduling.yunikorn.scheduler import Allocated, Scheduler
from scheduling.yunikorn.tree import ApplicationTree

_LEAST_STEPS = 1000
_STEPS_EACH = 20
"""After this many decisions for each Pod, and _LEAST_STEPS more, a simulation counts as never settling."""


REJECTED = "ApplicationRejected"
"""The reason that YuniKorn writes on the Pod."""
UNREADABLE_QUOTA = "UnreadableQuota"
UNREADABLE_QUEUES = "UnreadableQueues"
NOBODY = "partitions: [{name: default, queues: [{name: root}]}]"
"""A partition without a leaf, in which nobody may submit."""


class ApplicationRefusal(NamedTuple):
    """Why an application is not in any queue."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class AllocationRan:
    """A Pod, or the placeholders of a gang, were allocated in the queue."""

    at: int
    key: str
    application: str
    queue: str


@dataclass(frozen=True, slots=True)
class PodPreempted:
    """The Pod was preempted for `preemptor` in another queue."""

    at: int
    key: str
    queue: str
    preemptor: str
    preemptor_queue: str


@dataclass(frozen=True, slots=True)
class PodEnded:
    """The Pod ended."""

    at: int
    key: str


Trace: TypeAlias = PlayedEvent | AllocationRan | PodPreempted | PodEnded


class YuniKornSimulation:
    """A simulation of YuniKorn's scheduler.

    strict: an unreadable quota annotation blocks new Pods of its Namespace. YuniKorn takes it for no quota.
    version: of YuniKorn.
    refused: the Pods of applications that are in no queue, with the reason.
    unsettled: whether decisions did not end before the limit.
    faults: why queues.yaml cannot be used.
    """

    def __init__(self, start: int, *, strict: bool = True, version: tuple[int, int] = yunikorn.PRESENT) -> None:
        self.start = self.now = start
        self.strict = strict
        self.intake = YuniKornIntake(version)
        self.trace: list[Trace] = []
        self.refused: dict[str, ApplicationRefusal] = {}
        self.unsettled = False
        self.faults: list[str] = []
        self._loaded = False
        self.scheduler = self._new()

    # --- events

    def announce(self, event: str) -> None:
        self.trace.append(PlayedEvent(self.now, event))

    def change(self, manifests: Iterable[Manifest]) -> None:
        """Add or change objects, in any order. Decisions follow when the caller calls `settle`."""
        every = list(manifests)
        before = self.intake.surroundings
        changes = self.intake.put(every, self.now)
        if self.intake.surroundings != before:
            self._rebuild()
        retried = [self.intake.pods[key] for key in self.refused] if every else []
        for request in {request.key: request for request in (*retried, *changes.new)}.values():
            self._arrive(request)
        for key in changes.bound:
            if key in self.scheduler.owners:
                self.scheduler.bind(key)
        for key in dict.fromkeys(changes.ended):
            self._end(key)

    def drop(self, refs: Iterable[Ref]) -> None:
        """Delete objects, without decisions."""
        before = self.intake.surroundings
        for key in self.intake.drop(refs):
            self._end(key)
        if self.intake.surroundings != before:
            self._rebuild()

    def finish(self, key: str) -> bool:
        """End the Pod `namespace/name`, then settle. Returns False if it does not exist."""
        if key not in self.intake.pods:
            return False
        self._end(key)
        self.settle()
        return True

    def _end(self, key: str) -> None:
        del self.intake.pods[key]
        if self.refused.pop(key, None) is None:
            self.scheduler.remove(key)
        self.trace.append(PodEnded(self.now, key))

    def at(self, moment: int) -> None:
        """Let time pass up to `moment`. Asks whose preemption delay ends before then may preempt at that time."""
        for due in sorted({each for each in self._delays() if self.now < each <= moment}):
            self.now = due
            self.settle()
        self.now = max(self.now, moment)
        self.settle()

    def settle(self) -> None:
        """Decide until nothing changes. Victims stop at once and wait again."""
        for _ in range(_LEAST_STEPS + _STEPS_EACH * len(self.intake.pods)):
            decision = self.scheduler.step(self.now)
            if decision is None:
                return
            self._note(decision)
        self.unsettled = True

    # --- the current state

    @property
    def problems(self) -> list[str]:
        """The faults of its configuration, in words."""
        return [f"queues.yaml cannot be used: {fault}" for fault in self.faults]

    @property
    def has_work(self) -> bool:
        """Whether there are, or were, Pods of YuniKorn."""
        return bool(self.intake.pods) or any(not isinstance(each, PlayedEvent) for each in self.trace)

    def running(self) -> dict[str, RunningPods]:
        """The running pods of each application. Placeholders of a gang count as Pods."""
        every = self.scheduler.applications.values()
        return {
            f"application {each.name}": RunningPods(each.leaf.path, _pods(each)) for each in every if each.allocations
        }

    def excesses(self) -> Iterator[Excess]:
        """Yield the queues that use more than their max, and the Namespaces that use more than their quota."""
        place, _ = self.intake.config()
        for queue in self.scheduler.tree.root.walk():
            if queue.parent is not None and queue.settings.managed:
                ref = Ref(GROUP, "Queue", place, queue.path)
                yield from _excesses(ref, queue.allocated, queue.settings.maximum or {})
        for space, amounts in self.used_by_namespace().items():
            namespace = self.intake.namespaces.get(space)
            if namespace is not None:
                yield from _excesses(namespace.ref, amounts, yunikorn.quota(namespace) or {})

    def used_by_namespace(self) -> dict[str, YuniKornAmounts]:
        """The amounts allocated to the Pods of each Namespace, in all queues."""
        used: dict[str, YuniKornAmounts] = {}
        for key, request in self.intake.pods.items():
            application = self.scheduler.owners.get(key)
            if application is not None and key in application.allocations:
                space = request.pod.ref.namespace
                used[space] = plus(used.get(space, {}), application.allocations[key].amounts)
        return used

    def _delays(self) -> Iterable[int]:
        """Yield the moments at which waiting Pods may begin to preempt."""
        for application in self.scheduler.applications.values():
            for ask in application.pending.values():
                yield ask.created + application.leaf.settings.properties.preemption_delay

    # --- applications

    def _arrive(self, request: PodRequest) -> None:
        key = request.key
        if key in self.scheduler.owners:
            return
        application = self.scheduler.applications.get(request.application)
        if application is None:
            found = self._submitted(request)
            if isinstance(found, ApplicationRefusal):
                self.refused[key] = found
                return
            application = found
        self.refused.pop(key, None)
        if request.running:
            self.scheduler.add_running(application, request.ask)
        else:
            self.scheduler.add(application, request.ask)

    def _submitted(self, request: PodRequest) -> Application | ApplicationRefusal:
        """Submit the application of this first Pod. Returns it, or why it is in no queue."""
        if self.faults and not self._loaded:
            return ApplicationRefusal(UNREADABLE_QUEUES, self.problems[0])
        submission, tree = self.intake.submission(request), self.scheduler.tree
        placement = tree.place(submission)
        if not placement.queue:
            return ApplicationRefusal(REJECTED, "; ".join((placement.reason, *placement.passed)))
        known = tree.queues.get(placement.queue.lower())
        if (known is None or not known.settings.managed) and (flaw := self._flaw(request)):
            return ApplicationRefusal(UNREADABLE_QUOTA, flaw)
        try:
            gang = task_groups(request.annotations) if not request.running else ()
        except BadTaskGroups:  # as in YuniKorn, which schedules the pods without a gang
            gang = ()
        leaf = tree.leaf(placement.queue, submission)
        if gang and (excess := gang_refusal(leaf, gang)):
            self.scheduler.drop_empty(leaf)
            return ApplicationRefusal(REJECTED, excess)
        user, groups, name = submission.user, submission.groups, request.application
        application = Application(name, leaf, user, groups, request.ask.created, gang)
        self.scheduler.submit(application, request.ask)
        return application

    def _flaw(self, request: PodRequest) -> str:
        """Why the quota of the namespace cannot be read; empty if it can, or if the simulation is not strict."""
        namespace = self.intake.namespaces.get(request.pod.ref.namespace)
        flaw = next(yunikorn_flaws.deciding(namespace), None) if namespace is not None and self.strict else None
        return f"{flaw.annotation} of {namespace.ref} cannot be read: {flaw.message}" if flaw and namespace else ""

    def _note(self, decision: Allocated) -> None:
        queue = decision.application.leaf.path
        for victim in decision.victims:
            left = PodPreempted(self.now, victim.ask.key, victim.application.leaf.path, decision.ask.key, queue)
            self.trace.append(left)
        self.trace.append(AllocationRan(self.now, decision.ask.key, decision.application.name, queue))

    # --- another configuration

    def _partition(self) -> Partition:
        """The partition in force.

        After an invalid queues.yaml it is the previous one, or at the start one without any leaf.
        """
        _, config = self.intake.config()
        self.faults = [problem.message for problem in unusable(config)]
        if not self.faults and config.partition is not None and config.partition.root is not None:
            self._loaded = self.intake.configured
            return config.partition
        self.faults = self.faults or ["it has no default partition with queues"]
        if self._loaded:
            return self.scheduler.tree.partition
        nobody = read_config(NOBODY).partition
        assert nobody is not None
        return nobody

    def _new(self) -> Scheduler:
        partition = self._partition()
        return Scheduler(ApplicationTree(partition, self.intake.capacity), preempts=partition.preempts)

    def _rebuild(self) -> None:
        """Make a new scheduler. The applications continue in the queues with the same paths."""
        old, self.scheduler = self.scheduler, self._new()
        keys: dict[str, list[str]] = {}
        for key, application in old.owners.items():
            keys.setdefault(application.name, []).append(key)
        for application in old.applications.values():
            self.scheduler.adopt(application, keys.get(application.name, ()))


def _pods(application: Application) -> int:
    """The number of its running pods. The placeholders of a task group are one allocation."""
    free = [count for count in (application.placeholders or {}).values() if count]
    return len(application.allocations) - len(free) + sum(free)


def _excesses(ref: Ref, used: YuniKornAmounts, limits: YuniKornAmounts) -> Iterator[Excess]:
    for name, limit in limits.items():
        if used.get(name, 0) > limit:
            yield Excess(ref, QuotaPair("", name), nano(name, used[name]), nano(name, limit))


def gang_refusal(leaf: YuniKornQueue, gang: tuple[TaskGroup, ...]) -> str:
    """Why the queue can never allocate the gang; empty if it can."""
    if leaf.settings.properties.sort != FIFO:
        return f"{leaf.path} does not sort its applications by fifo, so that it takes no gang"
    wanted = together(gang)
    maxima = [queue.settings.maximum for queue in leaf.up() if queue.parent is not None]
    above = gang_excess(maxima, wanted)
    return f"its task groups request more {', '.join(above)} than {leaf.path} may ever use" if above else ""
