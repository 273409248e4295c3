"""Kueue's Cohort, ClusterQueue and LocalQueue, in every version of kueue.x-k8s.io.

Source: Kueue v0.19, apis/kueue v1beta2 and v1beta1; Cohort also as v1alpha1 (Kueue 0.9 to 0.13). Only the field names
differ: spec.cohort became spec.cohortName, a Cohort's spec.parent became spec.parentName.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from policies.dialects.kueue_kinds import (
    ADMISSION_CHECK,
    CLUSTER_QUEUE,
    COHORT,
    GROUP,
    IN_USE,
    LOCAL_QUEUE,
    RESOURCE_FLAVOR,
    WORKLOAD,
    flavor_resource,
)
from policies.dialects.kueue_quotas import FlavorQuotas, ResourceGroup, ResourceQuota, quota_field, steps
from policies.dialects.kueue_state import Preemption, read_preemption, read_reserved
from policies.dialects.labels import is_qualified_name, selector_faults
from policies.dialects.reading import Manifest, ManifestReader, identity, listing, mapping, text
from policies.dialects.selectors import LabelSelector, read_label_selector
from policies.model import fields
from policies.model.objects import Attached, Defect, Node, Ref, SubtreeShare
from policies.model.pools import NO_POOL, NO_TERMS, Pool, Terms, upward_share
from policies.model.quantity import Quantity

__all__ = [
    "CLUSTER_QUEUE",
    "COHORT",
    "GROUP",
    "IN_USE",
    "LOCAL_QUEUE",
    "RESOURCE_FLAVOR",
    "WORKLOAD",
    "AdmissionCheckUse",
    "ClusterQueue",
    "Cohort",
    "ConcurrentAdmission",
    "FlavorQuotas",
    "KueueNode",
    "LocalQueue",
    "ResourceGroup",
    "ResourceQuota",
    "flavor_resource",
    "read_cluster_queue",
    "read_cohort",
    "read_local_queue",
]

_OLD_COHORT_PARENT = ("v1alpha1",)
_OLD_CLUSTER_QUEUE_PARENT = ("v1alpha1", "v1alpha2", "v1beta1")
_SMALLEST_WEIGHT = Quantity.of_nano(2)
"""The smallest weight above 0: Kueue divides by the weight in units of 1e-9, and refuses 1n as too small."""
_MOST_FLAVORS = _MOST_RESOURCES = 256
_MOST_PAIRS = 512
"""The limits of Kueue's webhook: flavors and resources of a ClusterQueue, and pairs of both in one group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KueueNode(Node):
    """The common fields of Cohort and ClusterQueue.

    `parent`: the parent Cohort, which need not exist as an object.
    `parent_field`: the path of its name, which depends on the version.
    `groups`: the resource groups in spec.
    `effective`: those in status.effectiveQuotas, which an orchestrator writes; None if spec applies.
    `weight`: fairSharing.weight; None if it is absent.
    """

    groups: tuple[ResourceGroup, ...] = ()
    effective: tuple[ResourceGroup, ...] | None = None
    weight: Quantity | None = None
    _terms: Mapping[str, Terms] = field(init=False, repr=False, compare=False)
    _first: Mapping[str, Terms] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the terms once, since rules use them often."""
        listed = [(flavor_resource(flavor.name, quota.name), quota.terms()) for flavor, quota in _quotas(self.in_force)]
        terms = dict(listed)
        object.__setattr__(self, "_terms", terms)
        object.__setattr__(self, "_first", terms if len(terms) == len(listed) else dict(reversed(listed)))

    @property
    def in_force(self) -> tuple[ResourceGroup, ...]:
        """The resource groups whose quota counts: those of an orchestrator if it wrote any, else those of spec."""
        return self.groups if self.effective is None else self.effective

    def quotas(self) -> Iterator[tuple[FlavorQuotas, ResourceQuota]]:
        """All quotas of spec, each with its flavor, in the order of the manifest."""
        return _quotas(self.groups)

    def quotas_in_force(self) -> Iterator[tuple[FlavorQuotas, ResourceQuota]]:
        """All quotas that count, each with its flavor; see `in_force`."""
        return _quotas(self.in_force)

    def share(self, below: SubtreeShare) -> SubtreeShare:
        """The share of this subtree: for each FlavorResource the nominal quota of this node, or if it has none, the sum
        over its children.

        This is for planning from the root down. Kueue itself adds a Cohort's nominal quota to that of its children.
        """
        quotas = _quotas(self.in_force)
        own = {flavor_resource(f.name, r.name): r.nominal.nano for f, r in quotas if r.nominal is not None}
        return SubtreeShare(nominal={**below.nominal, **own}, height=below.height + 1, pools=self.pools(below.pools))

    def uses(self) -> frozenset[Ref]:
        return frozenset(RESOURCE_FLAVOR.named(flavor.name) for group in self.groups for flavor in group.flavors)

    def terms(self) -> Mapping[str, Terms]:
        """The quota and limits of this node by FlavorResource, as Kueue counts them."""
        return self._terms

    def terms_of(self, pair: str) -> Terms:
        """The terms of one FlavorResource. If it is listed twice, which a rule refuses, the first ones."""
        return self._first.get(pair, NO_TERMS)

    def pools(self, below: Mapping[str, Pool]) -> dict[str, Pool]:
        """The quota that this subtree offers to its parent. `below`: the total over the children."""
        terms = self.terms()
        return {
            pair: upward_share(terms.get(pair, NO_TERMS), pool, pool.taken, pool.queues)
            for pair, pool in {**dict.fromkeys(terms, NO_POOL), **below}.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort(KueueNode):
    """An inner node. All its descendants share its nominal quota."""


@dataclass(frozen=True, slots=True)
class AdmissionCheckUse:
    """An AdmissionCheck that a ClusterQueue uses.

    `on_flavors`: the flavors that it applies to; empty for all.
    `field`: the path of its onFlavors.
    """

    name: str
    on_flavors: tuple[str, ...]
    field: str

    @property
    def name_field(self) -> str:
        """The path of its name. In the plain list of v1beta1 the whole entry is the name."""
        return f"{self.field.removesuffix('.onFlavors')}.name" if self.field.endswith(".onFlavors") else self.field


@dataclass(frozen=True, slots=True)
class ConcurrentAdmission:
    """spec.concurrentAdmissionPolicy.

    `mode`: whether a workload still tries better flavors.
    `last_flavor`: lastAcceptableFlavorName, or None.
    `constrained`: whether the policy has constraints.
    """

    mode: str
    last_flavor: str | None
    constrained: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterQueue(KueueNode):
    """A leaf, to which LocalQueues point.

    `selector`: its namespaceSelector; None if it has none, and so serves no namespace.
    `selector_faults`: the faults of the namespaceSelector.
    `checks`: the AdmissionChecks that it uses.
    `concurrent`: spec.concurrentAdmissionPolicy; None if it is absent.
    `reserved`: the reserved quota in status by FlavorResource, in Kueue's units.
    """

    queueing_strategy: str = ""
    selector: LabelSelector | None = None
    selector_faults: tuple[Defect, ...] = ()
    checks: tuple[AdmissionCheckUse, ...] = ()
    concurrent: ConcurrentAdmission | None = None
    stop_policy: str = "None"
    preemption: Preemption = field(default_factory=Preemption)
    reserved: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_stopped(self) -> bool:
        return self.stop_policy in ("Hold", "HoldAndDrain")

    def uses(self) -> frozenset[Ref]:
        return KueueNode.uses(self) | {ADMISSION_CHECK.named(check.name) for check in self.checks}

    def pools(self, below: Mapping[str, Pool]) -> dict[str, Pool]:  # noqa: ARG002, a leaf has nothing below
        """See KueueNode.pools. Reserved quota still counts after its flavor was removed from the list."""
        terms = self.terms()
        left = {
            pair: upward_share(NO_TERMS, NO_POOL, held, 0) for pair, held in self.reserved.items() if pair not in terms
        }
        return left | {pair: upward_share(own, NO_POOL, self.reserved.get(pair, 0), 1) for pair, own in terms.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalQueue(Attached):
    """A namespaced object that points to a ClusterQueue, its `queue`."""

    @property
    def is_work(self) -> bool:
        return False


def _quotas(groups: tuple[ResourceGroup, ...]) -> Iterator[tuple[FlavorQuotas, ResourceQuota]]:
    return ((flavor, quota) for group in groups for flavor in group.flavors for quota in flavor.resources)


def read_cohort(manifest: Manifest, *, checked: bool = True, orchestrated: bool = False) -> Cohort:
    """Read a Cohort.

    `checked`: whether to find defects of structure and names, which takes as long as all the rest.
    `orchestrated`: whether status.effectiveQuotas applies (Kueue's gate DynamicQuotaOrchestration).
    """
    judged, spec = manifest if checked else {}, mapping(manifest.get("spec"))
    reader = ManifestReader(judged)
    key = "parent" if _version(manifest) in _OLD_COHORT_PARENT else "parentName"
    return Cohort(
        ref=identity(manifest, COHORT, namespaced=False),
        api_version=str(manifest.get("apiVersion")),
        parent=_cohort(spec.get(key)),
        parent_field=f"spec.{key}",
        groups=_groups(reader, spec),
        effective=_effective(manifest) if orchestrated else None,
        weight=_weight(reader, spec),
        defects=(*reader.defects(), *_bad_names(mapping(judged.get("spec")))),
    )


def read_cluster_queue(manifest: Manifest, *, checked: bool = True, orchestrated: bool = False) -> ClusterQueue:
    """Read a ClusterQueue. The flags are as for a Cohort. Without `checked`, `selector_faults`, `concurrent` and
    `reserved` are not read either."""
    judged, spec = manifest if checked else {}, mapping(manifest.get("spec"))
    reader, of_rules = ManifestReader(judged), mapping(judged.get("spec"))
    key = "cohort" if _version(manifest) in _OLD_CLUSTER_QUEUE_PARENT else "cohortName"
    groups = _groups(reader, spec)
    return ClusterQueue(
        ref=identity(manifest, CLUSTER_QUEUE, namespaced=False),
        api_version=str(manifest.get("apiVersion")),
        parent=_cohort(spec.get(key)),
        parent_field=f"spec.{key}",
        groups=groups,
        effective=_effective(manifest) if orchestrated else None,
        weight=_weight(reader, spec),
        queueing_strategy=text(spec.get("queueingStrategy")) or "BestEffortFIFO",
        selector=read_label_selector(spec.get("namespaceSelector")),
        selector_faults=tuple(selector_faults(of_rules.get("namespaceSelector"), "spec.namespaceSelector")),
        checks=tuple(_checks(spec)),
        concurrent=_concurrent(of_rules.get("concurrentAdmissionPolicy")),
        stop_policy=text(spec.get("stopPolicy")) or "None",
        preemption=read_preemption(mapping(spec.get("preemption"))),
        reserved=read_reserved(mapping(judged.get("status"))),
        defects=(*reader.defects(), *_bad_names(of_rules), *_too_many(groups)),
    )


def read_local_queue(manifest: Manifest) -> LocalQueue:
    queue = text(mapping(manifest.get("spec")).get("clusterQueue"))
    return LocalQueue(
        ref=identity(manifest, LOCAL_QUEUE, namespaced=True),
        api_version=str(manifest.get("apiVersion")),
        queue=CLUSTER_QUEUE.named(queue) if queue else None,
        queue_field="spec.clusterQueue",
        defects=ManifestReader(manifest).defects(),
    )


def _version(manifest: Manifest) -> str:
    return str(manifest.get("apiVersion")).rpartition("/")[2]


def _cohort(value: object) -> Ref | None:
    name = text(value)
    return COHORT.named(name) if name else None


def _weight(reader: ManifestReader, spec: Mapping[str, object]) -> Quantity | None:
    at = "spec.fairSharing.weight"
    weight = reader.quantity(mapping(spec.get("fairSharing")).get("weight"), at)
    if weight is not None and Quantity.ZERO < weight < _SMALLEST_WEIGHT:
        reader.bad(at, f"{weight.text} is too small for a weight; the smallest above 0 is {_SMALLEST_WEIGHT}")
        return None
    return weight


def _groups(reader: ManifestReader, spec: Mapping[str, object]) -> tuple[ResourceGroup, ...]:
    return tuple(_group(reader, mapping(group), g) for g, group in enumerate(listing(spec.get("resourceGroups"))))


def _effective(manifest: Manifest) -> tuple[ResourceGroup, ...] | None:
    """The groups in status.effectiveQuotas. An empty list means no quota at all. Faults in it are ignored, since an
    orchestrator writes it, not the user."""
    quotas = mapping(manifest.get("status")).get("effectiveQuotas")
    return None if quotas is None else _groups(ManifestReader({}), mapping(quotas))


def _group(reader: ManifestReader, group: Mapping[str, object], g: int) -> ResourceGroup:
    flavors = enumerate(listing(group.get("flavors")))
    return ResourceGroup(
        covered_resources=tuple(text(name) or "" for name in listing(group.get("coveredResources"))),
        flavors=tuple(_flavor(reader, mapping(flavor), g, f) for f, flavor in flavors),
        at=g,
    )


def _flavor(reader: ManifestReader, flavor: Mapping[str, object], g: int, f: int) -> FlavorQuotas:
    resources = enumerate(listing(flavor.get("resources")))
    return FlavorQuotas(
        name=text(flavor.get("name")) or "",
        resources=tuple(_resource(reader, mapping(resource), (g, f, r)) for r, resource in resources),
        at=(g, f),
    )


def _resource(reader: ManifestReader, resource: Mapping[str, object], at: tuple[int, int, int]) -> ResourceQuota:
    def amount(key: str) -> Quantity | None:
        value = resource.get(key)
        return None if value is None else reader.quantity(value, quota_field(at, key))

    return ResourceQuota(
        name=text(resource.get("name")) or "",
        nominal=amount("nominalQuota"),
        borrowing_limit=amount("borrowingLimit"),
        lending_limit=amount("lendingLimit"),
        at=at,
    )


def _bad_names(spec: Mapping[str, object]) -> Iterator[Defect]:
    """Covered resources whose name Kueue's webhook refuses; the schema accepts any text."""
    for g, group in enumerate(listing(spec.get("resourceGroups"))):
        for index, name in enumerate(listing(mapping(group).get("coveredResources"))):
            if isinstance(name, str) and not is_qualified_name(name):
                yield Defect(
                    fields.join("spec", *steps(g), "coveredResources", index),
                    f"{name[:80]!r} is not a resource name; write one like cpu or nvidia.com/gpu",
                )


def _too_many(groups: tuple[ResourceGroup, ...]) -> Iterator[Defect]:
    """Totals that exceed the limits of Kueue's webhook. The schema limits each list alone."""
    flavors = sum(len(group.flavors) for group in groups)
    if flavors > _MOST_FLAVORS:
        yield Defect("spec.resourceGroups", f"{flavors} flavors in all groups; at most {_MOST_FLAVORS} are allowed")
    resources = sum(len(group.covered_resources) for group in groups)
    if resources > _MOST_RESOURCES:
        message = f"{resources} covered resources in all groups; at most {_MOST_RESOURCES} are allowed"
        yield Defect("spec.resourceGroups", message)
    for group in groups:
        pairs = sum(len(flavor.resources) for flavor in group.flavors)
        if pairs > _MOST_PAIRS:
            message = f"{pairs} pairs of flavor and resource in one group; at most {_MOST_PAIRS} are allowed"
            yield Defect(fields.join("spec", *steps(group.at)), message)


def _checks(spec: Mapping[str, object]) -> Iterator[AdmissionCheckUse]:
    plain = listing(spec.get("admissionChecks"))  # of v1beta1; it replaces the strategy
    for index, name in enumerate(plain):
        yield AdmissionCheckUse(text(name) or "", (), fields.join("spec.admissionChecks", index))
    strategy = {} if plain else mapping(spec.get("admissionChecksStrategy"))
    for index, entry in enumerate(listing(strategy.get("admissionChecks"))):
        check = mapping(entry)
        flavors = tuple(text(name) or "" for name in listing(check.get("onFlavors")))
        at = fields.join("spec.admissionChecksStrategy.admissionChecks", index, "onFlavors")
        yield AdmissionCheckUse(text(check.get("name")) or "", flavors, at)


def _concurrent(policy: object) -> ConcurrentAdmission | None:
    if policy is None:
        return None
    migration = mapping(mapping(policy).get("migration"))
    constraints = migration.get("constraints")
    last = text(mapping(constraints).get("lastAcceptableFlavorName"))
    return ConcurrentAdmission(text(migration.get("mode")) or "", last, constraints is not None)
