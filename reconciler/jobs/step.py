"""One step for a job: a write, and the Event for the job's owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cluster.actions import Create, Delete, Patch
from policies.dialects.kueue_flavor import Flavor
from policies.dialects.reading import Manifest
from scheduling.objects.naming import NAMING, Naming
from scheduling.objects.pod_sets import ALL_REQUESTS, RequestGates
from scheduling.objects.priority import PriorityClasses
from scheduling.status.observability import LEGACY, Observability


@dataclass(frozen=True, slots=True)
class JobStep:
    """A write and an Event about the job.

    `action`: None if nothing can be written; the Event says why.
    `reason`: the reason of the Event; empty for no Event.
    `undoes`: the job runs without quota because of another client's change.
    `first_report`: the Workload has no PodsReady yet. A reservation of this turn writes it as well.
    """

    action: Create | Patch | Delete | None
    reason: str = ""
    message: str = ""
    warning: bool = False
    undoes: bool = False
    first_report: bool = False


def nobodys(_: Manifest) -> bool:
    """Whether another job was admitted for this one as well: never."""
    return False


def everywhere(_: str) -> bool:
    """A namespace selection that selects all namespaces."""
    return True


@dataclass(frozen=True, slots=True, eq=False)
class JobInputs:
    """The inputs of a job's steps beside the job itself.

    `selected`: tells in which namespaces jobs are managed.
    `without_queue`: jobs there are managed even if they name no queue.
    `child`: another job was admitted for this one as well, so it is not queued by itself.
    `copied_labels`, `copied_annotations`: keys that Workloads take over from their job.
    `pods_ready`: the condition PodsReady is maintained.
    `reclaims`: status.reclaimablePods is maintained.
    `finishes_orphans`: Workloads whose job is gone finish.
    `elastic`: jobs may change their size by slices.
    `counts_ending`: Pods use quota until they have ended, and are replaced after that.
    `requeues_pods`: the Workload of a single Pod that was evicted is requeued.
    `succeeded_ready`: Pods of a group that succeeded count as ready.
    `naming`: the names of Workloads.
    `topologies`: which topologyRequests Workloads get.
    `observability`: the reasons that Workloads show.
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
    counts_ending: bool = False
    requeues_pods: bool = False
    succeeded_ready: bool = False
    naming: Naming = NAMING
    topologies: RequestGates = ALL_REQUESTS
    observability: Observability = LEGACY
