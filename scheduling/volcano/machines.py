"""Nodes with their free amounts: now, and after leaving pods have left.

Source: Volcano v1.16, pkg/scheduler/api/node_info.go, plugins/predicates.
"""

from __future__ import annotations

from scheduling.objects.amounts import add_to
from scheduling.queue_tree.amounts import total
from scheduling.topology.node_filter import NodeFilter, holds
from scheduling.volcano.objects import Machine, Status, Task


class Room:
    """A node and its pods. `idle` is free now: a pod that is leaving still uses its part."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.idle = dict(machine.allocatable)
        self.tasks: dict[str, Task] = {}
        self._leaving: dict[str, int] = {}  # amounts of leaving pods
        self._awaited: dict[str, int] = {}  # amounts of pods that wait for room

    @property
    def name(self) -> str:
        return self.machine.name

    def future_idle(self) -> dict[str, int]:
        """What will be free: `idle` plus the pods that leave, minus the pods that wait for their room."""
        future = total(self.idle, self._leaving)
        add_to(future, self._awaited, -1)
        return future

    def put(self, task: Task) -> None:
        """Count the pod by its status, instead of what was counted for it before."""
        self.remove(task.name)
        self.tasks[task.name] = task
        self._count(task, 1)

    def remove(self, name: str) -> None:
        task = self.tasks.pop(name, None)
        if task is not None:
            self._count(task, -1)

    def _count(self, task: Task, times: int) -> None:
        if task.status is Status.PIPELINED:
            add_to(self._awaited, task.request, times)
            return
        add_to(self.idle, task.request, -times)
        if task.status is Status.RELEASING:
            add_to(self._leaving, task.request, times)


def obstacle(placement: NodeFilter, machine: Machine) -> str:
    """Why the pod may not run on the node, apart from room; empty if it may."""
    labels = machine.labels
    if machine.unschedulable:
        return "the node is unschedulable"
    if any(labels.get(key) != value for key, value in placement.selector):
        return "the node selector does not match"
    if placement.terms is not None and not any(holds(term, machine.name, labels) for term in placement.terms):
        return "the node affinity does not match"
    for taint in machine.taints:
        if taint.repels and not taint.tolerated_by(placement.tolerations):
            return f"the taint {taint.key} is not tolerated"
    return ""
