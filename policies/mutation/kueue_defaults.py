"""What the mutating webhook adds to Kueue's objects and to the jobs that Kueue queues."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from policies.amounts.ancestry import ancestor, counted_above
from policies.configuration.settings import Configuration, KueueSettings
from policies.dialects.core import POD, namespace_in
from policies.dialects.job_shape import Framework, SuspendField, at
from policies.dialects.kueue import LOCAL_QUEUE, ClusterQueue, LocalQueue
from policies.dialects.kueue_checks import MULTIKUEUE, AdmissionCheck
from policies.dialects.kueue_jobs import PRIORITY_CLASS, QUEUE_NAME, QueuedJob, job_reader
from policies.dialects.kueue_kinds import ADMISSION_CHECK, IN_USE, WORKLOAD_PRIORITY_CLASS
from policies.dialects.reading import Manifest, listing, mapping, metadata, text, texts
from policies.dialects.selectors import NAME_OF_NAMESPACE
from policies.model.forest import Forest
from policies.model.objects import GroupKind, Ref
from policies.mutation.patching import Patch, added, missing_texts, patched, removed

DEFAULT_QUEUE = "default"
"""The name of the LocalQueue for jobs and Pods that name none."""
DEFAULT_CLASS = "default"
"""The name of the WorkloadPriorityClass for jobs and Pods that name none, if it exists and the feature gate is on."""


def finalizer(manifest: Manifest) -> Patch:
    """Add Kueue's finalizer. Its controller removes it when nothing uses the object any more."""
    finalizers = metadata(manifest).get("finalizers")
    if not isinstance(manifest.get("metadata"), dict) or not (finalizers is None or isinstance(finalizers, list)):
        return []
    if finalizers and IN_USE in finalizers:
        return []
    return [added([*(finalizers or []), IN_USE], "metadata", "finalizers")]


def min_counts(manifest: Manifest, settings: KueueSettings) -> Patch:
    """A patch that removes minCount from the pod sets of a Workload if partial admission is off."""
    if settings.enabled("PartialAdmission"):
        return []
    entries = enumerate(listing(mapping(manifest.get("spec")).get("podSets")))
    return [removed("spec", "podSets", at, "minCount") for at, entry in entries if "minCount" in mapping(entry)]


def queued_job(
    kind: GroupKind,
    manifest: Manifest,
    forest: Forest,
    settings: KueueSettings,
    framework_of: Callable[[GroupKind], Framework | None],
) -> Patch:
    """Suspend a job that names a LocalQueue.

    A job that names none gets the LocalQueue `default` if it exists. The same holds for a Deployment or a similar kind
    if Pods are managed, since its Pods are queued. A job that gets no queue is suspended only with `without_queue`, and
    not if it is the child of a managed job. It also gets the default priority class, since it may be queued later,
    unless its owner is of a kind that is queued.
    If an ancestor job already counts the job, it is suspended only while the ancestor does not run. It still gets the
    queue, so that the reconciler counts it together with its siblings. `forest` must have the ancestor by its UID.
    If the queue sends work to other clusters, the job is also left to MultiKueue.
    `framework_of`: how jobs of a kind are managed; None if they are not.
    Source: Kueue, defaults of its job framework, which trusts all owner references.
    """
    meta, spec = manifest.get("metadata"), manifest.get("spec")
    framework = framework_of(kind)
    if framework is None:
        return []
    managed = settings.manage_pods if framework.templates else settings.manage_jobs
    if not managed or not isinstance(meta, dict) or not isinstance(spec, dict) or framework.leaves_out(manifest):
        return []
    namespace, labels = text(meta.get("namespace")) or "default", texts(meta.get("labels"))
    lacks_class = has_default_class(forest, settings) and not labels.get(PRIORITY_CLASS)
    missing = {PRIORITY_CLASS: DEFAULT_CLASS} if lacks_class else {}
    job = job_reader(framework)(manifest)
    queue = labels.get(QUEUE_NAME)
    if not queue and not has_default_queue(namespace, forest):
        owner = job.controller
        is_child = owner is not None and framework_of(owner.kind) is not None
        return _unqueued(job, manifest, {} if is_child else missing, settings, forest)
    above = counted_above(job, forest, slicing=settings.enabled("ElasticJobsViaWorkloadSlices"))
    if above is None and framework.templates and ancestor(kind, job.controller, namespace, forest, whole=False):
        return []  # the templates of the ancestor have the labels already
    wanted = {QUEUE_NAME: queue or DEFAULT_QUEUE, **(missing if above is None else {})}
    operations = [*missing_texts(meta, ("metadata",), "labels", wanted)]
    if framework.suspend is None or (above is not None and above.running):
        return operations
    operations += _suspended(manifest, framework.suspend)
    local = LOCAL_QUEUE.named(wanted[QUEUE_NAME], namespace)
    dispatches = above is None and framework.dispatched and settings.enabled("MultiKueue")
    if dispatches and _is_sent_to_workers(forest, local):
        operations += _managed_by(patched(manifest, operations), framework)
    return operations


def _unqueued(
    job: QueuedJob, manifest: Manifest, labels: Mapping[str, str], settings: KueueSettings, forest: Forest
) -> Patch:
    """The patch of a job that gets no queue. The reconciler checks whether an ancestor job counts it."""
    suspend = job.framework.suspend
    if suspend is None:
        return []
    operations = [*missing_texts(metadata(manifest), ("metadata",), "labels", labels)]
    kind, namespace = job.ref.group_kind, job.ref.namespace
    if settings.without_queue and not ancestor(kind, job.controller, namespace, forest, queued=False):
        operations += _suspended(manifest, suspend)
    return operations


def settings_for(kind: GroupKind, namespace: str, configuration: Configuration, forest: Forest) -> KueueSettings:
    """The settings for jobs or Pods in a namespace. If kind or namespace is not selected, such objects are not managed.

    An unknown namespace counts as selected for jobs and Pods that name a queue. Its jobs without a queue are left to
    the reconciler.
    """
    settings = configuration.kueue
    if kind != POD and configuration.framework(kind) is None:
        return replace(settings, manage_jobs=False, manage_pods=False)
    if not settings.namespaces.requirements:
        return settings
    known = namespace_in(forest, namespace)
    if known is None:
        return replace(settings, without_queue=False)
    if settings.namespaces.matches({**known.labels, NAME_OF_NAMESPACE: namespace}):
        return settings
    return replace(settings, manage_jobs=False, manage_pods=False)


def has_default_queue(namespace: str, forest: Forest) -> bool:
    """Whether work of this namespace that names no queue gets the LocalQueue `default`."""
    return isinstance(forest.get(LOCAL_QUEUE.named(DEFAULT_QUEUE, namespace)), LocalQueue)


def has_default_class(forest: Forest, settings: KueueSettings) -> bool:
    """Whether work that names no WorkloadPriorityClass gets `default`."""
    wanted = settings.enabled("WorkloadPriorityClassDefaulting")
    return wanted and forest.get(Ref(*WORKLOAD_PRIORITY_CLASS, "", DEFAULT_CLASS)) is not None


def _suspended(manifest: Manifest, switch: SuspendField) -> Patch:
    """Set the suspend field. Missing mappings around it are created."""
    operations: Patch = []
    held: Any = manifest
    for depth, step in enumerate(switch.steps[:-1], start=1):
        held = mapping(held).get(step)
        if not isinstance(held, dict):
            operations.append(added({}, *switch.steps[:depth]))
    if mapping(held).get(switch.steps[-1]) == switch.on:
        return []
    return [*operations, added(switch.on, *switch.steps)]


def _is_sent_to_workers(forest: Forest, local: Ref) -> bool:
    """Whether the ClusterQueue of this LocalQueue sends work to other clusters."""
    found = forest.get(local)
    queue = forest.node(found.queue) if isinstance(found, LocalQueue) and found.queue else None
    uses = queue.checks if isinstance(queue, ClusterQueue) else ()
    checks = (forest.get(ADMISSION_CHECK.named(use.name)) for use in uses)
    return any(isinstance(check, AdmissionCheck) and check.controller == MULTIKUEUE for check in checks)


def _managed_by(manifest: Manifest, framework: Framework) -> Patch:
    """Set MultiKueue as the controller of the job, if the kind has a field for it that names no other controller."""
    *above, last = framework.managed_by.split(".")
    held = at(manifest, ".".join(above)) if above else manifest
    if not framework.managed_by or not isinstance(held, Mapping) or held.get(last) not in (None, framework.controller):
        return []
    return [added(MULTIKUEUE, *above, last)]
