"""A step of a job: a write, and an Event for the owner of the job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cluster.actions import Create, Delete, Patch
from policies.dialects.kueue_flavor import Flavor
from policies.dialects.naming import NAMING, Naming
from policies.dialects.reading import Manifest
from scheduling.objects.pod_sets import ALL_REQUESTS, RequestGates
from scheduling.objects.priority import PriorityClasses
from scheduling.status.observability import LEGACY, Observability


@dataclass(frozen=True, slots=True)
class JobStep:
    """A write and an Event about the job.

    `action`: None if nothing can be written; then the Event says why.
    `reason`: the reason of the Event; empty for no Event.
    `undoes`: whether it stops a job that another client runs without quota.
    `first_report`: whether the Workload has no PodsReady yet. A quota reservation of this turn includes the condition.
    """

    action: Create | Patch | Delete | None
    reason: str = ""
    message: str = ""
    warning: bool = False
    undoes: bool = False
    first_report: bool = False


def nobodys(_: Manifest) -> bool:
    """The default of `JobInputs.child`: no job belongs to another one."""
    return False


def everywhere(_: str) -> bool:
    """The default of `JobInputs.selected`: all namespaces are selected."""
    return True


@dataclass(frozen=True, slots=True, eq=False)
class JobInputs:
    """What the steps of a job depend on besides the job and its Workload.

    `classes`: the priority classes.
    `flavors`: the ResourceFlavors by name.
    `selected`: returns whether jobs in a namespace are managed.
    `without_queue`: whether jobs without a queue are managed as well.
    `child`: returns whether a job was admitted together with another job, and so is not queued by itself.
    `copied_labels`, `copied_annotations`: the keys that a Workload copies from its job.
    `pods_ready`: whether the condition PodsReady is written.
    `reclaims`: whether `status.reclaimablePods` is written.
    `finishes_orphans`: whether Workloads are finished when their job is gone.
    `elastic`: whether jobs may change their size by slices.
    `counts_ending`: whether Pods that are being deleted use quota until they have ended, and are replaced only then.
    `requeues_pods`: whether the Workload of a single Pod is requeued after an eviction.
    `succeeded_ready`: whether succeeded Pods of a group count as ready.
    `naming`: the names of Workloads.
    `topologies`: which topologyRequests Workloads get.
    `observability`: which reasons for waiting Workloads show.
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
