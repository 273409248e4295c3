"""The values of a valid Configuration. Times are in nanoseconds. None means that a key is absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from policies.amounts.requests import Transformation
from policies.configuration.kueue.defaults import STRATEGIES
from policies.configuration.kueue.gates import FeatureGates
from policies.dialects.frameworks import FRAMEWORKS

CLUSTER_QUEUE_RESOURCES = "metrics.enableClusterQueueResources"
LOCAL_QUEUE_METRICS = "metrics.localQueueMetrics.enable"
METRICS_FOR_COHORTS = "featureGates.MetricsForCohorts"
UNADMITTED_WORKLOADS = "featureGates.UnadmittedWorkloadsObservability"
CREATION_LATENCY = "featureGates.MetricForWorkloadCreationLatency"
"""The keys that turn metrics off."""
DEFAULT_FRAMEWORKS = tuple(name for name, framework in FRAMEWORKS.items() if framework.default)
"""The kinds of jobs if integrations.frameworks is not set."""


@dataclass(frozen=True, slots=True)
class Integrations:
    """The enabled kinds of jobs. `frameworks`: Kueue's names. `external`: kinds as `Kind.version.group`."""

    frameworks: tuple[str, ...] = DEFAULT_FRAMEWORKS
    external: tuple[str, ...] = ()

    @property
    def pods(self) -> bool:
        """Whether Pods are queued, on their own or for a kind such as StatefulSet."""
        return any(FRAMEWORKS[name].by_pods for name in self.frameworks)


@dataclass(frozen=True, slots=True)
class JobSelection:
    """Which jobs are managed.

    `namespace_selector`: in Kubernetes' form.
    `without_queue_name`: whether jobs without a queue name are managed, too.
    `copied_labels`: the keys of labels that Workloads copy from their jobs.
    """

    namespace_selector: Mapping[str, Any]
    without_queue_name: bool = False
    copied_labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodsReady:
    """waitForPodsReady.

    `timeout`: the time for pods to become ready.
    `recovery_timeout`: the time for pods that fail later to recover; 0 means no limit.
    `backoff_base`, `backoff_limit`: the first and the longest backoff before a requeue, in seconds.
    `requeues`: the most requeues; None means no limit.
    `by_eviction`: whether a requeued workload is ordered by the time of its eviction, not of its creation.
    `block_admission`: whether no workload is admitted while pods of another one are not ready.
    """

    enabled: bool = False
    timeout: int = 0
    recovery_timeout: int = 0
    backoff_base: int = 60
    backoff_limit: int = 3600
    requeues: int | None = None
    by_eviction: bool = True
    block_admission: bool = False


@dataclass(frozen=True, slots=True)
class Resources:
    """How requests are counted.

    `excluded_prefixes`: resources whose names begin with one of these do not count.
    `transformations`: by input resource.
    `ignore_undeclared`: whether resources that a ClusterQueue does not declare are ignored.
    `device_classes`: the resource that counts the devices of a DeviceClass, by the name of the class.
    """

    excluded_prefixes: tuple[str, ...] = ()
    transformations: Mapping[str, Transformation] = field(default_factory=dict)
    ignore_undeclared: bool = False
    device_classes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FairSharing:
    """fairSharing. `strategies`: the preemption strategies."""

    enabled: bool = False
    strategies: tuple[str, ...] = STRATEGIES


@dataclass(frozen=True, slots=True)
class AdmissionFairSharing:
    """admissionFairSharing: how usage decays, how often it is sampled, and the weight of each resource."""

    half_life: int
    sampling_interval: int
    weights: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class RetentionPolicies:
    """objectRetentionPolicies.workloads. None means that Workloads are kept indefinitely."""

    after_finished: int | None = None
    after_deactivated: int | None = None


@dataclass(frozen=True, slots=True)
class LeaderElection:
    """leaderElection: the times of the Lease."""

    lease_duration: int | None = None
    renew_deadline: int | None = None
    retry_period: int | None = None


@dataclass(frozen=True, slots=True)
class MultiKueueValues:
    """The section multiKueue.

    `origin`: the value of the label on copies.
    `dispatcher`: the name of the dispatcher.
    `step_size`: how many workers the incremental dispatcher nominates in each round.
    `providers`: the execConfig of each access provider, by name.
    """

    origin: str | None = None
    worker_lost_timeout: int | None = None
    gc_interval: int | None = None
    dispatcher: str | None = None
    step_size: int | None = None
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """clientConnection. `rate`: requests per second; negative means no limit. `burst`: the requests at once after a
    pause."""

    rate: float | None = None
    burst: int | None = None


@dataclass(frozen=True, slots=True)
class CustomLabel:
    """An entry of metrics.customLabels.

    `name`: the name of the metric label.
    `kind`, `key`, `annotation`: its value is that of the label or annotation `key` of an object of `kind`.
    `tracked`: the values with separate series; empty means all.
    """

    name: str
    kind: str
    key: str
    annotation: bool = False
    tracked: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class KueueConfiguration:
    """All values.

    `metrics_off`: the keys that turn metrics off.
    `local_queues`: selects the LocalQueues with metrics, in Kubernetes' form; None means all.
    `sections`: the top-level keys of the file.
    `namespace`: the namespace of Kueue's manager; empty if the file does not name it.
    """

    gates: FeatureGates
    integrations: Integrations
    jobs: JobSelection
    pods_ready: PodsReady
    resources: Resources
    fair_sharing: FairSharing
    admission_fair_sharing: AdmissionFairSharing | None
    retention: RetentionPolicies
    leader_election: LeaderElection
    multikueue: MultiKueueValues
    metrics_off: frozenset[str]
    custom_labels: tuple[CustomLabel, ...]
    local_queues: Mapping[str, Any] | None
    sections: frozenset[str]
    client: ClientLimits = ClientLimits()
    namespace: str = ""
