"""A PodGroup with its pods, by status, and the amounts that count in its queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from scheduling.objects.amounts import add_to
from scheduling.queue_tree.amounts import Amounts, exceeding, total
from scheduling.volcano.objects import NOTHING, PodGroup, PodGroupAccounts, Status, Task
from scheduling.volcano.resources import is_nothing


class GangJob:
    """A PodGroup and its pods by name. Totals over all pods are updated with each change.

    placeable: the pending pods without a scheduling gate, by name.
    claiming: how many pods claim devices.
    """

    def __init__(self, group: PodGroup, tasks: Iterable[Task] = ()) -> None:
        self.group = group
        self.tasks: dict[str, Task] = {}
        self.placeable: dict[str, Task] = {}
        self.allocated: dict[str, int] = {}
        self.claiming = 0
        self._statuses: Counter[Status] = Counter()  # pods by status
        self._roles: Counter[tuple[str, Status]] = Counter()  # pods by role and status
        self._gated: dict[str, int] = {}  # the sum of requests of gated pods
        self._effortless: Counter[str] = Counter()  # pending pods that request nothing, by role
        for task in tasks:
            self.put(task)

    @property
    def name(self) -> str:
        return self.group.name

    def put(self, task: Task) -> None:
        """Add a pod, or change it."""
        self.drop(task.name)
        self.tasks[task.name] = task
        self._count(task, 1)
        if task.status is Status.PENDING and not task.gated:
            self.placeable[task.name] = task

    def drop(self, name: str) -> None:
        task = self.tasks.pop(name, None)
        if task is not None:
            self._count(task, -1)
            self.placeable.pop(name, None)

    def _count(self, task: Task, times: int) -> None:
        self._statuses[task.status] += times
        self._roles[task.role, task.status] += times
        self.claiming += times if task.claims else 0
        if task.status.holds_quota:
            add_to(self.allocated, task.request, times)
        elif task.status is Status.PENDING:
            self._effortless[task.role] += times if is_nothing(task.request) else 0
            if task.gated:
                add_to(self._gated, task.request, times)

    def with_status(self, name: str, status: Status, node: str) -> Task:
        """Give the pod another status and node. Returns the changed pod."""
        task = replace(self.tasks[name], status=status, node=node)
        self.put(task)
        return task

    def count(self, *statuses: Status) -> int:
        return sum(self._statuses[status] for status in statuses)

    def staying(self, role: str | None = None) -> int:
        """The number of pods that are not leaving, of this role or of all."""
        if role is None:
            return len(self.tasks) - self._statuses[Status.RELEASING]
        return sum(self._roles[role, status] for status in Status if status is not Status.RELEASING)

    def ready(self) -> int:
        """The number of pods that have a node or are done."""
        return self.count(Status.ALLOCATED, Status.RUNNING, Status.FINISHED)

    def waiting(self) -> int:
        """The number of pods that wait for a node to become free."""
        return self.count(Status.PIPELINED)

    def starves(self) -> bool:
        return self.ready() + self.waiting() < self.group.members

    def needed_by_role(self) -> Mapping[str, int]:
        """The pods that each role needs; empty if the roles together need more than the PodGroup."""
        needed = self.group.members_of
        return needed if sum(needed.values()) <= self.group.members else {}

    def has_minimum(self, *statuses: Status) -> bool:
        """Whether enough pods have one of the statuses, in all and of each role.

        A pending pod that requests nothing counts, too.
        """
        found = self.count(*statuses) + self._effortless.total()
        return found >= self.group.members and all(
            sum(self._roles[role, status] for status in statuses) + self._effortless[role] >= members
            for role, members in self.needed_by_role().items()
        )

    def accounts(self) -> PodGroupAccounts:
        minimum = self.group.minimum
        reserves = minimum is not None and self._reserves()
        return PodGroupAccounts(
            allocated=dict(self.allocated),
            inqueue=self.without_gated(exceeding(minimum or NOTHING, self.allocated)) if reserves else NOTHING,
            elastic=exceeding(self.allocated, minimum or NOTHING),
        )

    def without_gated(self, amounts: Amounts) -> dict[str, int]:
        """The amounts minus the requests of pods behind a scheduling gate, which cannot be placed yet."""
        return exceeding(amounts, self._gated)

    def least_devices(self) -> dict[str, int]:
        """The devices of the minimum number of pods that may start, by role if the PodGroup has roles."""
        wanting = sorted((task for task in self.tasks.values() if task.claims), key=lambda task: task.name)
        if not self.group.members_of:
            first_ones = wanting[: max(0, self.group.members)]
            return total(*(devices for task in first_ones for devices in task.claims.values()))
        first = {task.role: task for task in reversed(wanting)}
        least: dict[str, int] = {}
        for role, task in first.items():
            add_to(least, total(*task.claims.values()), max(0, self.group.members_of.get(role, 0)))
        return least

    def _reserves(self) -> bool:
        """Whether the PodGroup reserves its minimum: while Inqueue, or Running with its minimum of pods placed."""
        if self.group.phase == "Inqueue":
            return True
        placed = self.count(Status.ALLOCATED, Status.RUNNING)
        return self.group.phase == "Running" and placed >= self.group.members
