"""One step for a job: what is written, and the event that the job's owner reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cluster.actions import Create, Delete, Patch
from policies.dialects.kueue_flavor import Flavor
from policies.dialects.reading import Manifest
from scheduling.objects.naming import NAMING, Naming
from scheduling.objects.priority import PriorityClasses
from scheduling.status.observability import LEGACY, Observability


@dataclass(frozen=True, slots=True)
class JobStep:
    """`action` is None where there is nothing that could be written; the event says why. No `reason`: no event.

    The event is about the job. `undoes`: the job runs without quota, by somebody else's doing.
    """

    action: Create | Patch | Delete | None
    reason: str = ""
    message: str = ""
    warning: bool = False
    undoes: bool = False


def nobodys(_: Manifest) -> bool:
    """A job that belongs to no other."""
    return False


def everywhere(_: str) -> bool:
    """Of any namespace."""
    return True


@dataclass(frozen=True, slots=True, eq=False)
class JobInputs:
    """What around a job its steps depend on.

    `selected`: in which namespaces jobs are managed; `without_queue`: there even those that name no queue.
    `child`: whether another job was admitted for it as well, so that it is not queued by itself.
    `copied_labels`, `copied_annotations`: keys that Workloads take over from their job. `pods_ready`: the condition
    PodsReady is kept. `reclaims`: so is status.reclaimablePods. `finishes_orphans`: Workloads whose
    job is gone finish. `elastic`: jobs may change their size by slices. `naming`: what
    Workloads are called. `observability`: which reasons Workloads show.
    """

    classes: PriorityClasses = field(default_factory=PriorityClasses)
    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    selected: Callable[[str], bool] = everywhere
    without_queue: bool = False
    child: Callable[[Manifest], bool] = nobodys
    copied_labels: tuple[str, ...] = ()
    copied_annotations: tuple[str, ...] = ()
    pods_ready: bool = True
    reclaims: bool = True
    finishes_orphans: bool = True
    elastic: bool = False
    naming: Naming = NAMING
    observability: Observability = LEGACY
