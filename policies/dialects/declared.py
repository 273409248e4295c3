"""The kinds that people keep in files: queues, the objects that queues refer to, and Namespaces."""

from __future__ import annotations

from policies.dialects import core, kueue, kueue_kinds, volcano

DECLARED = (
    kueue.COHORT,
    kueue.CLUSTER_QUEUE,
    kueue.LOCAL_QUEUE,
    kueue.RESOURCE_FLAVOR,
    kueue_kinds.TOPOLOGY,
    kueue_kinds.WORKLOAD_PRIORITY_CLASS,
    kueue_kinds.ADMISSION_CHECK,
    kueue_kinds.MULTIKUEUE_CONFIG,
    kueue_kinds.MULTIKUEUE_CLUSTER,
    volcano.QUEUE,
    core.NAMESPACE,
)
"""If no file has an object of one of these kinds, the object does not exist. Work is not in files."""
