"""The kinds of kueue.x-k8s.io, and references to objects of these kinds."""

from __future__ import annotations

from policies.model.objects import GroupKind

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

PRIORITY_SOURCES = {
    "kueue.x-k8s.io/workloadpriorityclass": (GROUP, "WorkloadPriorityClass"),
    "scheduling.k8s.io/priorityclass": ("scheduling.k8s.io", "PriorityClass"),
}
"""The group and kind of a Workload's priority class, by priorityClassSource of v1beta1."""
LABEL = "quotree.dev/installed-by"
"""The label of Quotree's CustomResourceDefinitions. Those of Kueue do not have it."""
CONVERSION_PATH = "/v1/convert/kueue"
"""The path of the webhook that converts the kinds of this group. A CustomResourceDefinition with this path is converted
by Quotree."""
PREFIX = f"{GROUP}/"
"""The prefix of Kueue's labels and annotations."""
IN_USE = f"{PREFIX}resource-in-use"
"""The finalizer of objects that workloads may depend on."""


def flavor_resource(flavor: str, resource: str) -> str:
    """The FlavorResource as one text. The first slash separates the parts, since the name of a flavor has none."""
    return f"{flavor}/{resource}"
