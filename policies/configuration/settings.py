"""What an administrator may set: the profile, an action per rule and place, and each project's own switches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from typing import Any

from policies.configuration.job_descriptions import read_jobs
from policies.configuration.multikueue import MultiKueueOptions, read_multikueue
from policies.configuration.section import Section
from policies.dialects.job_shape import JobShape
from policies.model.errors import BadConfiguration, UnknownRule
from policies.model.forest import Forest
from policies.model.objects import GroupKind, Ref
from policies.model.rule import Action, Finding, Profile, Rule, find

API_VERSION = "config.quotree.dev/v1alpha1"
KIND = "Configuration"


@dataclass(frozen=True, slots=True)
class Override:
    """What is done about a rule's findings in one place; the last override that fits decides.

    `subtree` is the name of a node: it and all below it. `namespace` may hold `*` and `?`. `since` is the first day, in
    UTC, on which the rule denies; until then it warns.
    """

    rule: str
    action: Action
    subtree: str | None = None
    namespace: str | None = None
    since: date | None = None

    def fits(self, rule: Rule, ref: Ref, *forests: Forest) -> bool:
        if self.rule not in ("*", rule.id):
            return False
        if self.namespace is not None and not fnmatchcase(_namespace(ref), self.namespace):
            return False
        return self.subtree is None or any(self.subtree in _path(ref, forest) for forest in forests)


def _namespace(ref: Ref) -> str:
    return ref.name if ref.kind == "Namespace" and not ref.group else ref.namespace


def _path(ref: Ref, forest: Forest) -> set[str]:
    """The names from the object's node upward."""
    thing = forest.get(ref)
    node = getattr(thing, "queue", None) or ref
    return {node.name, *(ancestor.name for ancestor in forest.ancestors(node))}


GATES: Mapping[str, bool] = {
    "AdmissionGatedBy": False,
    "ConcurrentAdmission": False,
    "ElasticJobsViaWorkloadSlices": False,
    "LocalQueueDefaulting": True,
    "PartialAdmission": True,
    "PriorityBoost": False,
    "RejectUpdatesToCQWithInvalidOnFlavors": False,
    "TASValidateWorkloadSliceSize": True,
    "TopologyAwareScheduling": True,
    "WorkloadValidateResourcesAreNonNegative": True,
    "WorkloadValidationForPodSetMetadata": True,
}
"""Kueue's feature gates that its webhooks ask, by their defaults in v0.19.2."""


@dataclass(frozen=True, slots=True)
class KueueSettings:
    """`feature_gates` are those of Kueue that are set otherwise than by default.

    `manage_jobs`: the mutating webhook suspends jobs that name a LocalQueue, as Kueue's does. `manage_pods`: it holds
    back Pods that name one, by a scheduling gate, and Pods of Deployments and the like that do.
    """

    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    manage_jobs: bool = False
    manage_pods: bool = False

    def enabled(self, gate: str) -> bool:
        return self.feature_gates.get(gate, GATES[gate])


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is done about a finding; `since` is the day on which it will be denied, where that is still to come."""

    action: Action
    since: date | None = None


@dataclass(frozen=True, slots=True)
class ResourceGroup:
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

    `queue_allocation_gate` is its feature gate SchedulingGatesQueueAdmission, as its webhook has it.
    """

    max_queue_depth: int = 5
    root_queue_protection: bool = True
    queue_allocated_pods_check: bool = False
    queue_allocation_gate: bool = False
    resource_groups: tuple[ResourceGroup, ...] = ()


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

    `namespace` is where YuniKorn and its ConfigMaps are. `follow`: the webhook keeps itself told of these and of
    YuniKorn's Pods.
    """

    version: tuple[int, int] = (1, 9)
    translate_legacy_annotations: bool = False
    namespace: str = "yunikorn"
    follow: bool = True
    admission: AdmissionSettings = AdmissionSettings()


@dataclass(frozen=True, slots=True)
class ReconcilerSettings:
    """`jobs` are the kinds that the file describes, beside those that are known."""

    jobs: Mapping[GroupKind, JobShape] = field(default_factory=dict)
    multikueue: MultiKueueOptions = field(default_factory=MultiKueueOptions)


@dataclass(frozen=True, slots=True)
class Configuration:
    profile: Profile = Profile.STRICT
    overrides: tuple[Override, ...] = ()
    kueue: KueueSettings = field(default_factory=KueueSettings)
    volcano: VolcanoSettings = VolcanoSettings()
    yunikorn: YuniKornSettings = YuniKornSettings()
    reconciler: ReconcilerSettings = field(default_factory=ReconcilerSettings)
    waivable: frozenset[str] = frozenset()

    def silences(self, rule: Rule) -> bool:
        """Whether the rule is off by default and nothing here switches it on anywhere."""
        return rule.default is Action.OFF and all(
            override.action is Action.OFF for override in self.overrides if override.rule in ("*", rule.id)
        )

    def ruling(self, rule: Rule, finding: Finding, now: datetime, *forests: Forest) -> Ruling:
        """What is done about this finding of this rule, where its object stands in any of the forests."""
        for override in reversed(self.overrides):
            if override.fits(rule, finding.object, *forests):
                if override.since is not None and now.astimezone(UTC).date() < override.since:
                    return Ruling(Action.WARN, override.since)
                return Ruling(override.action)
        return Ruling(finding.action or rule.default)

    @classmethod
    def read(cls, manifest: object) -> Configuration:
        """From the parsed file. Raises BadConfiguration with the path of the key and the nearest known name."""
        top = Section(manifest, "")
        if top.text("apiVersion") != API_VERSION or top.text("kind") != KIND:
            raise BadConfiguration(f"expected apiVersion {API_VERSION} and kind {KIND}")
        volcano, yunikorn, exemptions = (top.section(key) for key in ("volcano", "yunikorn", "exemptions"))
        kueue, reconciler = top.section("kueue"), top.section("reconciler")
        gates, admission = kueue.section("featureGates"), yunikorn.section("admission")
        configuration = cls(
            profile=Profile(top.text("profile", Profile.STRICT, among=list(Profile))),
            overrides=tuple(_override(section) for section in top.sections("rules")),
            waivable=_waivable(exemptions),
            kueue=KueueSettings(
                feature_gates={gate: gates.flag(gate, default) for gate, default in GATES.items()},
                manage_jobs=kueue.flag("manageJobs", False),
                manage_pods=kueue.flag("managePods", False),
            ),
            volcano=VolcanoSettings(
                max_queue_depth=volcano.number("maxQueueDepth", VolcanoSettings().max_queue_depth),
                root_queue_protection=volcano.flag("rootQueueProtection", True),
                queue_allocated_pods_check=volcano.flag("queueAllocatedPodsCheck", False),
                queue_allocation_gate=volcano.flag("queueAllocationGate", False),
                resource_groups=tuple(_resource_group(section) for section in volcano.sections("resourceGroups")),
            ),
            yunikorn=YuniKornSettings(
                version=_version(yunikorn),
                translate_legacy_annotations=yunikorn.flag("translateLegacyAnnotations", False),
                namespace=yunikorn.text("namespace", YuniKornSettings().namespace),
                follow=yunikorn.flag("follow", True),
                admission=_admission(admission),
            ),
            reconciler=ReconcilerSettings(read_jobs(reconciler), read_multikueue(reconciler.section("multiKueue"))),
        )
        for section in (top, kueue, gates, volcano, yunikorn, admission, exemptions, reconciler):
            section.done()
        return configuration


def _override(section: Section) -> Override:
    rule = section.text("rule")
    if rule != "*":
        find(rule)
    override = Override(
        rule=rule,
        action=Action(section.text("action", among=list(Action))),
        subtree=section.optional("subtree"),
        namespace=section.optional("namespace"),
        since=section.day("from"),
    )
    if override.since is not None and override.action is not Action.DENY:
        raise BadConfiguration(
            f"a day goes with the action deny, which it begins with; here the action is {override.action}",
            section.at("from"),
        )
    section.done()
    return override


def _waivable(section: Section) -> frozenset[str]:
    """The rules that obey an exemption; those about exemptions never do."""
    rules = section.texts("waivable")
    for i, rule in enumerate(rules):
        try:
            find(rule)
        except UnknownRule as error:
            raise BadConfiguration(str(error), f"{section.at('waivable')}[{i}]") from error
        if rule.startswith("exemption-"):
            raise BadConfiguration("a rule about exemptions cannot be waived", f"{section.at('waivable')}[{i}]")
    return frozenset(rules)


def _resource_group(section: Section) -> ResourceGroup:
    object = section.section("object")
    group = ResourceGroup(
        name=section.text("resourceGroup"),
        by=object.text("key", "", among=["", "namespace", "annotation"]),
        values=tuple(object.texts("value")),
        labels=section.labels("labels"),
        affinity=section.json_object("affinity"),
        tolerations=tuple(section.mappings("tolerations")),
        scheduler_name=section.text("schedulerName", ""),
    )
    object.done()
    section.done()
    return group


def _admission(section: Section) -> AdmissionSettings:
    return AdmissionSettings(
        scheduler_name=section.text("schedulerName", "off", among=["off", "default", "always"]),
        labels=section.flag("labels", False),
        user_info=section.flag("userInfo", False),
        preemption=section.flag("preemption", False),
    )


def _version(section: Section) -> tuple[int, int]:
    text = section.text("version", "1.9")
    parts = text.removeprefix("v").split(".")
    if len(parts) < 2 or not all(part.isdecimal() for part in parts[:2]):
        raise BadConfiguration(f'{text!r} is no version; write it as text, such as "1.9"', section.at("version"))
    return int(parts[0]), int(parts[1])
