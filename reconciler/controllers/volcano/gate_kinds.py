"""The kinds that quota of Volcano's queues at gates depends on, and what is kept of each.

Nodes are not among them: what a queue may use follows from queues alone.
"""

from __future__ import annotations

from cluster.resource import PODS, PRIORITY_CLASSES
from policies.dialects.core import POD
from reconciler.controllers.volcano.kinds import POD_GROUP, QUEUE, QUEUES
from reconciler.objects.watched import PRIORITY_CLASS, WatchedKind, ignore
from scheduling.volcano.gates.gated_pod import read_gated_class, read_gated_group, read_gated_pod, read_gated_queue

GATED_POD = WatchedKind("VolcanoGatedPod", PODS, read_gated_pod, ignore, ignore, relist=True, of=POD.kind)
GATED_GROUP = WatchedKind(
    "GatedPodGroup", POD_GROUP.resource, read_gated_group, ignore, ignore, relist=True, of=POD_GROUP.kind
)
GATED_QUEUE = WatchedKind("GatedQueue", QUEUES, read_gated_queue, ignore, ignore, relist=True, of=QUEUE.kind)
GATED_CLASS = WatchedKind("GatedPriorityClass", PRIORITY_CLASSES, read_gated_class, ignore, ignore, of=PRIORITY_CLASS)
WATCHED = (GATED_CLASS, GATED_QUEUE, GATED_GROUP, GATED_POD)
