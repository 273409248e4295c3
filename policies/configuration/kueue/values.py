"""What a Configuration says, as values without faults. Times are in nanoseconds; None is for what it does not say."""

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
"""The keys that leave metrics out."""
DEFAULT_FRAMEWORKS = tuple(name for name, framework in FRAMEWORKS.items() if framework.default)
"""Where integrations.frameworks is not set."""


@dataclass(frozen=True, slots=True)
class Integrations:
    """`frameworks` as Kueue names them; `external` as `Kind.version.group`."""

    frameworks: tuple[str, ...] = DEFAULT_FRAMEWORKS
    external: tuple[str, ...] = ()

    @property
    def pods(self) -> bool:
        """Whether Pods are queued by themselves."""
        return any(FRAMEWORKS[name].by_pods for name in self.frameworks)


@dataclass(frozen=True, slots=True)
class JobSelection:
    """Which jobs are managed. `namespace_selector` has Kubernetes' form. `copied_labels`: keys of labels that Workloads
    copy from their jobs."""

    namespace_selector: Mapping[str, Any]
    without_queue_name: bool = False
    copied_labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodsReady:
    """waitForPodsReady. `recovery_timeout` 0: pods that fail later may take any time to recover.

    `backoff_base` and `backoff_limit` in seconds; `requeues` None: always.

    `by_eviction`: requeued workloads queue by the moment of their eviction, else by their creation.
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
    """How requests are counted. `transformations` are by input."""

    excluded_prefixes: tuple[str, ...] = ()
    transformations: Mapping[str, Transformation] = field(default_factory=dict)
    ignore_undeclared: bool = False


@dataclass(frozen=True, slots=True)
class FairSharing:
    """`strategies` are those of preemption."""

    enabled: bool = False
    strategies: tuple[str, ...] = STRATEGIES


@dataclass(frozen=True, slots=True)
class AdmissionFairSharing:
    half_life: int
    sampling_interval: int
    weights: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class RetentionPolicies:
    """objectRetentionPolicies.workloads; None: keep indefinitely."""

    after_finished: int | None = None
    after_deactivated: int | None = None


@dataclass(frozen=True, slots=True)
class LeaderElection:
    lease_duration: int | None = None
    renew_deadline: int | None = None
    retry_period: int | None = None


@dataclass(frozen=True, slots=True)
class MultiKueueValues:
    """`providers`: the execConfig of each access provider, by name."""

    origin: str | None = None
    worker_lost_timeout: int | None = None
    gc_interval: int | None = None
    dispatcher: str | None = None
    step_size: int | None = None
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """clientConnection: requests per second, negative for no limit, and the burst after a pause. None: not set."""

    rate: float | None = None
    burst: int | None = None


@dataclass(frozen=True, slots=True)
class CustomLabel:
    """metrics.customLabels: what an object of `kind` says under `key`, of its labels or annotations. `tracked`: the
    values that have series of their own; empty: all."""

    name: str
    kind: str
    key: str
    annotation: bool = False
    tracked: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class KueueConfiguration:
    """`metrics_off`: the keys that leave metrics out. `local_queues`: the selector of those LocalQueues that have
    metrics, in Kubernetes' form; None: all. `sections` are the keys at the top of the file. `namespace` is
    the manager's, as the file says it; empty where it does not."""

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
