"""Makes the plan of a take-over or its reversal: the refusals and the steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from policies.configuration.file import read_configuration
from policies.configuration.kueue.gates import OF_WEBHOOKS, KueueVersion
from policies.configuration.kueue.namespaces import SELECTOR
from policies.configuration.settings import Configuration, KueueSettings, ReconcilerSettings
from policies.dialects.frameworks import FRAMEWORKS
from policies.dialects.kueue_kinds import LABEL
from policies.dialects.reading import Manifest, listing, mapping, metadata, text, texts
from policies.dialects.selectors import LabelSelector, Requirement, read_label_selector
from policies.model.errors import PolicyError
from policies.rules import registry
from policies.takeover import giving, taking
from policies.takeover.objects import (
    CONVERSION_BEFORE,
    FoundCluster,
    ReleaseNames,
    TakeoverPlan,
    follows_workers,
    manager_version,
    options,
    pod_spec,
    ref_of,
    replicas,
    unready,
)
from policies.takeover.translation import KEY, Translated, translate
from policies.takeover.versions import known_version
from policies.text import yaml_values
from policies.text.positions import BadText

CONVERTED = frozenset(
    (
        "admissionchecks",
        "clusterqueues",
        "cohorts",
        "localqueues",
        "multikueueclusters",
        "multikueueconfigs",
        "workloads",
    )
)
"""The kinds whose CustomResourceDefinition Quotree's webhook may update."""
_ASKED = {
    "MutatingWebhookConfiguration": ("kueue-finalizers", "kueue-jobs", "kueue-other-jobs", "kueue-templates"),
    "ValidatingWebhookConfiguration": ("kueue-trees", "kueue-localqueues", "kueue-workloads", "kueue-jobs"),
}
_ASKED_FOR_PODS = {
    "MutatingWebhookConfiguration": ("kueue-pods", "kueue-default-pods"),
    "ValidatingWebhookConfiguration": ("kueue-pods", "kueue-pod-marks"),
}

Judge = Callable[[Manifest, Configuration], object]
"""Reads a configuration as the reconciler does, together with Quotree's own one. Raises BadConfiguration."""
_WEBHOOKS_OF_JOBS = {
    "MutatingWebhookConfiguration": frozenset(
        ("kueue-jobs", "kueue-other-jobs", "kueue-templates", "kueue-pods", "kueue-default-pods")
    ),
    "ValidatingWebhookConfiguration": frozenset(("kueue-jobs",)),
}


def take_over(
    found: FoundCluster, names: ReleaseNames, kinds: Collection[str], judge: Judge, render: taking.Render
) -> TakeoverPlan:
    """The plan of a take-over.

    `kinds`: the frameworks that the reconciler runs by default.
    `judge`: reads the translated configuration.
    `render`: writes a configuration as a text.
    """
    missing = tuple(_missing(found, names))
    if missing:
        return TakeoverPlan(refusals=missing)
    manager = found.objects[names.manager]
    written = text(mapping(found.objects[names.manager_configuration].get("data")).get(KEY))
    if written is None:
        return TakeoverPlan(refusals=(f"{names.manager_configuration} has no key {KEY}",))
    version = known_version(manager_version(manager))
    if version is None:
        return TakeoverPlan(refusals=tuple(_unknown(manager, names)))
    refusals = [*_unserved(found, names), *_unconvertible(found, names)]
    own = _own(found.objects[names.settings], version)
    if isinstance(own, str):
        return TakeoverPlan(refusals=(*refusals, f"{names.settings}: {own}"))
    if not options(found.objects[names.reconciler], "--settings"):
        own = replace(own, reconciler=ReconcilerSettings())  # it does not read descriptions of kinds of jobs
    described = own.reconciler.jobs
    known = {*kinds, *(name for name, framework in FRAMEWORKS.items() if framework.kind in described)}
    translated = translate(written, manager, known, found.groups, names.kueue_namespace, version)
    refusals += _misnamed(names, own.kueue, manager_version(manager), version)
    refusals += translated.refusals or _judged(translated, judge, own)
    refusals += [] if translated.refusals else _unlike(found, names, own, translated)
    if taking.started_with(found, names) != translated.digest:
        refusals += _running_shards(found, names)
    if refusals:
        return TakeoverPlan(refusals=tuple(refusals))
    steps = taking.steps(found, names, translated, render)
    return TakeoverPlan(steps, notes=(*translated.account, *_advice(found, names, translated)))


def give_back(found: FoundCluster, names: ReleaseNames) -> TakeoverPlan:
    """The plan of the reversal.

    It is refused only if Kueue's manager or an annotation with old values is missing, or if a shard runs.
    """
    needed = (names.manager, names.reconciler, names.configuration)
    gone = [f"{ref} is missing: install it again" for ref in needed if ref not in found.objects]
    if refusals := (*gone, *_forgotten(found)):
        return TakeoverPlan(refusals=refusals)
    steps = giving.steps(found, names)
    if not any(step.writes for step in steps[2:]) and not any(taking.traces(found, names)):
        return TakeoverPlan(notes=("Quotree has not taken over from Kueue here",))
    if refusals := tuple(_running_shards(found, names)):
        return TakeoverPlan(refusals=refusals)
    notes = [f"{names.webhook} stays: it checks changes to the trees and admits no workloads."]
    for dialect in options(found.objects[names.reconciler], "--gates"):
        gate = f"manifests/components/{dialect}-gates"
        notes.append(f"Pods at the gate of {dialect} wait until the reconciler runs again: take {gate} out first")
    return TakeoverPlan(steps, notes=tuple(notes))


def _forgotten(found: FoundCluster) -> Iterator[str]:
    """Refusals for Kueue's definitions that Quotree converts, but that lack the annotation with the old conversion."""
    for each in found.definitions:
        known = LABEL in texts(metadata(each).get("labels")) or taking.is_converted(each)
        if taking.names_us(each) and not known:
            yield f"{ref_of(each)} lacks the annotation {CONVERSION_BEFORE}: apply Kueue's definitions again"


def _running_shards(found: FoundCluster, names: ReleaseNames) -> Iterator[str]:
    """Refusals for reconcilers of other shards, which the steps neither stop nor restart."""
    for ref in sorted(found.objects):
        if names.is_shard(ref) and replicas(found.objects[ref]):
            yield f"{ref} runs the reconciler of a shard: scale it to 0. It may only run beside {names.reconciler}"


def _missing(found: FoundCluster, names: ReleaseNames) -> Iterator[str]:
    for ref in (names.manager, names.manager_configuration):
        if ref not in found.objects:
            yield f"{ref} is missing: say where Kueue is with --kueue-namespace and --kueue-name"
    ours = (names.webhook, names.validating, names.mutating, names.settings)
    for ref in (*ours, names.reconciler, names.configuration):
        if ref not in found.objects:
            folder = "with-multikueue" if found.other_clusters else "with-reconciler"
            yield f"{ref} is missing: apply manifests/{folder} first"


def _unknown(manager: Manifest, names: ReleaseNames) -> Iterator[str]:
    known = " and ".join(KueueVersion)
    version = manager_version(manager) or "of an unknown version"
    yield f"{names.manager} is Kueue {version}: only {known} can be taken over"


def _misnamed(names: ReleaseNames, settings: KueueSettings, installed: str, version: KueueVersion) -> Iterator[str]:
    """A refusal if Quotree's configuration names another version of Kueue than the installed one."""
    if settings.version != version:
        named = f'kueueVersion: "{settings.version}"'
        yield f'{names.settings} has {named}, and Kueue is {installed}: set it to "{version}", or remove it'


def _unserved(found: FoundCluster, names: ReleaseNames) -> Iterator[str]:
    """Refusals if Quotree's webhook does not answer yet, since it must before Kueue's webhooks are turned off."""
    if why := unready(found.objects[names.webhook]):
        yield f"{names.webhook} does not serve: {why}"
    if not replicas(found.objects[names.webhook]):
        yield f"{names.webhook} does not serve: it is at 0"
    for ref in (names.mutating, names.validating):
        webhooks = [mapping(each) for each in listing(found.objects[ref].get("webhooks"))]
        present = {text(each.get("name")) for each in webhooks}
        for name in _ASKED[ref.kind]:
            if f"{name}.quotree.dev" not in present:
                yield f"{ref} lacks {name}.quotree.dev: apply manifests/base again"
        if any(not mapping(each.get("clientConfig")).get("caBundle") for each in webhooks):
            yield f"{ref} has no caBundle yet: the webhook writes it when it starts"
    first = mapping(next(iter(listing(found.objects[names.validating].get("webhooks"))), None))
    if not mapping(mapping(first.get("clientConfig")).get("service")):
        yield f"{names.validating} names no Service, so none can be named for conversions either"


def _unconvertible(found: FoundCluster, names: ReleaseNames) -> Iterator[str]:
    for each in found.definitions:
        plural = text(mapping(mapping(each.get("spec")).get("names")).get("plural")) or ""
        if taking.converted_in(each, names.kueue_namespace) and plural not in CONVERTED:
            yield f"{plural} are converted by Kueue's manager, and Quotree's webhook does not convert them"


def _judged(translated: Translated, judge: Judge, own: Configuration) -> Iterator[str]:
    try:
        judge(translated.manifest, own)
    except PolicyError as error:
        yield f"Kueue's Configuration: {error}"


def _unlike(found: FoundCluster, names: ReleaseNames, own: Configuration, translated: Translated) -> Iterator[str]:
    """Refusals for settings with which Quotree's webhook would behave differently from Kueue's."""
    assert translated.read is not None
    settings = own.kueue
    if not settings.manage_jobs:
        yield f"{names.settings} lacks kueue.manageJobs: true; without it new jobs start unsuspended"
    if translated.read.jobs.without_queue_name and not settings.without_queue:
        yield f"{names.settings} lacks kueue.manageJobsWithoutQueueName: true; without it such jobs start unsuspended"
    if settings.without_queue and not translated.read.jobs.without_queue_name:
        yield f"{names.settings} has kueue.manageJobsWithoutQueueName: true, and Kueue does not: such jobs never start"
    user = _user(found.objects[names.manager], names)
    if user not in settings.admitting_users:
        yield f"{names.settings} lacks {user} under kueue.admittingUsers; without it Kueue's manager starts nothing"
    if translated.read.integrations.pods:
        yield from _without_pods(found, names, settings)
    elif settings.manage_pods:
        yield f"{names.settings} has kueue.managePods: true, and Kueue queues no Pods: those with a queue never start"
    yield from _other_kinds(found, names, own, translated.read.integrations.frameworks)
    yield from called_elsewhere(found, names, settings, translated.read.jobs.namespace_selector)
    for gate, usual in OF_WEBHOOKS[settings.version].items():
        wanted = translated.read.gates.chosen.get(gate, usual)
        if settings.feature_gates.get(gate, usual) != wanted:
            value = str(wanted).lower()
            yield f"{names.settings} has another value of the feature gate {gate}: set it to {value} there"
    if found.other_clusters and not follows_workers(found.objects[names.reconciler]):
        yield (
            f"there are MultiKueueClusters, and {names.reconciler} does not follow them:"
            " apply manifests/with-multikueue"
        )


def _other_kinds(
    found: FoundCluster, names: ReleaseNames, own: Configuration, queued: Collection[str]
) -> Iterator[str]:
    """Refusals for kinds of jobs that only Quotree's webhook suspends, or only Kueue queues.

    Kinds that Quotree's Configuration describes are suspended in any case.
    """
    suspendable = {name: each for name, each in FRAMEWORKS.items() if each.suspend is not None}
    served = {name for name, each in suspendable.items() if each.kind.group in found.groups}
    suspended = {name for name in served if own.framework(suspendable[name].kind)}
    described = {name for name in served if suspendable[name].kind in own.reconciler.jobs}
    wanted = f"set kueue.frameworks: [{', '.join(queued)}] in {names.settings}"
    if others := sorted(suspended - described - set(queued)):
        kinds = ", ".join(others)
        yield f"Kueue does not queue {kinds}, and {names.mutating} suspends those that name a queue: {wanted}"
    if unsuspended := sorted(served & set(queued) - suspended):
        yield f"new jobs of {', '.join(unsuspended)} would start unsuspended: {wanted}"


def _user(manager: Manifest, names: ReleaseNames) -> str:
    """The user of Kueue's manager. It still writes until it has ended, and Quotree's webhook must allow its writes."""
    pod = pod_spec(manager)
    account = text(pod.get("serviceAccountName")) or "default"
    return f"system:serviceaccount:{names.kueue_namespace}:{account}"


def _without_pods(found: FoundCluster, names: ReleaseNames, settings: KueueSettings) -> Iterator[str]:
    if not settings.manage_pods:
        yield f"{names.settings} lacks kueue.managePods: true; Kueue queues Pods"
    for ref in (names.mutating, names.validating):
        present = {text(mapping(each).get("name")) for each in listing(found.objects[ref].get("webhooks"))}
        for name in _ASKED_FOR_PODS[ref.kind]:
            if f"{name}.quotree.dev" not in present:
                yield f"{ref} lacks {name}.quotree.dev: add manifests/components/pods"


def _own(config_map: Manifest, installed: KueueVersion) -> Configuration | str:
    """Quotree's own configuration, or the fault in it."""
    try:
        written = yaml_values.single(text(mapping(config_map.get("data")).get("configuration.yaml")) or "")
        return read_configuration(written, registry(), installed=lambda: installed)
    except (BadText, PolicyError) as error:
        return str(error)


def _advice(found: FoundCluster, names: ReleaseNames, translated: Translated) -> Iterator[str]:
    if found.other_clusters:
        yield (
            f"the reconciler reads kubeconfigs in {names.kueue_namespace}: give it the Role of"
            " manifests/components/multikueue in that namespace"
        )
    if translated.read is not None and translated.read.retention.after_deactivated is not None:
        key = "objectRetentionPolicies.workloads.afterDeactivatedByKueue"
        yield f"{key} needs manifests/components/reconciler-deletes-jobs"


def called_elsewhere(
    found: FoundCluster, names: ReleaseNames, settings: KueueSettings, selector: Mapping[str, Any]
) -> Iterator[str]:
    """A message for each webhook that is called in namespaces which Kueue's selector excludes.

    Kueue's webhooks read the selector from Kueue's Configuration. For Quotree's, it must be in Quotree's own or in the
    webhook itself. Otherwise a job in another namespace would be suspended and wait indefinitely.
    Nothing is reported for requirements that the settings have too, or that only exclude system namespaces.
    """
    in_settings, system = {*_terms(settings.namespaces)}, {"kube-system", names.kueue_namespace}
    wanted = [
        term
        for term in _terms(read_label_selector(selector))
        if term not in in_settings and not (term.operator == "NotIn" and term.values <= system)
    ]
    for ref in (names.mutating, names.validating):
        for webhook in map(mapping, listing(found.objects[ref].get("webhooks"))):
            name = text(webhook.get("name")) or ""
            if name.removesuffix(".quotree.dev") not in _WEBHOOKS_OF_JOBS[ref.kind]:
                continue
            in_webhook = {*_terms(read_label_selector(webhook.get("namespaceSelector")))}
            if missing := [_shown(term) for term in wanted if term not in in_webhook]:
                yield (
                    f"{ref}: {name} is called in namespaces that {SELECTOR} excludes: add {', '.join(missing)} to its"
                    f" namespaceSelector, or kueue.{SELECTOR} to {names.settings}"
                )


def _terms(selector: LabelSelector | None) -> Iterator[Requirement]:
    """The requirements of a selector: `a notin (x, y)` as `a notin (x)` and `a notin (y)`."""
    for each in selector.requirements if selector else ():
        if each.operator == "NotIn":
            yield from (replace(each, values=frozenset([value])) for value in sorted(each.values))
        else:
            yield each


def _shown(term: Requirement) -> str:
    shown = f"{term.key} {term.operator}"
    return f"{shown} ({', '.join(sorted(term.values))})" if term.values else shown
