"""Pods that were started for a job. While they may run, they use the quota of their Workload, even without an owner.

An annotation of a started Pod names its Workload. Kueue releases the quota as soon as the job is gone.
"""

from __future__ import annotations

from sys import intern
from types import MappingProxyType
from typing import NamedTuple

from cluster.resource import PODS, Manifest
from policies.dialects.core import POD
from policies.dialects.kueue_jobs import MANAGED, POD_SET, STARTED_FOR
from policies.dialects.kueue_owners import controller_of
from policies.dialects.kueue_workload import SLICE_CHAIN
from policies.dialects.pod_reading import pod_reading
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE
from reconciler.jobs.pod_writes import LONGEST_GRACE
from reconciler.objects.watched import WatchedKind
from scheduling.objects.amounts import Requests
from scheduling.objects.roles import pod_requests
from scheduling.objects.template import template


class StartedPod(NamedTuple):
    """A Pod that was started for a Workload.

    `workload`: `namespace/name` of the Workload whose quota the Pod uses, the first one of several slices. Empty if the
        Pod names none.
    `pod_set`: the name of its pod set.
    `gates`: its scheduling gates. A Pod with the gate of elastic jobs uses no quota.
    `deleting`: whether it is being deleted.
    `bound`: whether it is bound to a Node, where it may run even after its job has released it.
    `controller`: the uid of its controller; empty if it has none.
    `let_go`: whether its controller has released it, and may have made another Pod.
    `grace`: its grace period for termination, in seconds.
    `marked`: whether it has the label that the watch selects.
    `ended`: whether it has ended. Then the other fields are not known.
    `alone`: whether it is queued by itself. Then this module does not compare its requests.
    `asks`: its requests.
    `grown`: whether it requests more than when it was started.
    `created`: its creationTimestamp as written.
    """

    workload: str
    pod_set: str = ""
    gates: tuple[str, ...] = ()
    deleting: bool = False
    bound: bool = False
    uid: str = ""
    controller: str = ""
    let_go: bool = False
    grace: int = 0
    marked: bool = True
    ended: bool = False
    alone: bool = False
    asks: Requests = MappingProxyType({})
    grown: bool = False
    created: str = ""

    @property
    def given_up(self) -> bool:
        """Whether the Pod may have to end: its job may have made another Pod, or it requests more than was admitted."""
        return self.let_go or self.grown or (self.deleting and self.grace > LONGEST_GRACE)

    def later(self, pod: StartedPod) -> StartedPod:
        """The Pod as observed later. It keeps its Workload and its controller, even if its fields have changed."""
        let_go = self.let_go or pod.controller != self.controller
        marked = pod.marked and (pod.workload, pod.pod_set) == (self.workload, self.pod_set)
        return pod._replace(
            workload=self.workload,
            pod_set=self.pod_set,
            controller=self.controller,
            let_go=let_go,
            marked=marked,
            alone=self.alone,
            asks=self.asks,
            grown=not self.alone and any(amount > self.asks.get(name, 0) for name, amount in pod.asks.items()),
        )


_ENDED = StartedPod("", ended=True)
"""One object for all ended Pods, because there may be thousands of them."""


def _started_pod(pod: Manifest) -> StartedPod:
    read = pod_reading(pod)
    if not read.may_run:
        return _ENDED
    notes, controller, alone = read.annotations, controller_of(read.meta), read.labels.get(MANAGED) == "true"
    name = notes.get(SLICE_CHAIN) or notes.get(STARTED_FOR)
    return StartedPod(
        intern(f"{read.namespace}/{name}") if name else "",
        read.labels.get(POD_SET, ""),
        read.gates if read.waits_at(ELASTIC_GATE) else (),
        read.deleting,
        read.bound,
        read.uid,
        intern(controller.uid) if controller is not None else "",
        controller is None and not alone,
        read.grace,
        POD_SET in read.labels,
        alone=alone,
        asks=pod_requests(template(read.spec)),
        created=intern(read.created),
    )


STARTED_PODS: WatchedKind[StartedPod] = WatchedKind(
    "StartedPod",
    PODS,
    _started_pod,
    label_selector=POD_SET,
    relist=True,
    selects=lambda pod: pod.marked,
    object_kind=POD.kind,
)
