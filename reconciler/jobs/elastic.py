"""Elastic jobs: which jobs change their size while they run, and the names of their Workloads, the slices.

Source: Kueue v0.19, pkg/workloadslicing and pkg/controller/jobframework; KEP-77.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policies.dialects.frameworks.ray import CLUSTERS
from policies.dialects.job_shape import at, pods_at
from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_jobs import MIN_PARALLELISM, POD_SET
from policies.dialects.kueue_ray import ray_cluster
from policies.dialects.kueue_workload import ELASTIC, SLICE_CHAIN
from policies.dialects.pod_reading import gates_in
from policies.dialects.reading import Manifest, group_kind, listing, mapping, metadata, text, texts
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE, held_growth, waits_for_slices
from policies.mutation.patching import patched
from reconciler.jobs.kind import JobKind, notes, prebuilt
from scheduling.objects.workload import Workload


def sliced(kind: JobKind, job: Manifest) -> bool:
    """Whether the job grows and shrinks by slices: only if all its pods wait at the gate until a slice admits them.

    A job that runs on another cluster is placed anew when its size changes.
    """
    return _may_grow(kind, job) and waits_for_slices(kind.shape.kind, job)


def _may_grow(kind: JobKind, job: Manifest) -> bool:
    wanted = kind.shape.elastic and notes(job).get(ELASTIC) == "true"
    return wanted and not (prebuilt(kind, job) or elsewhere(kind, job) or MIN_PARALLELISM in notes(job))


def with_gate(kind: JobKind, job: Manifest) -> Manifest:
    """The job with the gate of slices in the pod templates that it may grow by, if it is elastic.

    The webhook adds the gate when a job is created. A job that it missed gets it when it starts, since only then its
    templates may change.
    """
    return patched(job, held_growth(kind.shape.kind, job)) if _may_grow(kind, job) else job


def sent(kind: JobKind, job: Manifest) -> bool:
    """Whether the job is elastic and a MultiKueue manager makes its slices: the job names the slice that it runs on."""
    wanted = kind.shape.elastic and notes(job).get(ELASTIC) == "true" and MIN_PARALLELISM not in notes(job)
    return wanted and bool(prebuilt(kind, job)) and waits_for_slices(kind.shape.kind, job)


def resizable(kind: JobKind, job: Manifest) -> bool:
    """Whether the job may differ in size from its Workload: its Pods wait at the gate until a slice admits them."""
    return sliced(kind, job) or sent(kind, job)


def held_back(kind: JobKind, job: Manifest) -> bool:
    """Whether all its pods wait at the gate of slices, so that the job may outgrow the job that it belongs to."""
    return kind.shape.elastic and waits_for_slices(kind.shape.kind, job)


def waits(template: Manifest) -> bool:
    """Whether pods of this template wait at the gate of slices."""
    return ELASTIC_GATE in gates_in(mapping(template.get("spec")))


def grown(kind: JobKind, job: Manifest, parts: Iterable[Manifest]) -> Manifest:
    """A RayJob or RayService with as many workers as its clusters have, if an autoscaler sets their number.

    `parts`: the RayClusters that KubeRay made for it. Of several the largest counts, group by group. A new size counts
        as a generation of its own, because the spec of the job does not change.
    """
    name = kind.shape.kind.kind
    clusters = [each for each in parts if not metadata(each).get("deletionTimestamp")]
    if name not in CLUSTERS or not clusters:
        return job
    path, own = ray_cluster(name, job)
    sizes = _workers(clusters)
    groups = [_regrown(mapping(each), sizes) for each in listing(own.get("workerGroupSpecs"))]
    if groups == listing(own.get("workerGroupSpecs")):
        return job
    made: Manifest = {**own, "workerGroupSpecs": groups}
    for depth in range(len(path), 0, -1):
        above = mapping(at(job, ".".join(path[: depth - 1]))) if depth > 1 else job
        made = {**above, path[depth - 1]: made}
    meta = metadata(job)
    parts_are = sorted(f"{metadata(each).get('uid')}.{metadata(each).get('generation')}" for each in clusters)
    return {**made, "metadata": {**meta, "generation": "/".join((str(meta.get("generation", 0)), *parts_are))}}


def _workers(clusters: Iterable[Manifest]) -> dict[str, int]:
    """The largest number of replicas of each group."""
    most: dict[str, int] = {}
    for cluster in clusters:
        for group in map(mapping, listing(at(cluster, "spec.workerGroupSpecs"))):
            name, count = text(group.get("groupName")) or "", group.get("replicas")
            if isinstance(count, int) and not isinstance(count, bool):
                most[name] = max(count, most.get(name, 0))
    return most


def _regrown(group: Mapping[str, Any], sizes: Mapping[str, int]) -> Mapping[str, Any]:
    wanted = sizes.get(text(group.get("groupName")) or "", group.get("replicas"))
    return group if wanted == group.get("replicas") else {**group, "replicas": wanted}


def elsewhere(kind: JobKind, job: Manifest) -> bool:
    """Whether MultiKueue manages the job, so that none of its pods run here."""
    return bool(kind.shape.managed_by) and at(job, kind.shape.managed_by) == MULTIKUEUE


def marked(kind: JobKind, job: Manifest) -> bool:
    """Whether its pods have the labels of a start. Pods are counted by these labels."""
    pods = list(pods_at(job, kind.shape.pod_sets))
    return bool(pods) and all(POD_SET in texts(metadata(each.template).get("labels")) for each in pods)


def slice_name(name: str, job: Manifest) -> str:
    """Kueue's name of a slice: like the name of the job's Workload, but with the job's generation in the hash."""
    prefix, _, hashed = name.rpartition("-")
    meta, kind = metadata(job), group_kind(job)
    parts = (kind.kind, kind.group, meta.get("name"), meta.get("uid"), meta.get("generation", 0))
    digest = hashlib.sha1("\n".join(map(str, parts)).encode(), usedforsecurity=False).hexdigest()
    return f"{prefix}-{digest[: len(hashed)]}"


def chain_of(workload: Workload) -> str:
    """The name of the first slice of the chain, which may be this one."""
    return workload.annotations.get(SLICE_CHAIN) or workload.name


def sizes(workload: Mapping[str, Any]) -> dict[str, int]:
    """The number of pods in each set, from a Workload's manifest."""
    return {mapping(each).get("name", "main"): mapping(each).get("count", 1) for each in _pod_sets(workload)}


def sized(workload: Mapping[str, Any], counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """The pod sets of this manifest with other counts."""
    return [{**mapping(each), "count": counts[mapping(each).get("name", "main")]} for each in _pod_sets(workload)]


def as_stored(made: Mapping[str, Any], workload: Manifest) -> Mapping[str, Any]:
    """The Workload that a job requests, with the size of its present Workload. Another slice provides the remainder."""
    held = sizes(workload)
    if held.keys() != sizes(made).keys():
        return made
    return {**made, "spec": {**made["spec"], "podSets": sized(made, held)}}


def resized(made: Mapping[str, Any], workload: Manifest) -> bool:
    return sizes(made) != sizes(workload)


def _pod_sets(workload: Mapping[str, Any]) -> Sequence[Any]:
    found = at(workload, "spec.podSets")
    return found if isinstance(found, Sequence) else ()
