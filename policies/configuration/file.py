"""Reads Quotree's configuration file: apiVersion, kind and the keys of `Configuration`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from policies.configuration.job_descriptions import read_jobs
from policies.configuration.kueue.gates import LATEST, OF_WEBHOOKS, FeatureGates, KueueVersion, check_gates
from policies.configuration.multikueue import read_multikueue
from policies.configuration.section import Section
from policies.configuration.settings import (
    ADMITTING_USERS,
    AdmissionSettings,
    Configuration,
    Dialect,
    Enforce,
    FreeAfter,
    KueueSettings,
    Override,
    QuotaReclaim,
    ReconcilerSettings,
    VolcanoResourceGroup,
    VolcanoSettings,
    YuniKornSettings,
)
from policies.dialects.frameworks import FRAMEWORKS
from policies.dialects.labels import selector_faults
from policies.dialects.selectors import LabelSelector, read_label_selector
from policies.dialects.volcano_programs import VC_CONTROLLER, VC_SCHEDULER
from policies.model.errors import BadConfiguration, UnknownRule
from policies.model.findings import Action, Profile

API_VERSION = "config.quotree.dev/v1alpha1"
KIND = "Configuration"


def read_configuration(
    manifest: object,
    rules: Collection[str],
    gates: Collection[Dialect] = frozenset(),
    installed: Callable[[], KueueVersion] = lambda: LATEST,
) -> Configuration:
    """The configuration in a parsed file. Raises BadConfiguration with the key's path.

    `rules`: the ids of the rules that it may name.
    `gates`: the dialects whose quota is enforced with scheduling gates by default.
    `installed`: returns the version of Kueue; called if the file does not name one.
    """
    top = Section(manifest, "")
    if top.text("apiVersion") != API_VERSION or top.text("kind") != KIND:
        raise BadConfiguration(f"expected apiVersion {API_VERSION} and kind {KIND}")
    volcano, yunikorn, exemptions = (top.section(key) for key in ("volcano", "yunikorn", "exemptions"))
    kueue, reconciler = top.section("kueue"), top.section("reconciler")
    kueue_gates, admission = kueue.section("featureGates"), yunikorn.section("admission")
    version = _kueue_version(top, installed)
    configuration = Configuration(
        profile=Profile(top.text("profile", Profile.STRICT, among=list(Profile))),
        ledger=top.flag("ledger", True),
        overrides=tuple(_override(section, rules) for section in top.sections("rules")),
        waivable=_waivable(exemptions, rules),
        kueue=KueueSettings(
            version=version,
            feature_gates=_gates(kueue_gates, version),
            manage_jobs=kueue.flag("manageJobs", False),
            manage_pods=kueue.flag("managePods", False),
            namespaces=_namespaces(kueue),
            frameworks=tuple(_checked_names(kueue, "frameworks", FRAMEWORKS, kueue.texts("frameworks"))),
            without_queue=kueue.flag("manageJobsWithoutQueueName", False),
            admitting_users=_admitting_users(kueue),
            free_after=_free_after(kueue),
        ),
        volcano=VolcanoSettings(
            max_queue_depth=volcano.number("maxQueueDepth", VolcanoSettings().max_queue_depth),
            root_queue_protection=volcano.flag("rootQueueProtection", True),
            queue_allocated_pods_check=volcano.flag("queueAllocatedPodsCheck", False),
            queue_allocation_gate=volcano.flag("queueAllocationGate", False),
            enforce=_enforce(volcano, Dialect.VOLCANO in gates),
            checks_sums=volcano.flag("checkSums", False),
            reclaim=QuotaReclaim(volcano.text("reclaim", QuotaReclaim.OFF, among=list(QuotaReclaim))),
            root_from_nodes=volcano.flag("rootFromNodes", False),
            resource_groups=tuple(_resource_group(section) for section in volcano.sections("resourceGroups")),
        ),
        yunikorn=YuniKornSettings(
            version=_yunikorn_version(yunikorn),
            translate_legacy_annotations=yunikorn.flag("translateLegacyAnnotations", False),
            namespace=yunikorn.text("namespace", YuniKornSettings().namespace),
            follow=yunikorn.flag("follow", True),
            admission=AdmissionSettings(
                scheduler_name=admission.text("schedulerName", "off", among=["off", "default", "always"]),
                labels=admission.flag("labels", False),
                user_info=admission.flag("userInfo", False),
                preemption=admission.flag("preemption", False),
            ),
            enforce=_enforce(yunikorn, Dialect.YUNIKORN in gates),
            preempts=yunikorn.flag("preemption", False),
        ),
        reconciler=ReconcilerSettings(
            read_jobs(reconciler),
            read_multikueue(reconciler.section("multiKueue")),
            _dialects(reconciler),
            _replaces(reconciler),
        ),
    )
    for section in (top, kueue, kueue_gates, volcano, yunikorn, admission, exemptions, reconciler):
        section.done()
    return _with_gated_dialects(configuration)


def _with_gated_dialects(configuration: Configuration) -> Configuration:
    """The configuration, with every dialect that uses scheduling gates managed by the reconciler.

    Without the reconciler, nothing would remove the gates of Pods.
    """
    reconciler = configuration.reconciler
    dialects = reconciler.dialects | configuration.gates
    return replace(configuration, reconciler=replace(reconciler, dialects=dialects))


def _override(section: Section, rules: Collection[str]) -> Override:
    rule = section.text("rule")
    if rule != "*" and rule not in rules:
        raise UnknownRule(rule, rules)
    override = Override(
        rule=rule,
        action=Action(section.text("action", among=list(Action))),
        subtree=section.optional("subtree"),
        namespace=section.optional("namespace"),
        since=section.day("from"),
    )
    if override.since is not None and override.action is not Action.DENY:
        raise BadConfiguration(
            f"only the action deny can have a start date; here the action is {override.action}", section.at("from")
        )
    section.done()
    return override


def _gates(section: Section, version: KueueVersion) -> dict[str, bool]:
    """The feature gates that Kueue's webhooks read. An unknown name is refused with Kueue's message."""
    found = {gate: section.flag(gate, default) for gate, default in OF_WEBHOOKS[version].items()}
    for gate in section.rest():
        check_gates(FeatureGates({gate: section.flag(gate, False)}, version), section.at("")[:-1])
        text = "the webhooks do not read it; set it in Kueue's Configuration: quotree serve reconciler --config"
        raise BadConfiguration(text, section.at(gate))
    return found


def _namespaces(section: Section) -> LabelSelector:
    """The namespaces in which jobs are managed; all namespaces if the key is absent."""
    key = "managedJobsNamespaceSelector"
    selector = section.mapping(key)
    fault = next(selector_faults(selector, section.at(key)), None)
    if fault is not None:
        raise BadConfiguration(fault.message, fault.field)
    return read_label_selector(selector) or LabelSelector()


def _kueue_version(section: Section, installed: Callable[[], KueueVersion]) -> KueueVersion:
    named = section.optional("kueueVersion")
    if named is None:
        return installed()
    if named not in list(KueueVersion):
        known = ", ".join(KueueVersion)
        raise BadConfiguration(f"{named!r} is not valid; it must be one of {known}", section.at("kueueVersion"))
    return KueueVersion(named)


def _admitting_users(section: Section) -> tuple[str, ...]:
    """The users who may admit. The default is the users of Kueue and Quotree, since without any no job could start."""
    users = section.texts("admittingUsers") or list(ADMITTING_USERS)
    if not all(users):
        raise BadConfiguration("expected user names", section.at("admittingUsers"))
    return tuple(users)


def _free_after(section: Section) -> FreeAfter | None:
    named = section.optional("freeAfter")
    if named is None or named in list(FreeAfter):
        return FreeAfter(named) if named else None
    known = ", ".join(FreeAfter)
    raise BadConfiguration(f"{named!r} is unknown; it must be one of {known}", section.at("freeAfter"))


def _waivable(section: Section, rules: Collection[str]) -> frozenset[str]:
    """The rules that can be waived with an exemption. The rules about exemptions cannot."""
    waivable = section.texts("waivable")
    for i, rule in enumerate(waivable):
        at = f"{section.at('waivable')}[{i}]"
        if rule not in rules:
            raise BadConfiguration(str(UnknownRule(rule, rules)), at)
        if rule.startswith("exemption-"):
            raise BadConfiguration("a rule about exemptions cannot be waived", at)
    return frozenset(waivable)


def _dialects(section: Section) -> frozenset[Dialect]:
    named = section.texts("dialects") or [Dialect.KUEUE.value]
    return frozenset(map(Dialect, _checked_names(section, "dialects", [dialect.value for dialect in Dialect], named)))


def _replaces(section: Section) -> frozenset[str]:
    """The programs that the reconciler replaces for good; none without the key."""
    return frozenset(_checked_names(section, "replaces", [VC_CONTROLLER, VC_SCHEDULER], section.texts("replaces")))


def _checked_names(section: Section, key: str, known: Collection[str], named: Collection[str]) -> Collection[str]:
    """The names, if all are known. Raises BadConfiguration for one that is not."""
    for i, name in enumerate(named):
        if name not in known:
            raise BadConfiguration(
                f"{name!r} is unknown; it must be one of {', '.join(known)}", f"{section.at(key)}[{i}]"
            )
    return named


def _resource_group(section: Section) -> VolcanoResourceGroup:
    object = section.section("object")
    group = VolcanoResourceGroup(
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


def _enforce(section: Section, by_gates: bool) -> Enforce:
    return Enforce(section.text("enforce", Enforce.GATES if by_gates else Enforce.OFF, among=list(Enforce)))


def _yunikorn_version(section: Section) -> tuple[int, int]:
    text = section.text("version", "1.9")
    parts = text.removeprefix("v").split(".")
    if len(parts) < 2 or not all(part.isdecimal() for part in parts[:2]):
        raise BadConfiguration(f'{text!r} is not a valid version; write a string such as "1.9"', section.at("version"))
    return int(parts[0]), int(parts[1])
