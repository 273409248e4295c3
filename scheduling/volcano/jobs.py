"""A PodGroup with its pods: what it has, what it waits for, and what it counts for in its queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from scheduling.queue_tree.amounts import Amounts, add_to, exceeding, total
from scheduling.volcano.objects import NOTHING, Devices, PodGroup, Status, Task
from scheduling.volcano.resources import is_nothing


@dataclass(frozen=True, slots=True)
class Standing:
    """What a PodGroup counts for in the accounts of its queue."""

    allocated: Amounts
    inqueue: Amounts
    elastic: Amounts


class Job:
    """A PodGroup and its pods by name."""

    def __init__(self, group: PodGroup, tasks: Iterable[Task] = ()) -> None:
        self.group = group
        self.tasks: dict[str, Task] = {}
        self.allocated: dict[str, int] = {}
        for task in tasks:
            self.put(task)

    @property
    def name(self) -> str:
        return self.group.name

    def put(self, task: Task) -> None:
        """Add a pod, or change it."""
        before = self.tasks.get(task.name)
        if before is not None and before.status.holds_quota:
            add_to(self.allocated, before.request, -1)
        self.tasks[task.name] = task
        if task.status.holds_quota:
            add_to(self.allocated, task.request)

    def with_status(self, name: str, status: Status, node: str) -> Task:
        """The pod with another status, as it now is in this job."""
        task = replace(self.tasks[name], status=status, node=node)
        self.put(task)
        return task

    def count(self, *statuses: Status) -> int:
        return sum(task.status in statuses for task in self.tasks.values())

    def ready(self) -> int:
        """Pods that have a node or are done. A pending pod that requests nothing needs no room and counts as well."""
        done = self.count(Status.ALLOCATED, Status.RUNNING, Status.FINISHED)
        return done + sum(task.status is Status.PENDING and is_nothing(task.request) for task in self.tasks.values())

    def waiting(self) -> int:
        """Pods that wait for a node to become free."""
        return self.count(Status.PIPELINED)

    def starves(self) -> bool:
        return self.ready() + self.waiting() < self.group.members

    def needed_by_role(self) -> Mapping[str, int]:
        """The pods that each role needs; where the roles need more together than the PodGroup, none is looked at."""
        needed = self.group.members_of
        return needed if sum(needed.values()) <= self.group.members else {}

    def has_roles(self, *statuses: Status) -> bool:
        """Whether so many pods of each role as it needs have one of the statuses."""
        roles = Counter(task.role for task in self.tasks.values() if task.status in statuses)
        return all(roles[role] >= members for role, members in self.needed_by_role().items())

    def standing(self) -> Standing:
        minimum = self.group.minimum
        return Standing(
            allocated=dict(self.allocated),
            inqueue=NOTHING if minimum is None or not self._reserves() else self._to_come(minimum),
            elastic=exceeding(self.allocated, minimum or NOTHING),
        )

    def without_gated(self, amounts: Amounts) -> dict[str, int]:
        """The amounts less what pods behind a scheduling gate request: those are not coming yet."""
        gated = total(*(t.request for t in self.tasks.values() if t.gated and t.status is Status.PENDING))
        return exceeding(amounts, gated)

    def least_devices(self) -> dict[str, int]:
        """The devices that the smallest number of pods that may start needs: by role where roles are given."""
        wanting = sorted((task for task in self.tasks.values() if task.claims), key=lambda task: task.name)
        if not self.group.members_of:
            return total(*map(devices_of, wanting[: max(0, self.group.members)]))
        first = {task.role: task for task in reversed(wanting)}
        least: dict[str, int] = {}
        for role, task in first.items():
            add_to(least, devices_of(task), max(0, self.group.members_of.get(role, 0)))
        return least

    def _reserves(self) -> bool:
        """A PodGroup in the queue reserves its minimum; one that runs does so until as many pods as it needs came."""
        if self.group.phase == "Inqueue":
            return True
        placed = self.count(Status.ALLOCATED, Status.RUNNING)
        return self.group.phase == "Running" and placed >= self.group.members

    def _to_come(self, minimum: Amounts) -> dict[str, int]:
        return self.without_gated(exceeding(minimum, self.allocated))


def devices_of(task: Task) -> dict[str, int]:
    """What all claims of the pod ask for."""
    together: dict[str, int] = {}
    claims: Iterable[Devices] = task.claims.values()
    for devices in claims:
        add_to(together, devices)
    return together
