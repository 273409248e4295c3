"""Pods that were started for a job: while they may run, they use the quota of their Workload, whatever owns them now.

Pods that have started carry the name of their Workload. Kueue releases the quota when the job is gone.
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
    """A Pod that has been started for a Workload.

    `workload`: `namespace/name` of the Workload whose quota the Pod may use; of several slices the first. Empty if the
        Pod names none.
    `gates`: its scheduling gates. A Pod with the gate of elastic jobs uses no quota.
    `deleting`: it is being deleted.
    `bound`: it has a node, and may run there after its job has given it up.
    `controller`: the uid of its controller; empty if it has none.
    `let_go`: its controller has let go of it, and may have made another Pod.
    `grace`: the seconds that it has, or would have, to terminate.
    `marked`: it has the label that the watch selects.
    `ended`: it has ended, and nothing else is known of it.
    `alone`: it is queued by itself. What such a Pod requests is judged elsewhere.
    `asks`: its requests.
    `grown`: it requests more than it did when it was started.
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

    @property
    def given_up(self) -> bool:
        """Whether it may have to end: its job may have made another Pod, or it takes more than was admitted."""
        return self.let_go or self.grown or (self.deleting and self.grace > LONGEST_GRACE)

    def later(self, pod: StartedPod) -> StartedPod:
        """The same Pod as it is later. It stays with its Workload and its job, whatever it says itself."""
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
"""One for all, because thousands may have ended."""


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
