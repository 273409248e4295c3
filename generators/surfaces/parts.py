"""The table of Quotree's parts with their stability levels, for docs/stability.md and the records.

A test finds components of manifests/components that are missing here, and alpha parts that are on by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from generators.chart.source import value


class Level(StrEnum):
    """The stability level of an interface; docs/stability.md has the terms."""

    STABLE = "stable"
    BETA = "beta"
    ALPHA = "alpha"

    @property
    def kept(self) -> bool:
        """Whether an interface of this level must be deprecated before it is removed."""
        return self is not Level.ALPHA


@dataclass(frozen=True, slots=True)
class ProductPart:
    """A part of Quotree.

    `about`: a description.
    `owns`: the prefixes of its entries in the records; the longest match decides.
    `components`: its folders in manifests/components.
    `settings`, `flags`: keys of Quotree's Configuration and options of commands that also turn it on.
    `on`: a text about how to turn it on, if none of the three can.
    """

    name: str
    level: Level
    about: str
    owns: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    on: str = ""


PARTS = (
    ProductPart(
        "Judging files",
        Level.STABLE,
        "The commands that judge manifests and changes, the ids of rules, and the exit codes.",
        (
            *("quotree validate", "quotree review", "quotree rules", "quotree explain", "quotree test"),
            *("quotree baseline", "quotree completion", "report ", "suites "),
        ),
        on="the command",
    ),
    ProductPart(
        "Admission webhook",
        Level.STABLE,
        "It judges each change of a tree, fills in defaults and converts versions.",
        ("quotree serve webhook", "quotree certs", "webhook ", "quotree_admission_", "quotree_findings_"),
        ("cert-manager", "cert-manager-crds", "network-policy", "webhook-autoscaling", "kueue-without-v1beta1"),
        on="`manifests/base`",
    ),
    ProductPart(
        "All other commands",
        Level.BETA,
        "Differences, fixes, simulations, pending work and its reasons, Volcano's queues, the take-over from Kueue.",
        on="the command",
    ),
    ProductPart("Helm chart", Level.BETA, "The manifests as a chart, and its values.", on="`helm install`"),
    ProductPart(
        "Reconciler",
        Level.BETA,
        "Kueue's controllers: admission, preemption, jobs, topologies, ProvisioningRequests, `/v1`.",
        components=("reconciler", "reconciler-deletes-jobs"),
    ),
    ProductPart(
        "Jobs and Pods",
        Level.BETA,
        "The webhook holds back jobs and Pods that name a LocalQueue.",
        ("kueue.manage", "kueue.frameworks", "kueue.freeAfter", "kueue.admittingUsers"),
        ("pods",),
        ("kueue.manageJobs", "kueue.managePods"),
    ),
    ProductPart(
        "MultiKueue",
        Level.BETA,
        "Work runs on other clusters.",
        ("reconciler.multiKueue",),
        ("multikueue",),
    ),
    ProductPart("Audit", Level.BETA, "It judges the stored objects.", components=("audit", "audit-baseline")),
    ProductPart("Dashboard", Level.BETA, "Read-only pages.", components=("dashboard", "dashboard-audit")),
    ProductPart(
        "Monitoring",
        Level.BETA,
        "Metrics over TLS, alerts, dashboards for Grafana.",
        components=("metrics-auth", "service-monitor", "prometheus-rule", "prometheus-rule-reconciler"),
    ),
    ProductPart(
        "Queues of Volcano",
        Level.BETA,
        "The reconciler manages Volcano's queues instead of Volcano's queue controller.",
        ("reconciler.replaces", "reconciler.dialects"),
        ("reconciler-volcano",),
    ),
    ProductPart(
        "Quota at scheduling gates",
        Level.ALPHA,
        "Pods of Volcano and YuniKorn wait for quota without their schedulers, with reclaim and preemption.",
        (
            *("volcano.enforce", "volcano.checkSums", "volcano.reclaim", "yunikorn.enforce", "yunikorn.preemption"),
            *("quotree serve webhook --gates", "quotree serve reconciler --gates"),
            *(
                "quotree_gates_",
                "quotree_volcano_",
                "quotree.dev/broken-sums",
                "quotree.dev/quota",
                "quotree.dev/Quota",
            ),
            *("webhook /v1/mutate/volcano-quota", "pending-pods "),
            *("reconciler /v1/namespaces/NAME/pendingpods", "reconciler /v1/yunikorn/", "reconciler /v1/volcano/"),
        ),
        ("volcano-gates", "yunikorn-gates"),
        ("volcano.enforce", "volcano.checkSums", "volcano.reclaim", "yunikorn.enforce", "yunikorn.preemption"),
        ("serve webhook --gates", "serve reconciler --gates"),
    ),
    ProductPart(
        "Observing YuniKorn",
        Level.ALPHA,
        "The reconciler compares what YuniKorn's scheduler binds, and writes nothing.",
        ("quotree_observe_",),
        ("yunikorn-observe",),
    ),
    ProductPart(
        "Several reconcilers",
        Level.ALPHA,
        "Each decides for the trees with the label of its part.",
        ("quotree serve reconciler --part", "quotree.dev/part", "part.quotree.dev/", "chart .reconciler.parts"),
        ("reconciler-part",),
        flags=("serve reconciler --part",),
    ),
    ProductPart(
        "Kinds of jobs of your own",
        Level.ALPHA,
        "The configuration describes how a kind is suspended and counted.",
        ("reconciler.jobs",),
        settings=("reconciler.jobs",),
    ),
)


_OWNERS = tuple(
    (start, part.level)
    for part in PARTS
    for start in (*part.owns, *(f"chart .{value(component)} " for component in part.components))
)
"""The starts of the entries that a part owns, and the level of the part."""


def level_of(entry: str, otherwise: Level) -> Level:
    """The level of the part that owns an entry of a surface; `otherwise` if none does."""
    owners = ((len(start), level) for start, level in _OWNERS if entry.startswith(start))
    return max(owners, default=(0, otherwise))[1]
