"""The reader of each kind, in every version that the three projects serve or have served."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from policies.dialects import (
    core,
    kueue,
    kueue_checks,
    kueue_jobs,
    volcano,
    yunikorn_pods,
    yunikorn_shares,
    yunikorn_work,
)
from policies.dialects.cluster_node import read_node
from policies.dialects.kueue_flavor import read_resource_flavor
from policies.dialects.kueue_pods import ownership, pod_marks, sized
from policies.dialects.kueue_workload import read_workload
from policies.dialects.misnamed import read_misnamed
from policies.dialects.priority_class import PRIORITY_CLASS, read_priority_class
from policies.dialects.reading import Manifest, exemptions, group_kind, metadata
from policies.dialects.yunikorn_config import configmap
from policies.model.objects import GroupKind, KubeObject


def _read_pod(manifest: Manifest) -> core.Pod:
    pod, owner, marks = (
        yunikorn_pods.read_pod(manifest),
        kueue_jobs.managed_owner(metadata(manifest)),
        pod_marks(manifest),
    )
    size = sized(manifest)
    if not (owner or marks or size):
        return pod
    return replace(pod, owner=owner, marks=marks, sized=size, ownership=ownership(manifest))


def _read_config_map(manifest: Manifest) -> KubeObject | None:
    return configmap.read_config_map(manifest) or configmap.read_misnamed(manifest)


READERS: Mapping[GroupKind, Callable[[Manifest], KubeObject | None]] = {
    core.NAMESPACE: yunikorn_shares.read_namespace,
    core.POD: _read_pod,
    core.CONFIG_MAP: _read_config_map,
    kueue.COHORT: kueue.read_cohort,
    kueue.CLUSTER_QUEUE: kueue.read_cluster_queue,
    kueue.LOCAL_QUEUE: kueue.read_local_queue,
    kueue.WORKLOAD: read_workload,
    kueue.RESOURCE_FLAVOR: read_resource_flavor,
    PRIORITY_CLASS: read_priority_class,
    **yunikorn_work.READERS,
    **kueue_checks.READERS,
    **kueue_jobs.READERS,
    volcano.QUEUE: volcano.read_queue,
    volcano.POD_GROUP: volcano.read_pod_group,
    volcano.JOB: volcano.read_job,
}


BESIDE: Mapping[GroupKind, Callable[[Manifest], KubeObject | None]] = {core.NODE: read_node}
"""Kinds that rules read but do not judge. No webhook is called for them."""

ORCHESTRATED: Mapping[GroupKind, Callable[[Manifest], KubeObject | None]] = {
    kueue.COHORT: partial(kueue.read_cohort, orchestrated=True),
    kueue.CLUSTER_QUEUE: partial(kueue.read_cluster_queue, orchestrated=True),
}


def read(manifest: Manifest, *, orchestrated: bool = False) -> KubeObject | None:
    """The typed object, with the defects of its manifest; None for kinds without quota.

    A manifest with a misspelt group or kind becomes a Misnamed. `orchestrated`: whether status.effectiveQuotas of
    Kueue's ClusterQueues and Cohorts applies.
    """
    kind = group_kind(manifest)
    reader = (orchestrated and ORCHESTRATED.get(kind)) or READERS.get(kind) or BESIDE.get(kind)
    obj = reader(manifest) if reader else read_misnamed(manifest, kind)
    asked = exemptions(manifest) if obj else ()
    return replace(obj, exemptions=asked) if obj and asked else obj
