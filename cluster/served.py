"""The API versions in which each kind is served, or was served by earlier releases of its project."""

from __future__ import annotations

from collections.abc import Mapping

from cluster.resource import CONFIG_MAPS, NAMESPACES, PODS, PRIORITY_CLASSES, Resource
from policies.dialects import core, kueue, volcano
from policies.dialects.core import CONFIG_MAP
from policies.dialects.kueue_kinds import (
    ADMISSION_CHECK,
    MULTIKUEUE_CLUSTER,
    MULTIKUEUE_CONFIG,
    PROVISIONING_REQUEST_CONFIG,
    TOPOLOGY,
    WORKLOAD_PRIORITY_CLASS,
)
from policies.dialects.priority_class import PRIORITY_CLASS
from policies.model.objects import GroupKind


def _kueue(plural: str, *versions: str, namespaced: bool = False) -> tuple[Resource, ...]:
    return tuple(Resource(kueue.GROUP, version, plural, namespaced) for version in versions)


FOLLOWED: Mapping[GroupKind, tuple[Resource, ...]] = {
    kueue.COHORT: _kueue("cohorts", "v1beta2", "v1beta1", "v1alpha1"),
    kueue.CLUSTER_QUEUE: _kueue("clusterqueues", "v1beta2", "v1beta1"),
    kueue.LOCAL_QUEUE: _kueue("localqueues", "v1beta2", "v1beta1", namespaced=True),
    kueue.RESOURCE_FLAVOR: _kueue("resourceflavors", "v1beta2", "v1beta1"),
    TOPOLOGY: _kueue("topologies", "v1beta2", "v1beta1"),
    WORKLOAD_PRIORITY_CLASS: _kueue("workloadpriorityclasses", "v1beta2", "v1beta1"),
    ADMISSION_CHECK: _kueue("admissionchecks", "v1beta2", "v1beta1"),
    MULTIKUEUE_CONFIG: _kueue("multikueueconfigs", "v1beta2", "v1beta1"),
    MULTIKUEUE_CLUSTER: _kueue("multikueueclusters", "v1beta2", "v1beta1"),
    PROVISIONING_REQUEST_CONFIG: _kueue("provisioningrequestconfigs", "v1beta2", "v1beta1"),
    volcano.QUEUE: (Resource(volcano.GROUP, "v1beta1", "queues", namespaced=False),),
    volcano.POD_GROUP: (Resource(volcano.GROUP, "v1beta1", "podgroups", namespaced=True),),
    volcano.JOB: (Resource(volcano.JOB.group, "v1alpha1", "jobs", namespaced=True),),
    core.NAMESPACE: (NAMESPACES,),
    PRIORITY_CLASS: (PRIORITY_CLASSES,),
    CONFIG_MAP: (CONFIG_MAPS,),
    core.POD: (PODS,),
}
"""The kinds that rules read, each with the versions that its project serves or has served, the newest first."""

WORKLOADS = _kueue("workloads", "v1beta2", "v1beta1", namespaced=True)
"""Kueue's Workloads. Rules do not read them; the reconciler and some commands do."""
