"""Pods, and the kinds whose Pods are queued alone or in groups. Source: Kueue v0.19, pkg/controller/jobs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from policies.dialects.core import POD
from policies.dialects.job_shape import Framework, PodsAt, at
from policies.dialects.reading import Manifest, integer, mapping
from policies.model.objects import GroupKind

_TEMPLATE = "spec.template"
_LEADER, _WORKER = (f"spec.leaderWorkerTemplate.{role}Template" for role in ("leader", "worker"))


def _of_deployment(manifest: Manifest) -> Iterator[PodsAt]:
    """A pod set of one Pod, since the Pods of a Deployment are admitted one by one."""
    yield from _pods("main", min(1, _count(manifest, "spec.replicas")), manifest, _TEMPLATE)


def _of_replicas(manifest: Manifest) -> Iterator[PodsAt]:
    yield from _pods("main", _count(manifest, "spec.replicas"), manifest, _TEMPLATE)


def _of_leader_worker_set(manifest: Manifest) -> Iterator[PodsAt]:
    """The pods of one group, since each group is admitted alone: a leader and workers. Without a leader template, the
    leader is one of the workers."""
    size, leaders = _count(manifest, "spec.leaderWorkerTemplate.size"), bool(mapping(at(manifest, _LEADER)))
    if _count(manifest, "spec.replicas"):
        yield from _pods("leader", 1, manifest, _LEADER)
        yield from _pods("worker", size - leaders, manifest, _WORKER)


def _size(manifest: Manifest) -> int:
    """The number of Pods in a group of a LeaderWorkerSet.

    It is 0 if the workers are created only when the leader is ready, and have another template: a group of both would
    wait for the workers, and these for the leader.
    """
    late = at(manifest, "spec.startupPolicy") == "LeaderReady" and bool(mapping(at(manifest, _LEADER)))
    return 0 if late else _count(manifest, "spec.leaderWorkerTemplate.size")


def _pods(name: str, count: int, manifest: Manifest, path: str) -> Iterator[PodsAt]:
    template = mapping(at(manifest, path))
    if template:
        yield PodsAt(name, max(0, count), 1, template, template, tuple(path.split(".")))


def _count(manifest: Manifest, path: str) -> int:
    count = integer(at(manifest, path))
    return 1 if count is None else count


REPLICA_SET = Framework(
    kind=GroupKind("apps", "ReplicaSet"),
    version="v1",
    plural="replicasets",
    makes=(POD,),
    pods=_of_replicas,
)
"""The owner between a Deployment and its Pods. It is not in FRAMEWORKS, since it is not queued itself."""
_by_pods = partial(Framework, version="v1", default=True, by_pods=True, prebuilt=False)
STATEFUL_SET = _by_pods(
    kind=GroupKind("apps", "StatefulSet"),
    plural="statefulsets",
    alias="statefulset",
    makes=(POD,),
    templates=(_TEMPLATE,),
    group=partial(_count, path="spec.replicas"),
    scaled="spec.replicas",
    pods=_of_replicas,
)
LEADER_WORKER_SET = _by_pods(
    kind=GroupKind("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
    plural="leaderworkersets",
    makes=(STATEFUL_SET.kind, POD),
    templates=(_LEADER, _WORKER),
    group=_size,
    pods=_of_leader_worker_set,
)
LEADER = Framework(kind=POD, version="v1", plural="pods", makes=(STATEFUL_SET.kind,))
"""The leader of a group of a LeaderWorkerSet, which owns the StatefulSet of its workers."""
FRAMEWORKS = (
    _by_pods(kind=POD, plural="pods", alias="pod"),
    _by_pods(
        kind=GroupKind("apps", "Deployment"),
        plural="deployments",
        alias="deployment",
        dispatched=False,
        makes=(REPLICA_SET.kind,),
        templates=(_TEMPLATE,),
        pods=_of_deployment,
    ),
    STATEFUL_SET,
    LEADER_WORKER_SET,
)
