"""The watched kinds that decide about Volcano's quota at scheduling gates, with the fields that are kept of each.

Nodes are not among them, because a queue's limits are computed from queues alone.
"""

from __future__ import annotations

from cluster.resource import PODS, PRIORITY_CLASSES
from policies.dialects.core import POD
from reconciler.controllers.volcano.kinds import POD_GROUP, QUEUE, QUEUES
from reconciler.objects.watched import PRIORITY_CLASS, WatchedKind
from scheduling.volcano.gates.gated_pod import (
    GatedGroup,
    GatedQueue,
    VolcanoGatedPod,
    read_gated_group,
    read_gated_pod,
    read_gated_queue,
)
from scheduling.volcano.reading import ClassPriority, read_priority_class

GATED_POD: WatchedKind[VolcanoGatedPod] = WatchedKind(
    "VolcanoGatedPod", PODS, read_gated_pod, relist=True, object_kind=POD.kind
)
GATED_GROUP: WatchedKind[GatedGroup] = WatchedKind(
    "GatedPodGroup", POD_GROUP.resource, read_gated_group, relist=True, object_kind=POD_GROUP.kind
)
GATED_QUEUE: WatchedKind[GatedQueue] = WatchedKind(
    "GatedQueue", QUEUES, read_gated_queue, relist=True, object_kind=QUEUE.kind
)
GATED_CLASS: WatchedKind[ClassPriority] = WatchedKind(
    "GatedPriorityClass", PRIORITY_CLASSES, read_priority_class, object_kind=PRIORITY_CLASS
)
WATCHED = (GATED_CLASS, GATED_QUEUE, GATED_GROUP, GATED_POD)
