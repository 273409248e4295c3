"""The table of all keys of Kueue's Configuration and their use in the reconciler, for code and documentation.

An entry applies to its key and to all keys below it. Source: Kueue v0.19, apis/config v1beta2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from policies.model.errors import BadConfiguration
from policies.model.suggestion import suggest


class Use(StrEnum):
    """The use of a key in the reconciler.

    USED: it has the same effect as in Kueue.
    IDLE: it may be set and has no effect.
    """

    USED = "used"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class ConfigurationKey:
    """A key. `why`: a sentence for the documentation and for messages."""

    path: str
    use: Use
    why: str = ""


def _used(path: str, why: str = "") -> ConfigurationKey:
    return ConfigurationKey(path, Use.USED, why)


def _idle(path: str, why: str) -> ConfigurationKey:
    return ConfigurationKey(path, Use.IDLE, why)


_BY_DEFAULT = (
    "On by default; a file of v1beta1 turns it on with `enable: true`; the gate DisableWaitForPodsReady turns it off."
)
_RECOVERY = "The default is `timeout`, or `0s` in a file of v1beta1. `0s`: there is no limit for pods that fail later."
_OLD_SWITCH = "The switch of v1beta1; `false` turns the section off."
_BY_USAGE = "For ClusterQueues with `admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}`."
_ONE_ADDRESS = "Probes and metrics share one address, set by `--host` and `--port`."
_ALWAYS_A_LEASE = "A replica that writes always holds a Lease."
_OWN_LEASE = "The Lease is named by `--lease`: with Kueue's name it would be mistaken for the Lease of a running Kueue."
_OTHER_PROGRAM = "The webhook is a separate process: `quotree serve webhook`."
_OF_WORKERS = (
    "For writes to each worker of MultiKueue, with the gate MultiKueueReuseClientConnectionConfigForWorkers. On its "
    "own cluster the reconciler pauses when the API server answers 429."
)

KEYS: tuple[ConfigurationKey, ...] = (
    _used("apiVersion"),
    _used("kind"),
    _used(
        "namespace",
        "The default `managedJobsNamespaceSelector` excludes this namespace. It defaults to that of the Lease. If it "
        "is set, the kubeconfigs of MultiKueue are read from there.",
    ),
    _used(
        "manageJobsWithoutQueueName",
        "Jobs without a queue name are suspended and wait, too; Pods must name a queue. Set it in Quotree's own "
        "Configuration as well: then the webhook suspends them when they are created.",
    ),
    _used(
        "managedJobsNamespaceSelector",
        "Jobs in other namespaces are not managed, even if they name a queue. Set it in Quotree's own "
        "Configuration as well, or give the webhooks of jobs and Pods the same `namespaceSelector`: otherwise they "
        "suspend jobs there that nobody starts.",
    ),
    _used("waitForPodsReady.timeout", _BY_DEFAULT),
    _idle("waitForPodsReady.maxTimeoutOnWorkload", "Of Kueue v0.20. Workloads have no timeouts of their own."),
    _idle(
        "waitForPodsReady.unscheduledTimeout",
        "Of Kueue v0.20, with the gate WaitForPodsReadyUnscheduledTimeout, which is always off here.",
    ),
    _used("waitForPodsReady.recoveryTimeout", _RECOVERY),
    _used("waitForPodsReady.requeuingStrategy.timestamp"),
    _used("waitForPodsReady.requeuingStrategy.backoffLimitCount"),
    _used("waitForPodsReady.requeuingStrategy.backoffBaseSeconds"),
    _used("waitForPodsReady.requeuingStrategy.backoffMaxSeconds"),
    _used(
        "waitForPodsReady.blockAdmission",
        "No workload is admitted while the pods of an admitted one are not ready.",
    ),
    _used("waitForPodsReady.enable", _OLD_SWITCH),
    _used("fairSharing.enable", _OLD_SWITCH),
    _used("fairSharing.preemptionStrategies"),
    _used("admissionFairSharing.usageHalfLifeTime", _BY_USAGE),
    _used("admissionFairSharing.usageSamplingInterval", _BY_USAGE),
    _used("admissionFairSharing.resourceWeights", _BY_USAGE),
    _used("resources.quotaCheckStrategy"),
    _used("resources.excludeResourcePrefixes"),
    _used("resources.transformations"),
    _used("resources.deviceClassMappings", "Whole devices are counted; `sources` of an entry must not be set."),
    _used(
        "integrations.frameworks",
        "Only kinds that are named are queued; [the table](kinds-of-jobs.md) has the default. Set `kueue.frameworks` "
        "in Quotree's own Configuration as well: otherwise the webhook suspends jobs of other kinds that name a queue, "
        "and nobody starts them.",
    ),
    _used(
        "integrations.externalFrameworks",
        "Kinds from `reconciler.jobs` of Quotree's own Configuration; they are always on.",
    ),
    _used(
        "integrations.labelKeysToCopy", "Copied when a Workload is created; later changes of the job's labels are not."
    ),
    _used("multiKueue.gcInterval"),
    _used("multiKueue.origin"),
    _used("multiKueue.workerLostTimeout"),
    _used("multiKueue.dispatcherName"),
    _used("multiKueue.incrementalDispatcherConfig"),
    _used("multiKueue.clusterProfile", "Needs the gate MultiKueueClusterProfile; the programs must be in the image."),
    _idle(
        "multiKueue.externalFrameworks", "Describe the kinds under `reconciler.jobs` of Quotree's own Configuration."
    ),
    _used("featureGates", "[The table](feature-gates.md) describes each gate."),
    _used(
        "objectRetentionPolicies.workloads.afterFinished",
        "A Workload is deleted this long after it finished; its job stays.",
    ),
    _used(
        "objectRetentionPolicies.workloads.afterDeactivatedByKueue",
        "The job of a Workload is deleted with its pods this long after Kueue deactivated the Workload.",
    ),
    _used(
        "metrics.enableClusterQueueResources",
        "`false` leaves quota and usage by flavor out of the metrics; on by default.",
    ),
    _used("metrics.localQueueMetrics.enable", "`false` leaves LocalQueues out of the metrics; on by default."),
    _used("metrics.localQueueMetrics.localQueueSelector", "Selects LocalQueues by their labels; all by default."),
    _used("metrics.customLabels", "Needs the gate CustomMetricLabels."),
    _idle("metrics.bindAddress", _ONE_ADDRESS),
    _idle("health", _ONE_ADDRESS),
    _used("leaderElection.leaseDuration"),
    _used("leaderElection.renewDeadline"),
    _used("leaderElection.retryPeriod"),
    _idle("leaderElection.leaderElect", _ALWAYS_A_LEASE),
    _idle("leaderElection.resourceLock", _ALWAYS_A_LEASE),
    _idle("leaderElection.resourceName", _OWN_LEASE),
    _idle("leaderElection.resourceNamespace", _OWN_LEASE),
    _idle("webhook", _OTHER_PROGRAM),
    _idle("tls", _OTHER_PROGRAM),
    _idle("internalCertManagement", _OTHER_PROGRAM),
    _used("clientConnection.qps", _OF_WORKERS),
    _used("clientConnection.burst", _OF_WORKERS),
    _idle("controller", "One loop handles all kinds."),
    _idle("visibilityServer", "Pending lists are served at `/v1`, see `--api-port`."),
    _idle("pprofBindAddress", "Quotree has no profiler."),
)
_BY_PATH: Mapping[str, ConfigurationKey] = {key.path: key for key in KEYS}
_SECTIONS = frozenset(path.rsplit(".", depth)[0] for path in _BY_PATH for depth in range(1, path.count(".") + 1))


def idle_keys(section: Mapping[str, Any], under: str = "") -> Iterator[str]:
    """The paths of keys without effect. Raises BadConfiguration for an unknown key."""
    for name, value in section.items():
        at = f"{under}.{name}" if under else str(name)
        key = _BY_PATH.get(at)
        if at in _SECTIONS:
            if not isinstance(value, Mapping | None):
                raise BadConfiguration("expected a mapping", at)
            yield from idle_keys(value or {}, at)
        elif key is None:
            raise BadConfiguration(f"unknown key{_near(str(name), under)}", at)
        elif key.use is Use.IDLE:
            yield at


def _near(name: str, under: str) -> str:
    prefix = f"{under}." if under else ""
    below = (path.removeprefix(prefix).partition(".")[0] for path in _BY_PATH if path.startswith(prefix))
    return f"; {suggest(name, below)}"
