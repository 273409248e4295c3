"""One step for a job: what is written, and the event that the job's owner reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cluster.actions import Create, Delete, Patch
from policies.model.objects import GroupKind
from scheduling.objects.priority import PriorityClasses
from scheduling.objects.resource_flavor import Flavor


@dataclass(frozen=True, slots=True)
class Step:
    """`action` is None where there is nothing that could be written; the event says why. No `reason`: no event.

    The event is about the job.
    """

    action: Create | Patch | Delete | None
    reason: str = ""
    message: str = ""
    warning: bool = False


def everywhere(_: str) -> bool:
    """Of any namespace."""
    return True


@dataclass(frozen=True, slots=True, eq=False)
class JobInputs:
    """What around a job its steps depend on.

    `selected`: in which namespaces jobs are managed; `without_queue`: there even those that name no queue.
    `parent_queued`: an owner that is a job of a kind that Kueue knows queues by itself, so that the job is left to it.
    `copied_labels`: keys that Workloads take over from their job (Kueue's integrations.labelKeysToCopy). `pods_ready`:
    the condition PodsReady is kept. `described`: kinds of jobs that Kueue does not know and that are queued here.
    `detailed`: see `scheduling.status.reservation.sync_admitted`.
    """

    classes: PriorityClasses = field(default_factory=PriorityClasses)
    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    selected: Callable[[str], bool] = everywhere
    without_queue: bool = False
    parent_queued: bool = True
    copied_labels: tuple[str, ...] = ()
    pods_ready: bool = True
    described: frozenset[GroupKind] = frozenset()
    detailed: bool = True
