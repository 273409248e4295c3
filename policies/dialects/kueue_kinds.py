"""The kinds of kueue.x-k8s.io, and references to objects of these kinds."""

from __future__ import annotations

from policies.model.objects import GroupKind, Ref

GROUP = "kueue.x-k8s.io"
COHORT = GroupKind(GROUP, "Cohort")
CLUSTER_QUEUE = GroupKind(GROUP, "ClusterQueue")
LOCAL_QUEUE = GroupKind(GROUP, "LocalQueue")
WORKLOAD = GroupKind(GROUP, "Workload")
RESOURCE_FLAVOR = GroupKind(GROUP, "ResourceFlavor")
ADMISSION_CHECK = GroupKind(GROUP, "AdmissionCheck")
MULTIKUEUE_CONFIG = GroupKind(GROUP, "MultiKueueConfig")
MULTIKUEUE_CLUSTER = GroupKind(GROUP, "MultiKueueCluster")
WORKLOAD_PRIORITY_CLASS = GroupKind(GROUP, "WorkloadPriorityClass")
TOPOLOGY = GroupKind(GROUP, "Topology")
PROVISIONING_REQUEST_CONFIG = GroupKind(GROUP, "ProvisioningRequestConfig")

LABEL = "quotree.dev/installed-by"
"""The label of Quotree's CustomResourceDefinitions. Those of Kueue do not have it."""
CONVERSION_PATH = "/v1/convert/kueue"
"""The path of the webhook that converts the kinds of this group. A CustomResourceDefinition with this path is converted
by Quotree."""
PREFIX = f"{GROUP}/"
"""The prefix of Kueue's labels and annotations."""
IN_USE = f"{PREFIX}resource-in-use"
"""The finalizer of objects that workloads may depend on."""


def admission_check_ref(name: str) -> Ref:
    return Ref(*ADMISSION_CHECK, "", name)


def multikueue_cluster_ref(name: str) -> Ref:
    return Ref(*MULTIKUEUE_CLUSTER, "", name)


def resource_flavor_ref(name: str) -> Ref:
    return Ref(*RESOURCE_FLAVOR, "", name)


def topology_ref(name: str) -> Ref:
    return Ref(*TOPOLOGY, "", name)


def cohort_ref(name: str) -> Ref:
    return Ref(*COHORT, "", name)


def cluster_queue_ref(name: str) -> Ref:
    return Ref(*CLUSTER_QUEUE, "", name)


def local_queue_ref(namespace: str, name: str) -> Ref:
    return Ref(*LOCAL_QUEUE, namespace, name)


def flavor_resource(flavor: str, resource: str) -> str:
    """The FlavorResource as one text. The first slash separates the parts, since the name of a flavor has none."""
    return f"{flavor}/{resource}"
