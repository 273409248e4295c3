"""The defaults that the mutating webhook fills in, as JSON Patch operations (RFC 6902). They are idempotent."""

from __future__ import annotations

from policies.configuration.settings import Configuration, KueueSettings, YuniKornSettings
from policies.dialects import core, kueue, kueue_jobs, volcano, yunikorn
from policies.dialects.reading import Manifest, group_kind, integer, mapping, metadata, text, texts
from policies.dialects.yunikorn_work import WORKLOAD_GROUPS
from policies.model.change import ChangeOperation, User
from policies.model.findings import Profile
from policies.model.forest import Forest
from policies.model.objects import GroupKind
from policies.mutation import kueue_defaults
from policies.mutation.kueue_pod_defaults import after_launcher, elastic_gates, held_pod, queued_templates
from policies.mutation.patching import Patch, added, patched
from policies.mutation.quota_gates import quota_gate, quota_label
from policies.mutation.volcano_defaults import complete_job, complete_pod, gated_pod
from policies.mutation.yunikorn_admission import Filters, PodAdmission, mutated_pod, mutated_workload

NOBODY = User()


def patch(
    manifest: Manifest,
    forest: Forest,
    configuration: Configuration,
    operation: ChangeOperation = ChangeOperation.CREATE,
    user: User = NOBODY,
    *,
    demanded: bool = False,
) -> Patch:
    """The operations that complete an object that `user` creates or updates; none for kinds without defaults.

    Fields of a wrong type are left unchanged, since validation reports them. `demanded`: the object is a Pod, and all
    Pods of its Namespace must wait for Volcano's quota.
    """
    kind = group_kind(manifest)
    if kind in (kueue.CLUSTER_QUEUE, kueue.RESOURCE_FLAVOR) and operation is ChangeOperation.CREATE:
        as_kueue = configuration.profile is Profile.COMPAT or configuration.kueue.manage_jobs
        # without Kueue's or Quotree's controller, nothing would remove it
        return kueue_defaults.finalizer(manifest) if as_kueue else []
    if kind == kueue.WORKLOAD and operation is ChangeOperation.CREATE:
        return kueue_defaults.min_counts(manifest, configuration.kueue)
    if kind in kueue_jobs.KINDS or kind in configuration.reconciler.jobs:
        return _job(kind, manifest, forest, configuration, operation, user)
    if kind == volcano.QUEUE and operation is ChangeOperation.CREATE:
        return _queue(manifest, configuration)
    if kind == volcano.POD_GROUP and operation is ChangeOperation.CREATE:
        return _pod_group(manifest, forest)
    if kind == volcano.JOB and operation is ChangeOperation.CREATE:
        return complete_job(manifest)
    if kind == core.POD and operation is ChangeOperation.CREATE:
        return _pod(manifest, forest, configuration, user, demanded=demanded)
    if kind == core.NAMESPACE:
        return _namespace(manifest, configuration.yunikorn)
    if operation is ChangeOperation.CREATE:
        return _yunikorn_work(kind, manifest, forest, configuration.yunikorn, user)
    return []


def _job(
    kind: GroupKind,
    manifest: Manifest,
    forest: Forest,
    configuration: Configuration,
    operation: ChangeOperation,
    user: User,
) -> Patch:
    """Set the queue of a job, suspend it, and update its pod templates. Updates of a job change the templates only."""
    created = operation is ChangeOperation.CREATE
    settings, framework_of = _kueue(manifest, forest, configuration), configuration.framework
    operations = kueue_defaults.queued_job(kind, manifest, forest, settings, framework_of) if created else []
    manifest = patched(manifest, operations)
    template_patch = queued_templates(kind, manifest, settings, forest)
    if not created:
        return template_patch
    template_patch += elastic_gates(kind, manifest, settings, forest)
    template_patch += after_launcher(kind, manifest, settings)
    return [
        *operations,
        *template_patch,
        *_yunikorn_work(kind, patched(manifest, template_patch), forest, configuration.yunikorn, user),
    ]


def _pod(manifest: Manifest, forest: Forest, configuration: Configuration, user: User, *, demanded: bool) -> Patch:
    """The gate of Kueue's quota, then the defaults of Volcano or YuniKorn, then the gate of their quota.

    Mirror pods run already, and the API server refuses a gate on a Pod that has a node.
    """
    if user.is_kubelet:
        return []
    held = held_pod(manifest, _kueue(manifest, forest, configuration), forest, user)
    manifest = patched(manifest, held)
    of_volcano = complete_pod(manifest, configuration.volcano.resource_groups)
    of_volcano += gated_pod(patched(manifest, of_volcano), configuration.volcano.queue_allocation_gate)
    work = of_volcano or _yunikorn_work(core.POD, manifest, forest, configuration.yunikorn, user)
    return held + work + quota_gate(patched(manifest, work), forest, configuration, demanded=demanded)


def _kueue(manifest: Manifest, forest: Forest, configuration: Configuration) -> KueueSettings:
    namespace = text(metadata(manifest).get("namespace")) or "default"
    return kueue_defaults.settings_for(group_kind(manifest), namespace, configuration, forest)


def _namespace(manifest: Manifest, settings: YuniKornSettings) -> Patch:
    legacy = settings.translate_legacy_annotations
    translated = yunikorn.translated(core.read_namespace(manifest)) if legacy else []
    return translated + quota_label(manifest, settings)


def _queue(manifest: Manifest, configuration: Configuration) -> Patch:
    """Volcano's defaults of a Queue; with the profile `strict` also the parent, which Volcano leaves out.

    Source: Volcano's webhook queues/mutate.
    """
    spec = mapping(manifest.get("spec"))
    values: dict[str, object] = {}
    if spec.get("reclaimable") is None:
        values["reclaimable"] = True
    if spec.get("weight") is None or integer(spec["weight"]) == 0:
        values["weight"] = 1
    is_root = metadata(manifest).get("name") == volcano.ROOT.name
    if configuration.profile is Profile.STRICT and spec.get("parent") in (None, "") and not is_root:
        values["parent"] = volcano.ROOT.name
    return [*_hierarchy(manifest), *_into_spec(manifest, values)]


def _hierarchy(manifest: Manifest) -> Patch:
    """Put `root` before the path of Volcano's hierarchical DRF, and its weight 1 before the weights."""
    notes = texts(metadata(manifest).get("annotations"))
    path, weights = text(notes.get(volcano.HIERARCHY)), text(notes.get(volcano.HIERARCHY_WEIGHTS))
    if path is None or weights is None or path.startswith("root"):
        return []
    return [
        added("root/" + path, "metadata", "annotations", volcano.HIERARCHY),
        added("1/" + weights, "metadata", "annotations", volcano.HIERARCHY_WEIGHTS),
    ]


def _pod_group(manifest: Manifest, forest: Forest) -> Patch:
    """The queue of the namespace, if the PodGroup has no queue. Source: Volcano's webhook podgroups/mutate."""
    if mapping(manifest.get("spec")).get("queue") not in (None, "", "default"):
        return []
    namespace = core.namespace_in(forest, text(metadata(manifest).get("namespace")) or "default")
    queue = namespace.annotations.get(core.VOLCANO_QUEUE) if namespace else None
    return _into_spec(manifest, {"queue": queue}) if queue and queue != "default" else []


def _yunikorn_work(
    kind: GroupKind, manifest: Manifest, forest: Forest, settings: YuniKornSettings, user: User
) -> Patch:
    """The changes of YuniKorn's admission controller, if the configuration has them. Other kinds are left unchanged."""
    if not settings.admission.active or not (kind == core.POD or kind.group in WORKLOAD_GROUPS):
        return []
    filters = Filters.of(forest, settings.namespace)
    namespace = text(metadata(manifest).get("namespace")) or "default"
    priority_class = text(mapping(manifest.get("spec")).get("priorityClassName")) or ""
    request = PodAdmission.of(namespace, user, forest, priority_class)
    if kind == core.POD:
        return mutated_pod(manifest, request, filters, settings.admission)
    return mutated_workload(kind.kind, manifest, request, filters, settings.admission)


def _into_spec(manifest: Manifest, values: dict[str, object]) -> Patch:
    """Add values to the spec, which is created if it is missing."""
    spec = manifest.get("spec")
    if not values or not (spec is None or isinstance(spec, dict)):
        return []
    parent = [added({}, "spec")] if spec is None else []
    return parent + [added(value, "spec", key) for key, value in values.items()]
