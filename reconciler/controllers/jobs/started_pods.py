"""Pods that outlive their job: while they run, they use the quota of their Workload, however the job was deleted.

Pods that have started carry the name of their Workload. Kueue releases the quota when the job is gone.
"""

from __future__ import annotations

from typing import NamedTuple

from cluster.resource import PODS
from cluster.stream import Manifest
from policies.dialects.core import POD
from policies.dialects.kueue_jobs import POD_SET, STARTED_FOR
from policies.dialects.kueue_workload import SLICE_CHAIN
from policies.dialects.pod_reading import pod_reading
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE
from reconciler.objects.watched import WatchedKind


class StartedPod(NamedTuple):
    """A Pod that has been started for a Workload.

    `workload`: `namespace/name` of the Workload whose quota the Pod may use; of several slices the first.
    `gates`: its scheduling gates. A Pod with the gate of elastic jobs uses no quota.
    `deleting`: it is being deleted.
    `bound`: it has a node, and may run there after its job has given it up.
    """

    workload: str
    pod_set: str = ""
    gates: tuple[str, ...] = ()
    deleting: bool = False
    bound: bool = False
    uid: str = ""


def _started_pod(pod: Manifest) -> StartedPod | None:
    """Read a Pod; None if it has ended."""
    read = pod_reading(pod)
    notes = read.annotations
    name = notes.get(SLICE_CHAIN) or notes.get(STARTED_FOR)
    if not name or not read.may_run:
        return None
    pod_set, held = read.labels.get(POD_SET, ""), read.gates if read.waits_at(ELASTIC_GATE) else ()
    return StartedPod(f"{read.namespace}/{name}", pod_set, held, read.deleting, read.bound, read.uid)


STARTED_PODS: WatchedKind[StartedPod] = WatchedKind(
    "StartedPod", PODS, _started_pod, label_selector=POD_SET, relist=True, object_kind=POD.kind
)
