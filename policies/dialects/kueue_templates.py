"""The pods that a job will make, where they are described in its manifest: what Kueue will make pod sets of.

Source: Kueue v0.19, pkg/controller/jobs. AppWrapper, TrainJob and SparkApplication are not read: what their pods ask
for depends on other objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from policies import fields
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.reading import Manifest, listing, mapping, text, texts

_ROLES = ("Launcher", "Chief", "Master", "PS", "Worker", "Evaluator")
"""Of the jobs of Kubeflow."""
HEAD = "head"
"""The pod set of a Ray cluster's head, in lower case."""


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
    reader = _READERS.get(kind)
    return tuple(reader(mapping(manifest.get("spec")))) if reader else ()


def ray_cluster(kind: str, manifest: Manifest) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Path and content of the cluster that an object of ray.io describes."""
    path = ("spec", *_RAY_CLUSTERS[kind])
    found: Mapping[str, Any] = manifest
    for step in path:
        found = mapping(found.get(step))
    return path, found


def _pods(name: str, count: int, holder: Mapping[str, Any], *path: str | int) -> Iterator[JobPods]:
    """The template that `path` ends at, below `holder`, which has its last key."""
    template = mapping(holder.get(str(path[-1])))
    if template:
        notes = texts(mapping(template.get("metadata")).get("annotations"))
        ours = {key: value for key, value in notes.items() if key.startswith(PREFIX)}
        yield JobPods(name, max(0, count), template, fields.join("spec", *path), annotations=ours)


def _whole(value: object, default: int = 1) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _at_once(spec: Mapping[str, Any]) -> int:
    """How many pods of a batch Job run at a time."""
    parallelism = _whole(spec.get("parallelism"))
    return min(parallelism, _whole(spec.get("completions"), parallelism))


def _of_job(spec: Mapping[str, Any]) -> Iterator[JobPods]:
    yield from _pods("main", _at_once(spec), spec, "template")


def _of_job_set(spec: Mapping[str, Any]) -> Iterator[JobPods]:
    for index, entry in enumerate(map(mapping, listing(spec.get("replicatedJobs")))):
        inner = mapping(mapping(entry.get("template")).get("spec"))
        pods = _whole(entry.get("replicas")) * _at_once(inner)
        name = text(entry.get("name")) or str(index)
        yield from _pods(name, pods, inner, "replicatedJobs", index, "template", "spec", "template")


def _of_roles(key: str) -> Callable[[Mapping[str, Any]], Iterator[JobPods]]:
    def read(spec: Mapping[str, Any]) -> Iterator[JobPods]:
        for role, entry in sorted(mapping(spec.get(key)).items(), key=_place):
            replicas = mapping(entry)
            yield from _pods(str(role).lower(), _whole(replicas.get("replicas")), replicas, key, str(role), "template")

    return read


def _place(entry: tuple[str, object]) -> tuple[int, str]:
    """Where a role comes in Kueue's list of pod sets, whatever the order in the manifest."""
    role = str(entry[0])
    return _ROLES.index(role) if role in _ROLES else len(_ROLES), role


def _of_ray(kind: str) -> Callable[[Mapping[str, Any]], Iterator[JobPods]]:
    def read(spec: Mapping[str, Any]) -> Iterator[JobPods]:
        (_, *path), cluster = ray_cluster(kind, {"spec": spec})
        yield from _pods(HEAD, 1, mapping(cluster.get("headGroupSpec")), *path, "headGroupSpec", "template")
        for index, group in enumerate(map(mapping, listing(cluster.get("workerGroupSpecs")))):
            pods = _whole(group.get("replicas")) * _whole(group.get("numOfHosts"))
            name = (text(group.get("groupName")) or str(index)).lower()
            yield from _pods(name, pods, group, *path, "workerGroupSpecs", index, "template")

    return read


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


_RAY_CLUSTERS: Mapping[str, tuple[str, ...]] = {
    "RayCluster": (),
    "RayJob": ("rayClusterSpec",),
    "RayService": ("rayClusterConfig",),
}
RAY_KINDS = frozenset(_RAY_CLUSTERS)

_READERS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[JobPods]]] = {
    "Job": _of_job,
    "JobSet": _of_job_set,
    "TFJob": _of_roles("tfReplicaSpecs"),
    "PaddleJob": _of_roles("paddleReplicaSpecs"),
    "PyTorchJob": _of_roles("pytorchReplicaSpecs"),
    "XGBoostJob": _of_roles("xgbReplicaSpecs"),
    "MPIJob": _of_roles("mpiReplicaSpecs"),
    "JAXJob": _of_roles("jaxReplicaSpecs"),
    "Deployment": _of_deployment,
    "StatefulSet": _of_stateful_set,
    "LeaderWorkerSet": _of_leader_worker_set,
    **{kind: _of_ray(kind) for kind in _RAY_CLUSTERS},
}
