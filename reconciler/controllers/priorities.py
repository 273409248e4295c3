"""Updates the priority of Workloads from their WorkloadPriorityClass, even after they have finished.

A value that a user wrote stays until the class changes, or another process becomes the leader.
Source: Kueue v0.19, pkg/controller/core (WorkloadPriorityClass controller).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from policies.dialects.kueue_kinds import WORKLOAD_PRIORITY_CLASS
from reconciler.controllers.stored_workloads import StoredWorkloads
from reconciler.core.controller import Busy, Controller, Lookup, WaitFor, Wanted
from reconciler.jobs.step import JobInputs
from reconciler.objects.patches import patch
from reconciler.objects.wanted import WantedWrite
from scheduling.objects.grouped import Grouped
from scheduling.objects.workload import Workload

_MANAGER = "kueue-workload-priority-class-controller"
_KIND = "Workload"
_AT_ONCE = 250
"""How many Workloads of one class are updated in one turn."""


class PrioritiesController(Controller):
    """Updates priorities. `look` returns a Workload as it is stored."""

    def __init__(self, look: Lookup) -> None:
        self._workloads = StoredWorkloads(look)
        self._values: dict[str, int] = {}
        self._former: dict[str, int] = {}
        self._members: Grouped[str, str, None] = Grouped()
        self._due: dict[str, None] = {}
        self._leads = False

    def inputs_changed(self, inputs: JobInputs) -> None:
        before, self._values = self._values, dict(inputs.classes.of_workloads)
        for name, value in self._values.items():
            if before.get(name) != value:
                self._due.update(self._members.of(name))
        self._former.update({name: value for name, value in before.items() if self._values.get(name) != value})

    def workload_changed(self, workload: str) -> None:
        read = self._workloads.read(workload)
        named = _class_of(read) if read is not None else ""
        if self._members.group_of.get(workload, "") == named:
            return
        self._due.pop(workload, None)
        self._members.pop(workload)
        if read is None or not named:
            return
        self._members.put(workload, named, None)
        if self._former.get(named) == read.base:
            self._due[workload] = None  # the class had another value when the Workload was created

    def wake(self, item: tuple[str, str]) -> None:
        self._due[item[1]] = None

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """Update the Workloads whose class has changed. When this process begins to lead, all are checked."""
        del now
        if not self._leads:
            self._leads = True
            self._due.update(dict.fromkeys(self._members.group_of))
        found = (each for each in map(self._outdated, [*self._due]) if each is not None)
        for read, value in islice(found, _AT_ONCE):
            key = (_KIND, read.key)
            del self._due[read.key]
            if not busy(*key):
                yield WantedWrite(key, patch(read, {"spec": {"priority": value}}, _MANAGER))
            yield WaitFor(key, key)  # look again after the write, in case it fails

    def _outdated(self, name: str) -> tuple[Workload, int] | None:
        """The Workload and its new priority. If it has that priority, forget it and return None."""
        read, value = self._workloads.read(name), self._values.get(self._members.group_of.get(name, ""))
        if read is not None and value is not None and read.base != value:
            return read, value
        del self._due[name]
        return None


def _class_of(workload: Workload) -> str:
    named = workload.priority_class
    return named.name if named is not None and named[:2] == WORKLOAD_PRIORITY_CLASS else ""
