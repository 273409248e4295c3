"""The view of Pods that get their place from the topology assignment of their Workload."""

from __future__ import annotations

from cluster.resource import PODS, Manifest
from policies.dialects.core import POD
from policies.dialects.kueue_jobs import POD_SET
from policies.dialects.pod_reading import pod_reading
from policies.mutation.kueue_pod_defaults import TOPOLOGY_GATE
from reconciler.objects.watched import WatchedKind
from scheduling.topology.pods import TopologyPod, is_of_topology, topology_pod


def _placed_pod(manifest: Manifest) -> TopologyPod | None:
    """The Pod, if it belongs to a workload with a topology and has not ended; otherwise None."""
    pod = pod_reading(manifest)
    if pod.ended or not (pod.waits_at(TOPOLOGY_GATE) or is_of_topology(pod.annotations)):
        return None
    found = topology_pod(pod)
    return found if found.workload else None


PLACED_PODS: WatchedKind[TopologyPod] = WatchedKind(
    "PlacedPod", PODS, _placed_pod, label_selector=POD_SET, relist=True, object_kind=POD.kind
)
