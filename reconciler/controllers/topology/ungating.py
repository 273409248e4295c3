"""Assigns places to the Pods of an admitted Workload: removes the scheduling gate and sets node selectors.

The places are in the status of the Workload. A Pod without the gate keeps its place. When a Pod is gone, another Pod
gets its place. A Pod without the gate and without a place is deleted, so that its job makes another one.
Source: Kueue v0.19, pkg/controller/tas, the topology ungater.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from cluster.actions import Delete, Patch
from cluster.resource import PODS
from policies.dialects.core import POD
from policies.mutation.kueue_pod_defaults import TOPOLOGY_GATE
from reconciler.controllers.internal_errors import InternalErrors
from reconciler.core.controller import Busy, Controller, Lookup, WaitFor, WakeAt, Wanted
from reconciler.jobs.pod_writes import LONGEST_GRACE
from reconciler.objects.observed import Key, Observed
from reconciler.objects.patches import JOB_MANAGER
from reconciler.objects.topology_views import NODE_HEALTH, PLACED_PODS
from reconciler.objects.wanted import ObjectReference, WantedWrite, refer, reference
from scheduling.objects.grouped import Grouped
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload
from scheduling.topology.pods import TopologyPod, carried_name
from scheduling.topology.ungating import BadPodIndexOffset, misplaced, ungated

CANNOT_PLACE, MISPLACED = "CannotPlacePod", "MisplacedPodDeleted"
_KIND, _WORKLOAD, _NAME = PLACED_PODS.kind, "Workload", "NamedByPods"
_PATIENCE = 10 * SECOND
"""How long Pods of a Workload may be outside its places. Their job may be about to delete them."""

Pods = Mapping[str, Observed[TopologyPod]]


def _never(_: str) -> bool:
    return False


class UngatingController(Controller):
    """Ungates Pods. Keys are the Workload names in Pods (`namespace/name`). All slices of an elastic job share one key.

    `failing`: returns whether a node is failing. A Pod bound to such a node may have lost its place, and is not
        deleted until the node works again. None: nodes are not watched.

    Private state:
    `_misplaced_since`: when Pods outside their places were first found, by key.
    `_sent_selectors`: the node selectors of writes without a response, by Pod.
    `_waiting_for_node`: the keys that have Pods outside their places on a failing node, by node.
    """

    def __init__(self, stored: Lookup, failing: Callable[[str], bool] | None = None) -> None:
        self.watched = (PLACED_PODS,) if failing is None else (PLACED_PODS, NODE_HEALTH)
        self._stored = stored
        self._failing = failing or _never
        self._pods: Grouped[str, str, Observed[TopologyPod]] = Grouped()
        self._workloads: Grouped[str, str, None] = Grouped()
        self._sent_selectors: dict[str, Mapping[str, str]] = {}
        self._misplaced_since: dict[str, int] = {}
        self._waiting_for_node: dict[str, dict[str, None]] = {}
        self._stale: dict[str, None] = {}
        self._errors = InternalErrors()

    # --- observed changes

    def observe(self, observed: Observed[object]) -> None:
        if observed.key[0] == NODE_HEALTH.kind:
            self._stale.update(self._waiting_for_node.pop(observed.key[1], {}))
            return
        key, found = observed.key[1], PLACED_PODS.of(observed)
        before, known = self._pods.group_of.get(key), self._pods.pop(key)
        if found is None:
            self._sent_selectors.pop(key, None)
        else:
            self._pods.put(key, found.value.workload, found)
        if known is None or found is None or _as_placed(known.value) != _as_placed(found.value):
            self._stale.update(dict.fromkeys(name for name in (before, self._pods.group_of.get(key)) if name))

    def workload_changed(self, workload: str) -> None:
        found = self._stored(workload)
        before = self._workloads.group_of.get(workload)
        self._workloads.pop(workload)
        if found is not None and found.value.admission is not None:
            self._workloads.put(workload, carried_name(found.value), None)
        names = (before, self._workloads.group_of.get(workload))
        self._stale.update({each: None for each in names if each is not None and each in self._pods})

    def wake(self, item: Key) -> None:
        self._stale[item[1]] = None

    # --- writes

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        stale, self._stale = self._stale, {}
        for name in stale:
            pods, slices = self._pods.of(name), self._workloads.of(name)
            blocked = next((each for each in slices if busy(_WORKLOAD, each)), None)
            if blocked is not None:
                yield WaitFor((_NAME, name), (_WORKLOAD, blocked))
                continue
            workload = self._admitted(slices)
            if workload is None or not pods:
                self._misplaced_since.pop(name, None)
                continue
            look = partial(self._look_at, name, workload, pods, busy, now)
            yield from self._errors.isolated((_NAME, name), look, reference(workload), now)

    def _look_at(self, name: str, workload: Workload, pods: Pods, busy: Busy, now: int) -> Iterator[Wanted]:
        seen = self._as_sent(pods, busy)
        over = misplaced(workload, seen)
        wrong = {pod.key for pod in over}  # left out, since one Pod in a wrong place ends the order by rank
        yield from self._remove_gates(name, workload, pods, [pod for pod in seen if pod.key not in wrong], busy)
        yield from self._delete_misplaced(name, workload, pods, over, busy, now)

    def _admitted(self, slices: Mapping[str, None]) -> Workload | None:
        """The Workload that has the places. Of several slices it is the largest, which took over the others' quota."""
        found = (self._stored(each) for each in slices)
        held = [each.value for each in found if each is not None and each.value.admitted and not each.value.finished]
        return max(held, key=lambda each: sum(pod_set.count for pod_set in each.pod_sets), default=None)

    def _as_sent(self, pods: Pods, busy: Busy) -> list[TopologyPod]:
        """The Pods, oldest first. A Pod whose write has no response yet counts as written."""
        found = []
        for key, observed in sorted(pods.items(), key=lambda item: (item[1].value.created, item[0])):
            pod = observed.value
            if key in self._sent_selectors and not (pod.gated and busy(_KIND, key)):
                del self._sent_selectors[key]
            sent = self._sent_selectors.get(key)
            found.append(pod if sent is None else replace(pod, gates=(), selector=sent))
        return found

    def _remove_gates(
        self, name: str, workload: Workload, pods: Pods, seen: list[TopologyPod], busy: Busy
    ) -> Iterator[Wanted]:
        if not any(pod.gated for pod in seen):
            return
        try:
            places = ungated(workload, seen)
        except BadPodIndexOffset as error:
            bad = pods[error.pod]
            yield WantedWrite(bad.key, None, _about(bad), CANNOT_PLACE, str(error), warning=True)
            return
        for key, place in places.items():
            observed, selector = pods[key], pods[key].value.selector
            contrary = next((each for each, value in place.items() if selector.get(each, value) != value), "")
            if contrary:
                yield _cannot_place(observed, contrary, place[contrary])
            elif busy(_KIND, key):
                yield WaitFor((_NAME, name), (_KIND, key))
            else:
                self._sent_selectors[key] = {**selector, **place}
                yield WantedWrite(observed.key, _ungated(observed, place))
                yield WaitFor((_NAME, name), (_KIND, key))

    def _delete_misplaced(
        self, name: str, workload: Workload, pods: Pods, over: list[TopologyPod], busy: Busy, now: int
    ) -> Iterator[Wanted]:
        """Delete Pods outside the places of their Workload.

        Either another client removed their gate, or their node is gone and the Workload has another place instead.
        """
        leaving = []
        for pod in over:
            if pod.bound and self._failing(pod.node):
                self._waiting_for_node.setdefault(pod.node, {})[name] = None
            else:
                leaving.append(pod)
        if not leaving:
            self._misplaced_since.pop(name, None)
            return
        until = self._misplaced_since.setdefault(name, now) + _PATIENCE
        if now < until:
            yield WakeAt((_NAME, name), until)
            return
        for pod in leaving:
            observed = pods[pod.key]
            if busy(*observed.key):
                yield WaitFor((_NAME, name), observed.key)
                continue
            action = Delete(PODS, observed.namespace, observed.name, uid=pod.uid, grace_seconds=LONGEST_GRACE)
            acts = "runs" if pod.bound else "waits for a node"
            message = f"The Pod {acts} outside the places that Workload {workload.key} was assigned"
            yield WantedWrite(observed.key, action, _about(observed), MISPLACED, message, warning=True)
            yield WaitFor((_NAME, name), observed.key)


def _as_placed(pod: TopologyPod) -> TopologyPod:
    """The Pod without the fields that do not matter for places, to compare it with a later version."""
    return replace(pod, phase="")


def _ungated(observed: Observed[TopologyPod], place: Mapping[str, str]) -> Patch:
    gates = [{"name": gate} for gate in observed.value.gates if gate != TOPOLOGY_GATE]
    spec = {"schedulingGates": gates or None, "nodeSelector": dict(place)}
    return Patch(PODS, observed.namespace, observed.name, {"spec": spec}, observed.version, JOB_MANAGER)


def _cannot_place(observed: Observed[TopologyPod], key: str, value: str) -> WantedWrite:
    message = (
        f"The Pod has the node selector {key}={observed.value.selector[key]}, but its place has {value}: it stays "
        f"gated. Delete the Pod; if its template has this node selector, remove it there"
    )
    return WantedWrite(observed.key, None, _about(observed), CANNOT_PLACE, message, warning=True)


def _about(observed: Observed[TopologyPod]) -> ObjectReference | None:
    return refer("v1", POD.kind, observed.key[1], observed.value.uid, version=observed.version)
