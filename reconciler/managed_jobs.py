"""Which jobs are managed: those in selected namespaces, and there optionally also jobs without a queue name.

Source: Kueue v0.19, manageJobsWithoutQueueName, managedJobsNamespaceSelector (which is always respected),
integrations.labelKeysToCopy, and metrics.customLabels of Workloads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from policies.configuration.kueue.gates import FeatureGates
from policies.configuration.kueue.values import CustomLabel, JobSelection
from policies.dialects.kueue_jobs import IDENTIFIERS
from policies.dialects.naming import NAMING, Naming
from policies.dialects.selectors import LabelSelector, read_label_selector
from reconciler.jobs.step import JobInputs
from scheduling.objects.pod_sets import ALL_REQUESTS, RequestGates
from scheduling.objects.priority import PriorityClasses
from scheduling.status.observability import LEGACY, Observability
from scheduling.world.kueue_configuration import requests_of
from scheduling.world.world import World


@dataclass(frozen=True, slots=True)
class ManagedJobs:
    """The rules for managed jobs.

    `selector`: selects namespaces.
    `without_queue`: whether jobs without a queue name are managed as well.
    `copied_labels`, `copied_annotations`: the keys that a Workload copies from its job.
    `reclaims`, `finishes_orphans`: the feature gates ReclaimablePods and FinishOrphanedWorkloads.
    `requeues_pods`: the opposite of the feature gate SkipReassignmentForPodOwnedWorkloads.
    `succeeded_ready`: the feature gate PodIntegrationCountSucceededPodsAsReady.
    `naming`: the names of Workloads, and how jobs and Pods refer to them.
    `topologies`: which topologyRequests Workloads get.
    """

    selector: LabelSelector = field(default_factory=LabelSelector)
    without_queue: bool = False
    copied_labels: tuple[str, ...] = ()
    copied_annotations: tuple[str, ...] = ()
    reclaims: bool = True
    finishes_orphans: bool = True
    requeues_pods: bool = False
    succeeded_ready: bool = False
    naming: Naming = NAMING
    topologies: RequestGates = ALL_REQUESTS


def managed_jobs_of(jobs: JobSelection, gates: FeatureGates, custom: Iterable[CustomLabel] = ()) -> ManagedJobs:
    """The rules from the Configuration. `custom`: the custom labels of metrics. Workloads copy them from their jobs."""
    selector = read_label_selector(jobs.namespace_selector) or LabelSelector()
    sources = [label for label in custom if label.kind == "Workload"]
    return ManagedJobs(
        selector,
        jobs.without_queue_name,
        tuple(dict.fromkeys((*jobs.copied_labels, *(label.key for label in sources if not label.annotation)))),
        tuple(dict.fromkeys(label.key for label in sources if label.annotation)),
        reclaims=gates.enabled("ReclaimablePods"),
        finishes_orphans=gates.enabled("FinishOrphanedWorkloads"),
        requeues_pods=not gates.enabled("SkipReassignmentForPodOwnedWorkloads"),
        succeeded_ready=gates.enabled("PodIntegrationCountSucceededPodsAsReady"),
        naming=Naming(gates.enabled(IDENTIFIERS), gates.enabled("ShortWorkloadNames")),
        topologies=requests_of(gates),
    )


class NamespaceSelection:
    """Which namespaces are selected, by their labels. An unknown namespace is not selected yet, so its jobs wait."""

    def __init__(self, managed: ManagedJobs, world: World, observability: Observability = LEGACY) -> None:
        self._managed = managed
        self._observability = observability
        self._world = world
        self._answered: dict[str, bool] = {}

    def inputs(self, classes: PriorityClasses, *, pods_ready: bool) -> JobInputs:
        """The present inputs for the steps of jobs. `pods_ready`: whether the condition PodsReady is written."""
        return JobInputs(
            classes,
            self._world.state.flavors,
            self.selects,
            self._managed.without_queue,
            copied_labels=self._managed.copied_labels,
            copied_annotations=self._managed.copied_annotations,
            pods_ready=pods_ready,
            observability=self._observability,
            reclaims=self._managed.reclaims,
            finishes_orphans=self._managed.finishes_orphans,
            requeues_pods=self._managed.requeues_pods,
            succeeded_ready=self._managed.succeeded_ready,
            naming=self._managed.naming,
            topologies=self._managed.topologies,
        )

    def selects(self, namespace: str) -> bool:
        self._answered[namespace] = self._holds(namespace)
        return self._answered[namespace]

    def outdated(self, namespace: str) -> bool:
        """Whether the last answer about the namespace is no longer right. Returns true once for each change."""
        answered = self._answered.get(namespace)
        if answered is None or answered == self._holds(namespace):
            return False
        del self._answered[namespace]
        return namespace in self._world.queues.namespaces  # the jobs of a namespace that is gone are gone, too

    def _holds(self, namespace: str) -> bool:
        selector, labels = self._managed.selector, self._world.queues.namespaces.get(namespace)
        return not selector.requirements or (labels is not None and selector.matches(labels))
