"""What becomes of each key of Kueue's Configuration in the reconciler: the one table of it, for code and documentation.

An entry stands for its key and all that is below it. Source: Kueue v0.19, apis/config v1beta2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from policies.model.errors import BadConfiguration
from policies.model.suggestion import suggest


class Use(StrEnum):
    """USED decides here as it does in Kueue; IDLE may stand there and means nothing here; REFUSED ends the reading
    where it asks for something, since the reconciler would decide otherwise than is expected."""

    USED = "used"
    IDLE = "idle"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Key:
    """`why` is a sentence for people. `asks`: whether a value of a refused key asks for anything."""

    path: str
    use: Use
    why: str = ""
    asks: Callable[[object], bool] = bool


def _used(why: str, *paths: str) -> tuple[Key, ...]:
    return tuple(Key(path, Use.USED, why) for path in paths)


def _idle(why: str, *paths: str) -> tuple[Key, ...]:
    return tuple(Key(path, Use.IDLE, why) for path in paths)


KEYS: tuple[Key, ...] = (
    *_used("", "apiVersion", "kind"),
    *_used(
        "Left out of `managedJobsNamespaceSelector` by default; where it is not told, the namespace of the Lease.",
        "namespace",
    ),
    *_used(
        "Jobs that name no queue are suspended and wait, too; Pods must name one.",
        "manageJobsWithoutQueueName",
    ),
    *_used(
        "In other namespaces no job is managed, also where it names a queue; of Pods the webhook decides.",
        "managedJobsNamespaceSelector",
    ),
    *_used(
        "Without the section pods may take for ever to be ready.",
        *(
            "waitForPodsReady.timeout",
            "waitForPodsReady.recoveryTimeout",
            "waitForPodsReady.requeuingStrategy.timestamp",
        ),
        *(f"waitForPodsReady.requeuingStrategy.{key}" for key in ("backoffLimitCount", "backoffBaseSeconds")),
        "waitForPodsReady.requeuingStrategy.backoffMaxSeconds",
    ),
    *_used(
        "Nobody new is admitted while the pods of one who holds quota are not ready.", "waitForPodsReady.blockAdmission"
    ),
    *_used("The switch of v1beta1; `false` turns the section off.", "waitForPodsReady.enable", "fairSharing.enable"),
    *_used("", "fairSharing.preemptionStrategies"),
    *_used(
        "Where a ClusterQueue says `admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}`.",
        "admissionFairSharing.usageHalfLifeTime",
        "admissionFairSharing.usageSamplingInterval",
        "admissionFairSharing.resourceWeights",
    ),
    *_used(
        "",
        "resources.quotaCheckStrategy",
        "resources.excludeResourcePrefixes",
        "resources.transformations",
    ),
    Key(
        "resources.deviceClassMappings",
        Use.REFUSED,
        "ResourceClaims are not counted: a workload with claims is never admitted.",
    ),
    *_used(
        "Only kinds that are named are queued; [the table](#kinds-of-jobs) has the default.", "integrations.frameworks"
    ),
    *_used(
        "Kinds that are described under `reconciler.jobs` of our own settings; those are on anyway.",
        "integrations.externalFrameworks",
    ),
    *_used(
        "When a Workload is made; later changes of the job's labels are not copied.", "integrations.labelKeysToCopy"
    ),
    *_used(
        "",
        "multiKueue.gcInterval",
        "multiKueue.origin",
        "multiKueue.workerLostTimeout",
        "multiKueue.dispatcherName",
        "multiKueue.incrementalDispatcherConfig",
    ),
    *_used("With the gate MultiKueueClusterProfile; the programs must be in the image.", "multiKueue.clusterProfile"),
    *_idle("Kinds are described under `reconciler.jobs` of our own settings.", "multiKueue.externalFrameworks"),
    *_used("The gates that something here asks; others have no effect.", "featureGates"),
    *_used(
        "A Workload that finished so long ago is deleted; its job stays.",
        "objectRetentionPolicies.workloads.afterFinished",
    ),
    *_used(
        "The job of a Workload that was deactivated for a cause so long ago is deleted, with its pods.",
        "objectRetentionPolicies.workloads.afterDeactivatedByKueue",
    ),
    *_used(
        "`false` leaves quota and usage by flavor out of the metrics; on where it is not told.",
        "metrics.enableClusterQueueResources",
    ),
    *_used(
        "`enable: false` leaves LocalQueues out of the metrics; on where it is not told.",
        "metrics.localQueueMetrics.enable",
    ),
    *_idle(
        "All LocalQueues have metrics, or none.",
        "metrics.localQueueMetrics.localQueueSelector",
        "metrics.localQueueMetrics.namespaceSelector",
    ),
    *_idle("No labels of your own are added to metrics.", "metrics.customLabels"),
    *_idle("Probes and metrics have one address: `--host` and `--port`.", "metrics.bindAddress", "health"),
    *_used("", "leaderElection.leaseDuration", "leaderElection.renewDeadline", "leaderElection.retryPeriod"),
    *_idle("Who writes always holds a Lease.", "leaderElection.leaderElect", "leaderElection.resourceLock"),
    *_idle(
        "The Lease is named by `--lease`: under Kueue's name it would be taken for that of a running Kueue.",
        "leaderElection.resourceName",
        "leaderElection.resourceNamespace",
    ),
    *_idle("The webhook is a program of its own: `quotree serve webhook`.", "webhook", "tls", "internalCertManagement"),
    *_idle("The API server sets the pace: it answers 429, and a pause follows.", "clientConnection"),
    *_idle("One loop looks after all kinds.", "controller", "cacheNamespace", "gracefulShutDown"),
    *_idle("Pending lists are served at `/v1`, see `--api-port`.", "visibilityServer"),
    *_idle("There is no profiler to be asked.", "pprofBindAddress"),
)
_BY_PATH: Mapping[str, Key] = {key.path: key for key in KEYS}
_SECTIONS = frozenset(path.rsplit(".", depth)[0] for path in _BY_PATH for depth in range(1, path.count(".") + 1))


def idle_keys(section: Mapping[str, Any], under: str = "") -> Iterator[str]:
    """The paths of keys that mean nothing here. Raises BadConfiguration for an unknown key, and for a refused one."""
    for name, value in section.items():
        at = f"{under}.{name}" if under else str(name)
        key = _BY_PATH.get(at)
        if at in _SECTIONS:
            if not isinstance(value, Mapping | None):
                raise BadConfiguration("expected a mapping", at)
            yield from idle_keys(value or {}, at)
        elif key is None:
            raise BadConfiguration(f"unknown key{_near(str(name), under)}", at)
        elif key.use is Use.REFUSED and key.asks(value):
            why = key.why[:1].lower() + key.why[1:].rstrip(".")
            raise BadConfiguration(f"the reconciler does not do this yet: {why}; take it out, or leave it to Kueue", at)
        elif key.use is Use.IDLE:
            yield at


def _near(name: str, under: str) -> str:
    prefix = f"{under}." if under else ""
    below = (path.removeprefix(prefix).partition(".")[0] for path in _BY_PATH if path.startswith(prefix))
    return f"; {suggest(name, below)}"


def table() -> str:
    """All keys as a table in Markdown, in the order of their paths."""
    rows = (f"| `{key.path}` | {key.use} | {key.why} |" for key in sorted(KEYS, key=lambda key: key.path.lower()))
    return "\n".join(("| Key | Here | |", "|---|---|---|", *rows)) + "\n"
