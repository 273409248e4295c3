"""The settings of an administrator: the profile, actions of rules, and the settings for each project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any

from policies.configuration.kueue.gates import OF_WEBHOOKS, ORCHESTRATION, KueueVersion
from policies.configuration.multikueue import MultiKueueOptions
from policies.dialects.job_shape import Framework, JobShape
from policies.dialects.kueue_jobs import KINDS
from policies.dialects.selectors import LabelSelector
from policies.dialects.yunikorn import PRESENT
from policies.model.findings import Action, Profile
from policies.model.objects import GroupKind


@dataclass(frozen=True, slots=True)
class Override:
    """The action for findings of a rule in one place. If several overrides fit, the last one decides.

    `subtree`: the name of a node; the place is the node and its descendants.
    `namespace`: a name, in which `*` and `?` are wildcards.
    `since`: the first day, in UTC, on which the rule denies; until then it warns.
    """

    rule: str
    action: Action
    subtree: str | None = None
    namespace: str | None = None
    since: date | None = None


ADMITTING_USERS = (
    "system:serviceaccount:quotree-system:quotree-reconciler",
    "system:serviceaccount:kueue-system:kueue-controller-manager",
)
"""The users who admit, with the names that the manifests of Quotree and Kueue give them."""


class FreeAfter(StrEnum):
    """When a deleted Pod frees its quota: when the deletion is requested, or when it has ended on its node."""

    REQUESTED = "requested"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class KueueSettings:
    """The settings for Kueue's objects.

    `feature_gates`: the feature gates that are set; the others have the defaults of `version`.
    `manage_jobs`: whether the mutating webhook suspends jobs that name a LocalQueue, as Kueue's webhook does.
    `manage_pods`: whether it adds a scheduling gate to Pods that name a LocalQueue, also to those of Deployments and
    similar kinds.
    `namespaces`: selects the namespaces in which jobs and Pods are managed.
    `frameworks`: which of Kueue's kinds of jobs are managed, by their names in Kueue's Configuration; empty for all.
    Kinds that the file describes are always managed.
    `without_queue`: whether jobs that name no LocalQueue are suspended as well.
    `admitting_users`: the only users who may start jobs and Pods that wait for quota, by their names in the API server.
    `version`: the version of Kueue.
    `free_after`: None for the default of the profile.
    """

    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    manage_jobs: bool = False
    manage_pods: bool = False
    namespaces: LabelSelector = field(default_factory=LabelSelector)
    frameworks: tuple[str, ...] = ()
    without_queue: bool = False
    admitting_users: tuple[str, ...] = ADMITTING_USERS
    version: KueueVersion = KueueVersion.V0_19
    free_after: FreeAfter | None = None

    def enabled(self, gate: str) -> bool:
        value = self.feature_gates.get(gate)
        return OF_WEBHOOKS[self.version].get(gate, False) if value is None else value

    @property
    def orchestrated(self) -> bool:
        """Whether status.effectiveQuotas applies in place of the quotas of spec."""
        return self.enabled(ORCHESTRATION)


class Enforce(StrEnum):
    """What keeps Pods within quota: off, the project's own scheduler; gates, a scheduling gate of Quotree."""

    OFF = "off"
    GATES = "gates"


class QuotaReclaim(StrEnum):
    """How Pods are reclaimed with gates: never, by eviction, which a PodDisruptionBudget can forbid, or by deletion."""

    OFF = "off"
    EVICT = "evict"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class VolcanoResourceGroup:
    """A group of Pods that Volcano's admission sends to certain nodes, as in Volcano's admission configuration.

    `by`: how Pods are selected: namespace or annotation; empty for the name of the group in the annotation
    volcano.sh/resource-group.
    `values`: the namespaces, or the annotations as `key: value`.
    `labels`, `affinity`, `tolerations`, `scheduler_name`: what a Pod of the group gets; `labels` are of its
    nodeSelector.
    """

    name: str
    by: str = ""
    values: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    affinity: Mapping[str, Any] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    scheduler_name: str = ""


@dataclass(frozen=True, slots=True)
class VolcanoSettings:
    """The settings for Volcano's objects. The first four are flags of Volcano's webhook, with the defaults of Volcano.

    `max_queue_depth`: the greatest depth of a queue; a child of root has depth 1.
    `queue_allocation_gate`: Volcano's feature gate SchedulingGatesQueueAdmission.
    `enforce`: with gates, Pods of PodGroups wait at a scheduling gate for the quota of their Queue.
    `checks_sums`: whether no Pod is admitted at a gate while the children of a queue are promised more than it has.
    `reclaim`: how Pods are reclaimed for queues that have less than their deserved amount.
    `root_from_nodes`: whether the reconciler creates `root`, and sets its deserved and capability to the sum of the
    Nodes.
    `resource_groups`: the groups of Pods that are sent to certain nodes.
    """

    max_queue_depth: int = 5
    root_queue_protection: bool = True
    queue_allocated_pods_check: bool = False
    queue_allocation_gate: bool = False
    enforce: Enforce = Enforce.OFF
    checks_sums: bool = False
    reclaim: QuotaReclaim = QuotaReclaim.OFF
    root_from_nodes: bool = False
    resource_groups: tuple[VolcanoResourceGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """What the mutating webhook does for Pods instead of YuniKorn's admission controller.

    `scheduler_name`: when it sets the scheduler: off, default (only for Pods of the default scheduler) or always.
    `labels`: whether it adds the labels of YuniKorn.
    `user_info`: whether it writes the user into an annotation.
    `preemption`: whether it copies from the PriorityClass whether the Pod may be preempted.
    """

    scheduler_name: str = "off"
    labels: bool = False
    user_info: bool = False
    preemption: bool = False

    @property
    def active(self) -> bool:
        return self != AdmissionSettings()


@dataclass(frozen=True, slots=True)
class YuniKornSettings:
    """The settings for YuniKorn's objects.

    `version`: the version of YuniKorn. From 2.0 on, the legacy quota annotations do not count.
    `translate_legacy_annotations`: whether the mutating webhook replaces legacy annotations by namespace.quota.
    `namespace`: the namespace of YuniKorn and its ConfigMaps.
    `follow`: whether the webhook watches these ConfigMaps and YuniKorn's Pods.
    `enforce`: with gates, Pods of Namespaces with quota wait at a scheduling gate.
    `preempts`: whether, with gates, Pods are deleted so that queues get their guaranteed amounts.
    """

    version: tuple[int, int] = PRESENT
    translate_legacy_annotations: bool = False
    namespace: str = "yunikorn"
    follow: bool = True
    admission: AdmissionSettings = AdmissionSettings()
    enforce: Enforce = Enforce.OFF
    preempts: bool = False


class Dialect(StrEnum):
    """The projects whose queues Quotree knows."""

    KUEUE = "kueue"
    VOLCANO = "volcano"
    YUNIKORN = "yunikorn"


@dataclass(frozen=True, slots=True)
class ReconcilerSettings:
    """The settings of the reconciler.

    `jobs`: the kinds of jobs that the file describes, in addition to the built-in kinds.
    `dialects`: the projects whose objects the reconciler manages.
    `replaces`: the programs of Volcano that are stopped for good, so that the reconciler writes their fields.
    """

    jobs: Mapping[GroupKind, JobShape] = field(default_factory=dict)
    multikueue: MultiKueueOptions = field(default_factory=MultiKueueOptions)
    dialects: frozenset[Dialect] = frozenset([Dialect.KUEUE])
    replaces: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Configuration:
    """All settings.

    `ledger`: whether all replicas of the webhook order changes of trees with the ledger.
    `overrides`: the actions of rules that differ from the default.
    `waivable`: the rules that an exemption can waive.
    """

    profile: Profile = Profile.STRICT
    ledger: bool = True
    overrides: tuple[Override, ...] = ()
    kueue: KueueSettings = field(default_factory=KueueSettings)
    volcano: VolcanoSettings = VolcanoSettings()
    yunikorn: YuniKornSettings = YuniKornSettings()
    reconciler: ReconcilerSettings = field(default_factory=ReconcilerSettings)
    waivable: frozenset[str] = frozenset()

    def framework(self, kind: GroupKind) -> Framework | None:
        """How jobs of this kind are managed: as the file describes it, or as Kueue does; None if they are not."""
        known = KINDS.get(kind)
        chosen = known is not None and (not self.kueue.frameworks or known.name in self.kueue.frameworks)
        return self.reconciler.jobs.get(kind) or (known if chosen else None)

    @property
    def counts_ending(self) -> bool:
        """Whether a deleted Pod counts until it has ended. Kueue frees its quota when its deletion is requested."""
        usual = FreeAfter.REQUESTED if self.profile is Profile.COMPAT else FreeAfter.ENDED
        return (self.kueue.free_after or usual) is FreeAfter.ENDED

    @property
    def gates(self) -> frozenset[Dialect]:
        """The dialects for whose quota Pods wait at a gate."""
        enforced = {Dialect.VOLCANO: self.volcano.enforce, Dialect.YUNIKORN: self.yunikorn.enforce}
        return frozenset(dialect for dialect, enforce in enforced.items() if enforce is Enforce.GATES)
