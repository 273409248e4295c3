"""What an administrator may set: the profile, an action per rule and place, and each project's own switches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any

from policies.configuration.kueue.gates import OF_WEBHOOKS, ORCHESTRATION, KueueVersion
from policies.configuration.multikueue import MultiKueueOptions
from policies.dialects.job_shape import JobShape
from policies.dialects.selectors import LabelSelector
from policies.model.findings import Action, Profile
from policies.model.objects import GroupKind


@dataclass(frozen=True, slots=True)
class Override:
    """The action for a rule's findings in one place. The last override that fits decides.

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
"""The users who admit, as the manifests of both projects install them."""


class FreeAfter(StrEnum):
    """When a Pod that is deleted frees its quota: as soon as that is requested, or when it has ended on its node."""

    REQUESTED = "requested"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class KueueSettings:
    """`version` of Kueue has its feature gates with their defaults; `feature_gates` are those that are set otherwise.

    `manage_jobs`: the mutating webhook suspends jobs that name a LocalQueue, as Kueue's does. `manage_pods`: it holds
    back Pods that name one, by a scheduling gate, and Pods of Deployments and the like that do. Both only in namespaces
    that `namespaces` selects. `without_queue`: jobs that name no LocalQueue are suspended there, too.
    `admitting_users`: the users that alone may start what waits for quota, as the API server names them. `free_after`:
    None for the value that the profile gives.
    """

    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    manage_jobs: bool = False
    manage_pods: bool = False
    namespaces: LabelSelector = field(default_factory=LabelSelector)
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
    """What keeps Pods within quota: the project's own scheduler, or a scheduling gate of Quotree."""

    OFF = "off"
    GATES = "gates"


class QuotaReclaim(StrEnum):
    """How Pods are reclaimed at a gate: never, by eviction, which PodDisruptionBudgets may forbid, or by deletion."""

    OFF = "off"
    EVICT = "evict"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class VolcanoResourceGroup:
    """Pods that Volcano's admission sends to certain nodes; the fields are those of Volcano's admission configuration.

    `by` is namespace or annotation, `values` are the namespaces or the annotations as `key: value`; where `by` is empty
    a pod belongs that names the group in the annotation volcano.sh/resource-group.
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
    """Volcano's own flags, by their defaults there. A child of root has depth 1.

    `queue_allocation_gate` is its feature gate SchedulingGatesQueueAdmission, as its webhook has it. `enforce` is ours:
    Pods of PodGroups wait at a gate for the quota of their Queue. `checks_sums`: no Pod passes there while the children
    of a queue are promised more than it has. `reclaim`: how Pods are reclaimed for queues that have less than they
    deserve. `root_from_nodes`: the reconciler creates `root` and keeps its deserved and capability at what the Nodes
    have.
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
    """What the mutating webhook does for pods in place of YuniKorn's admission controller.

    `scheduler_name` is off, default (where the pod has no other scheduler than the default one) or always.
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
    """`version` decides whether the legacy quota annotations still count: from 2.0 on they do not.

    `namespace` is where YuniKorn and its ConfigMaps are. `follow`: the webhook watches these and
    YuniKorn's Pods. `enforce`: Pods of Namespaces with quota wait at a gate. `preempts`: there, Pods are deleted so
    that queues get what they are guaranteed.
    """

    version: tuple[int, int] = (1, 9)
    translate_legacy_annotations: bool = False
    namespace: str = "yunikorn"
    follow: bool = True
    admission: AdmissionSettings = AdmissionSettings()
    enforce: Enforce = Enforce.OFF
    preempts: bool = False


class Dialect(StrEnum):
    """The projects whose queues there are."""

    KUEUE = "kueue"
    VOLCANO = "volcano"
    YUNIKORN = "yunikorn"


@dataclass(frozen=True, slots=True)
class ReconcilerSettings:
    """`jobs` are the kinds that the file describes, beside those that are known. `dialects`: whose objects the
    reconciler looks after. `replaces`: the programs of Volcano that are stopped, so that it may write their fields."""

    jobs: Mapping[GroupKind, JobShape] = field(default_factory=dict)
    multikueue: MultiKueueOptions = field(default_factory=MultiKueueOptions)
    dialects: frozenset[Dialect] = frozenset([Dialect.KUEUE])
    replaces: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Configuration:
    """`ledger`: the webhooks of all replicas order the changes of trees."""

    profile: Profile = Profile.STRICT
    ledger: bool = True
    overrides: tuple[Override, ...] = ()
    kueue: KueueSettings = field(default_factory=KueueSettings)
    volcano: VolcanoSettings = VolcanoSettings()
    yunikorn: YuniKornSettings = YuniKornSettings()
    reconciler: ReconcilerSettings = field(default_factory=ReconcilerSettings)
    waivable: frozenset[str] = frozenset()

    @property
    def counts_ending(self) -> bool:
        """Whether Pods count until they have ended. Kueue frees their quota when their deletion is requested."""
        usual = FreeAfter.REQUESTED if self.profile is Profile.COMPAT else FreeAfter.ENDED
        return (self.kueue.free_after or usual) is FreeAfter.ENDED

    @property
    def gates(self) -> frozenset[Dialect]:
        """The dialects whose quota Pods wait for at a gate."""
        enforced = {Dialect.VOLCANO: self.volcano.enforce, Dialect.YUNIKORN: self.yunikorn.enforce}
        return frozenset(dialect for dialect, enforce in enforced.items() if enforce is Enforce.GATES)
