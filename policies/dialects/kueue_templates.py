"""The pods that a job will make, where they are described in its manifest: what Kueue will make pod sets of.

Source: Kueue v0.19, pkg/controller/jobs. AppWrapper, TrainJob and SparkApplication are not read: what their pods ask
for depends on other objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.dialects.job_shape import PodsAt, pods_at
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.kueue_shapes import RAY_CLUSTERS, SHAPES
from policies.dialects.reading import Manifest, mapping, texts
from policies.model import fields


@dataclass(frozen=True, slots=True)
class JobPods:
    """`count` pods of one template that come together; `template` is its manifest, `at` the path of it.

    `annotations` are those of Kueue.
    """

    name: str
    count: int
    template: Mapping[str, Any]
    at: str
    annotations: Mapping[str, str] = field(default_factory=dict)


def job_pods(kind: str, manifest: Manifest) -> tuple[JobPods, ...]:
    """Nothing for kinds that are not read, nor for parts that are missing."""
    shape = _SHAPES.get(kind)
    if shape is not None:
        return tuple(_found(pods) for pods in pods_at(manifest, shape.pod_sets))
    reader = _READERS.get(kind)
    return tuple(reader(mapping(manifest.get("spec")))) if reader else ()


def _found(pods: PodsAt) -> JobPods:
    return JobPods(pods.name, pods.count, pods.template, fields.join("", *pods.path), _ours(pods.template))


def ray_cluster(kind: str, manifest: Manifest) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Path and content of the cluster that an object of ray.io describes."""
    path = ("spec", *RAY_CLUSTERS[kind])
    found: Mapping[str, Any] = manifest
    for step in path:
        found = mapping(found.get(step))
    return path, found


def _pods(name: str, count: int, holder: Mapping[str, Any], *path: str | int) -> Iterator[JobPods]:
    """The template that `path` ends at, below `holder`, which has its last key."""
    template = mapping(holder.get(str(path[-1])))
    if template:
        yield JobPods(name, max(0, count), template, fields.join("spec", *path), _ours(template))


def _ours(template: Mapping[str, Any]) -> dict[str, str]:
    notes = texts(mapping(template.get("metadata")).get("annotations"))
    return {key: value for key, value in notes.items() if key.startswith(PREFIX)}


def _whole(value: object, default: int = 1) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _of_deployment(spec: Mapping[str, Any]) -> Iterator[JobPods]:
    """Its pods are admitted one by one."""
    yield from _pods("main", min(1, _whole(spec.get("replicas"))), spec, "template")


def _of_stateful_set(spec: Mapping[str, Any]) -> Iterator[JobPods]:
    yield from _pods("main", _whole(spec.get("replicas")), spec, "template")


def _of_leader_worker_set(spec: Mapping[str, Any]) -> Iterator[JobPods]:
    """Each group is admitted by itself: a leader, which is a worker where it has no template, and the others."""
    inner, key = mapping(spec.get("leaderWorkerTemplate")), "leaderWorkerTemplate"
    size, leaders = _whole(inner.get("size")), bool(mapping(inner.get("leaderTemplate")))
    if _whole(spec.get("replicas")):
        yield from _pods("leader", 1, inner, key, "leaderTemplate")
        yield from _pods("worker", size - leaders, inner, key, "workerTemplate")


RAY_KINDS = frozenset(RAY_CLUSTERS)
_SHAPES = {kind.kind: shape for kind, shape in SHAPES.items()}
_READERS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[JobPods]]] = {
    "Deployment": _of_deployment,
    "StatefulSet": _of_stateful_set,
    "LeaderWorkerSet": _of_leader_worker_set,
}
