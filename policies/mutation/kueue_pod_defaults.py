"""What the mutating webhook adds to Pods and pod templates, so that the Pods wait until they are admitted.

A scheduling gate can only be added when a Pod is created.
Source: Kueue v0.19, pkg/controller/jobs/{pod,deployment,statefulset,leaderworkerset}.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from policies.amounts.ancestry import STARTED, ancestor, is_marked, pod_counted_above
from policies.amounts.role_hash import role_hash
from policies.configuration.settings import KueueSettings
from policies.dialects.core import POD
from policies.dialects.kueue_jobs import (
    BATCH_JOB,
    IDENTIFIERS,
    INDEX_OFFSET,
    KINDS,
    LEADER_WORKER_SET,
    MANAGED,
    POD_GROUP,
    POD_GROUP_SIZE,
    PRIORITY_CLASS,
    QUEUE_NAME,
    STATEFUL_SET,
    SUSPENDED_BY,
    TOPOLOGY_REQUESTS,
    QueuedJob,
)
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.kueue_owners import controller_of
from policies.dialects.kueue_pods import FAST_ADMISSION, POD_INDEX, ROLE_HASH, SERVING
from policies.dialects.kueue_ray import ray_cluster
from policies.dialects.kueue_workload import ELASTIC
from policies.dialects.naming import Naming
from policies.dialects.reading import Manifest, listing, mapping, text, texts
from policies.model.change import User
from policies.model.forest import Forest
from policies.model.objects import GroupKind
from policies.mutation.kueue_defaults import DEFAULT_CLASS, DEFAULT_QUEUE, has_default_class, has_default_queue
from policies.mutation.patching import Patch, added, missing_texts, removed

Path = tuple[str | int, ...]

GATE = f"{PREFIX}admission"
TOPOLOGY_GATE = f"{PREFIX}topology"
ELASTIC_GATE = f"{PREFIX}elastic-job"
_TAS = f"{PREFIX}tas"
_INDEX_LABEL = f"{PREFIX}pod-group-pod-index-label"
_POD_INDEX = {
    STATEFUL_SET: "apps.kubernetes.io/pod-index",
    LEADER_WORKER_SET: "leaderworkerset.sigs.k8s.io/worker-index",
}
"""The label with the number of a Pod in its group."""
_GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
_LEADER_NAME = "leaderworkerset.sigs.k8s.io/leader-name"
"""An annotation of workers, not of leaders."""
_PODSET_GROUP = f"{PREFIX}podset-group-name"
_MPI_JOB = GroupKind("kubeflow.org", "MPIJob")
_NOBODY = Forest()
_NO_USER = User()


def held_pod(manifest: Manifest, settings: KueueSettings, forest: Forest = _NOBODY, user: User = _NO_USER) -> Patch:
    """Add the scheduling gate, the labels and the finalizer of a managed Pod to a Pod that names a LocalQueue.

    A Pod that names none gets the LocalQueue `default` if it exists. The finalizer keeps the Pod of a group until it
    was counted.
    If a running ancestor job already counts the Pod, nothing is added, unless the annotation SUSPENDED_BY says that
    this job cannot be suspended. `forest` must have this job by its UID, and the owners between.
    A Pod of a StatefulSet or a LeaderWorkerSet joins its group (`_joined`).
    Only a controller may create a Pod that was started on quota. From any other Pod the labels and annotations that
    say so are removed, since it would count for a job that did not create it.
    """
    meta, spec = manifest.get("metadata"), manifest.get("spec")
    if not settings.manage_pods or not isinstance(meta, dict) or not isinstance(spec, dict):
        return []
    labels, notes = texts(meta.get("labels")), texts(meta.get("annotations"))
    above, namespace = _above(manifest, settings, forest, user), _namespace(meta)
    claims = above is None and is_marked(manifest) and not user.may_be_controller_in(namespace)
    unmarked = [*_without(meta, STARTED)] if claims else []
    added_labels = {MANAGED: "true"}
    if SUSPENDED_BY not in notes:
        queued = bool(labels.get(QUEUE_NAME))
        if not (queued or has_default_queue(namespace, forest)) or (above is not None and above.running):
            return unmarked
        if not queued:
            added_labels[QUEUE_NAME] = DEFAULT_QUEUE
        if not labels.get(PRIORITY_CLASS) and has_default_class(forest, settings):
            added_labels[PRIORITY_CLASS] = DEFAULT_CLASS
    placed = settings.enabled("TopologyAwareScheduling") and any(key in notes for key in TOPOLOGY_REQUESTS)
    if settings.enabled("TopologyAwareScheduling") and notes.get(_INDEX_LABEL) in labels:
        added_labels[POD_INDEX] = labels[notes[_INDEX_LABEL]]
    if placed:
        added_labels[_TAS] = "true"
    group_labels, group_notes = _joined(manifest, settings, forest)
    operations = [*missing_texts(meta, ("metadata",), "labels", {**added_labels, **group_labels})]
    operations += missing_texts(meta, ("metadata",), "annotations", {ROLE_HASH: role_hash(spec), **group_notes})
    finalizers = listing(meta.get("finalizers"))
    if MANAGED not in finalizers:
        operations.append(added([*finalizers, MANAGED], "metadata", "finalizers"))
    return operations + unmarked + _gated(spec, [GATE, TOPOLOGY_GATE] if placed else [GATE])


def _joined(pod: Manifest, settings: KueueSettings, forest: Forest) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and annotations with which a Pod joins the group that its StatefulSet or LeaderWorkerSet is.

    The group has the name of the Workload that Kueue's manager creates. It serves requests, so it does not finish when
    its Pods end. If all Pods are alike, the first one is enough to queue the group: a StatefulSet may create the next
    one only when the first is ready.
    """
    meta = mapping(pod.get("metadata"))
    labels, notes, annotated = texts(meta.get("labels")), texts(meta.get("annotations")), settings.enabled(IDENTIFIERS)
    naming = Naming(annotated=annotated, short=settings.enabled("ShortWorkloadNames"))
    job = ancestor(POD, controller_of(meta), _namespace(meta), forest, whole=False)
    if job is None or not job.group_size:
        return {}, {}
    kind, name, role = job.ref.group_kind, job.ref.name, "main"
    if kind == LEADER_WORKER_SET:
        if _GROUP_INDEX not in labels:
            return {}, {}
        name = f"{name}-{labels[_GROUP_INDEX]}"
        if len(job.pod_sets) > 1:
            role = "worker" if _LEADER_NAME in notes else "leader"
    group = {POD_GROUP: naming.workload(kind, name, job.uid)}
    if naming.group(pod) not in ("", group[POD_GROUP]):
        return {}, {}
    joined = {POD_GROUP_SIZE: str(job.group_size), SERVING: "true", ROLE_HASH: role}
    if role == "main":
        joined[FAST_ADMISSION] = "true"
    return ({}, {**group, **joined}) if annotated else (group, joined)


def _above(pod: Manifest, settings: KueueSettings, forest: Forest, user: User) -> QueuedJob | None:
    """The job that counts the Pod, or will once it runs."""
    return pod_counted_above(pod, forest, user, slicing=settings.enabled("ElasticJobsViaWorkloadSlices"))


def _without(meta: Mapping[str, Any], keys: Iterable[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    for part, key in keys:
        if key in texts(meta.get(part)):
            yield removed("metadata", part, key)


def _namespace(meta: Mapping[str, Any]) -> str:
    return text(meta.get("namespace")) or "default"


def elastic_gates(kind: GroupKind, manifest: Manifest, settings: KueueSettings, forest: Forest = _NOBODY) -> Patch:
    """Add a gate to the pod templates of an elastic job. Pods by which it grows wait at it while the other Pods run."""
    meta = mapping(manifest.get("metadata"))
    elastic = settings.enabled("ElasticJobsViaWorkloadSlices") and kind in KINDS and KINDS[kind].elastic
    wanted = elastic and texts(meta.get("annotations")).get(ELASTIC) == "true"
    named = bool(texts(meta.get("labels")).get(QUEUE_NAME))
    queued = named and ancestor(kind, controller_of(meta), _namespace(meta), forest) is None
    return held_growth(kind, manifest) if settings.manage_jobs and wanted and queued else []


def _elastic_templates(kind: GroupKind, manifest: Manifest) -> Iterator[Path]:
    if kind == BATCH_JOB:
        yield ("spec", "template")
        return
    path, cluster = ray_cluster(kind.kind, manifest)
    yield (*path, "headGroupSpec", "template")
    for index, _ in enumerate(listing(cluster.get("workerGroupSpecs"))):
        yield (*path, "workerGroupSpecs", index, "template")


def waits_for_slices(kind: GroupKind, manifest: Manifest) -> bool:
    """Whether all pod templates by which an elastic job may grow have its gate."""
    found = [mapping(mapping(_at(manifest, path)).get("spec")) for path in _elastic_templates(kind, manifest)]
    gates = [[mapping(gate).get("name") for gate in listing(spec.get("schedulingGates"))] for spec in found]
    return bool(gates) and all(ELASTIC_GATE in names for names in gates)


def held_growth(kind: GroupKind, manifest: Mapping[str, Any]) -> Patch:
    """Add the gate to each pod template by which an elastic job may grow, if it is missing."""
    operations: Patch = []
    for path in _elastic_templates(kind, manifest):
        spec = mapping(_at(manifest, path)).get("spec")
        if isinstance(spec, dict):
            operations += _gated(spec, [ELASTIC_GATE], *path)
    return operations


def _gated(spec: Mapping[str, Any], names: list[str], *path: str | int) -> Patch:
    """Add missing gates to the pod's spec below `path`."""
    gates = listing(spec.get("schedulingGates"))
    there = [mapping(gate).get("name") for gate in gates]
    missing = [{"name": name} for name in names if name not in there]
    return [added([*gates, *missing], *path, "spec", "schedulingGates")] if missing else []


def queued_templates(kind: GroupKind, manifest: Manifest, settings: KueueSettings, forest: Forest = _NOBODY) -> Patch:
    """Add queue, priority and an annotation to the templates of a Deployment or a similar kind, so that each Pod is
    queued.

    If an ancestor job counts the object, nothing is added. `forest` must have this job by its UID.
    """
    meta = mapping(manifest.get("metadata"))
    labels = texts(meta.get("labels"))
    framework = KINDS.get(kind)
    if framework is None or not settings.manage_pods or not labels.get(QUEUE_NAME):
        return []
    if ancestor(kind, controller_of(meta), _namespace(meta), forest, whole=False):
        return []
    added_labels = {key: labels[key] for key in (QUEUE_NAME, PRIORITY_CLASS) if labels.get(key)}
    operations: Patch = []
    notes = {SUSPENDED_BY: framework.name}
    if kind in _POD_INDEX and settings.enabled("TopologyAwareScheduling"):
        notes[_INDEX_LABEL] = _POD_INDEX[kind]
    for path in (tuple(each.split(".")) for each in framework.templates):
        template = _at(manifest, path)
        if template is None:
            continue
        if not isinstance(template.get("metadata"), dict):
            operations.append(added({}, *path, "metadata"))
        inner = mapping(template.get("metadata"))
        operations += missing_texts(inner, (*path, "metadata"), "labels", added_labels)
        operations += missing_texts(
            inner, (*path, "metadata"), "annotations", {**notes, **_after_leader(kind, manifest, path, settings)}
        )
    return operations


def _after_leader(kind: GroupKind, manifest: Manifest, path: Path, settings: KueueSettings) -> dict[str, str]:
    """The annotation for workers that are numbered from 1, since the leader has its own template. Ranks begin at 0."""
    if kind != LEADER_WORKER_SET or not settings.enabled("TopologyAwareScheduling") or path[-1] != "workerTemplate":
        return {}
    led = _at(manifest, (*path[:-1], "leaderTemplate")) is not None
    return {} if not led or _grouped(manifest, path) else {INDEX_OFFSET: "1"}


def after_launcher(kind: GroupKind, manifest: Manifest, settings: KueueSettings) -> Patch:
    """Add an annotation to the workers of an MPIJob whose launcher is also a worker. They are numbered from 1, but
    their ranks begin at 0."""
    roles = ("spec", "mpiReplicaSpecs")
    worker, launcher = ((*roles, role, "template") for role in ("Worker", "Launcher"))
    spec, meta = mapping(manifest.get("spec")), mapping(manifest.get("metadata"))
    if kind != _MPI_JOB or not settings.manage_jobs or not settings.enabled("TopologyAwareScheduling"):
        return []
    queued = bool(texts(meta.get("labels")).get(QUEUE_NAME))
    template = _at(manifest, worker)
    if not queued or spec.get("runLauncherAsWorker") is not True or template is None:
        return []
    if _at(manifest, launcher[:-1]) is None or _grouped(manifest, launcher):
        return []
    inner = template.get("metadata")
    operations = [] if isinstance(inner, dict) else [added({}, *worker, "metadata")]
    return operations + list(missing_texts(mapping(inner), (*worker, "metadata"), "annotations", {INDEX_OFFSET: "1"}))


def _grouped(manifest: Manifest, path: Path) -> bool:
    """Whether the template is that of the leader or the workers in a group of both."""
    return _PODSET_GROUP in mapping(mapping((_at(manifest, path) or {}).get("metadata")).get("annotations"))


def _at(manifest: Manifest, path: Path) -> dict[str, Any] | None:
    held: object = manifest
    for step in path:
        held = listing(held)[step] if isinstance(step, int) else mapping(held).get(step)
    return held if isinstance(held, dict) else None
