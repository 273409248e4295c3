"""Keeps track of the Pods that were started for a Workload until they end, even if their labels or owners change.

If a watch no longer shows a Pod, its label may have been removed. So the Pod is looked up by name, and its labels are
restored. If more Pods run than were admitted, those that their job has released are ended first. If still too many run
after a while, the newest are ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from cluster.actions import Delete, Patch
from cluster.resource import PODS
from policies.dialects.core import POD
from policies.dialects.kueue_jobs import POD_SET, STARTED_FOR
from policies.dialects.kueue_workload import SLICE_CHAIN
from policies.model.objects import parted
from reconciler.controllers.jobs import surplus_pods
from reconciler.controllers.jobs.record import VisibleJob
from reconciler.controllers.jobs.started_pods import STARTED_PODS, StartedPod
from reconciler.controllers.jobs.store import JobStore
from reconciler.controllers.out_of_sight import OutOfSight
from reconciler.controllers.stored_workloads import StoredWorkloads
from reconciler.core.controller import Busy, WaitFor, WakeAt, Wanted
from reconciler.jobs.pod_writes import CUT_OFF, LONGEST_GRACE, POD_MANAGER
from reconciler.objects.bypasses import LABEL_REMOVED, RAN, Bypasses
from reconciler.objects.observed import Key, Observed
from reconciler.objects.wanted import ObjectReference, WantedWrite, refer
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload

CountSurplus = Callable[[str, Mapping[str, int]], None]
MARKS_RESTORED = "QuotaMarksRestored"
_TOO_MANY = "More Pods run than were admitted"
_PATIENCE, _PATIENCE_WHEN_STOPPED = 10 * SECOND, 30 * SECOND
"""How long to wait before surplus Pods, or the Pods of a stopped job, are ended: the job's controller may do it."""


class KeptPods:
    """The started Pods in a store. Keys are `namespace/name`; times are in nanoseconds.

    `count`: called with a Workload and the number of its Pods beyond the admitted ones, by pod set.
    `counts_ending`: whether Pods that are being deleted count until they have ended.
    """

    def __init__(
        self,
        store: JobStore,
        workloads: StoredWorkloads,
        bypasses: Bypasses,
        count: CountSurplus,
        *,
        counts_ending: bool,
    ) -> None:
        self._count = count
        self._with_surplus: dict[str, None] = {}
        self._counts_ending = counts_ending
        self._store = store
        self._workloads = workloads
        self._bypasses = bypasses
        self._sight = OutOfSight(STARTED_PODS.kind)
        self._stale: dict[str, None] = {}
        self._crowded_since: dict[str, int] = {}
        self._changed: list[str] = []

    # --- what was observed; `observe`, `found` and `gone` return the Workload that the Pod no longer runs for, or None

    def observe(self, observed: Observed[object]) -> str | None:
        name, pod = observed.key[1], STARTED_PODS.value(observed)
        if pod is not None:
            self._sight.found(name)
            return self._store_pod(name, pod)
        if (known := self._store.pod(name)) is not None:
            self._sight.seek(name, known.uid)
        return None

    def found(self, observed: Observed[object]) -> str | None:
        """A response of the API server shows the Pod that was looked up.

        Without its label it counts only if it has the known uid; another one was not started for a Workload.
        """
        name, pod = observed.key[1], STARTED_PODS.value(observed)
        if pod is None or not (self._sight.sought(name) and self._sight.is_current(name)):
            return None
        self._sight.found(name)
        known = self._store.pod(name)
        same = known is not None and known.uid == pod.uid
        return self._store_pod(name, pod if same or pod.marked else None)

    def gone(self, name: str) -> str | None:
        """A response of the API server shows that the Pod does not exist."""
        if not self._sight.is_current(name):
            return None
        self._sight.found(name)
        return self._store_pod(name, None)

    def _store_pod(self, name: str, pod: StartedPod | None) -> str | None:
        over = pod is None or pod.ended or (pod.deleting and not self._counts_ending)
        left = self._store.put_pod(name, None if over else pod)
        kept = self._store.pod(name)
        if len(self._bypasses):
            self._changed.append(name)
        if kept is not None and (not kept.marked or self._is_looked_at(kept.workload)):
            self._stale[kept.workload] = None
        if left in self._with_surplus:
            self._stale[left] = None
        return left

    def workload_changed(self, workload: str) -> None:
        if workload in self._with_surplus or self._is_looked_at(workload):
            self._stale[workload] = None

    def _is_looked_at(self, workload: str) -> bool:
        """Whether the Workload needs a look: its job released Pods, or more run than were admitted.

        False if the wait before the newest Pods are ended has begun: `wake` follows at its end.
        """
        record = self._store.workloads.get(workload)
        if record is None or not record.pods:
            return False
        if record.given_up:
            return True
        if workload in self._crowded_since:
            return False
        room = self._room(workload)
        return room is not None and any(count > room.get(name, 0) for name, count in record.pod_sets.items())

    def _room(self, workload: str) -> dict[str, int] | None:
        read = self._workloads.read(workload)
        generations = max((job.generations for job in self._jobs(workload)), default=1)
        return surplus_pods.room(read, stopped=self._is_stopped(workload, read), generations=generations)

    def wake(self, workload: str) -> None:
        self._stale[workload] = None

    # --- writes

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        yield from self._sight.requests(busy)
        self._end_bypasses(now)
        stale, self._stale = self._stale, {}
        for workload in stale:
            yield from self._look_at(workload, busy, now)

    def _end_bypasses(self, now: int) -> None:
        """End the recorded bypasses of Pods that have ended, or whose labels are restored."""
        changed, self._changed = self._changed, []
        for name in changed:
            pod = self._store.pod(name)
            for way in self._bypasses.ways((POD.kind, name)):
                if pod is None or (way == LABEL_REMOVED and pod.marked):
                    self._bypasses.end((POD.kind, name), way, now)

    def _look_at(self, workload: str, busy: Busy, now: int) -> Iterator[Wanted]:
        record = self._store.workloads.get(workload)
        self._count_pods(workload, record.pods if record is not None and record.given_up else {})
        if record is None:
            self._crowded_since.pop(workload, None)
            return
        unmarked = [(name, pod, "") for name, pod in record.pods.items() if not pod.marked]
        read = self._workloads.read(workload)
        over = surplus_pods.excess(read, record.pods, stopped=self._is_stopped(workload, read))
        for name, pod, message in [*unmarked, *over]:
            if busy(STARTED_PODS.kind, name):
                yield WaitFor((STARTED_PODS.kind, workload), (STARTED_PODS.kind, name))
            elif pod.marked:
                yield self._end(name, pod, message, now)
            else:
                yield self._restored_labels(name, pod, now)
        yield from self._end_newest(workload, record.pods, busy, now)

    def _end_newest(self, workload: str, pods: dict[str, StartedPod], busy: Busy, now: int) -> Iterator[Wanted]:
        """End the newest Pods if more run than were admitted, even if the job released none of them.

        If nothing deleted the Pods of a stopped job, they would use its quota indefinitely. They are deleted with their
        own grace period.
        """
        room = self._room(workload)
        leaving = [*surplus_pods.newest(room, pods)] if room is not None else []
        if not leaving:
            self._crowded_since.pop(workload, None)
            return
        patience = _PATIENCE if room else _PATIENCE_WHEN_STOPPED
        since = self._crowded_since.setdefault(workload, now)
        if now < since + patience:
            yield WakeAt((STARTED_PODS.kind, workload), since + patience)
            return
        self._crowded_since[workload] = now
        yield WakeAt((STARTED_PODS.kind, workload), now + patience)
        for name, pod in leaving:
            if busy(STARTED_PODS.kind, name):
                continue
            if room:
                yield self._end(name, pod, _TOO_MANY, now)
            else:
                namespace, bare = parted(name)
                yield WantedWrite(
                    _key(name),
                    Delete(PODS, namespace, bare, uid=pod.uid),
                    _about(name, pod),
                    CUT_OFF,
                    surplus_pods.STOPPED,
                )

    def _count_pods(self, workload: str, pods: Mapping[str, StartedPod]) -> None:
        """Report the number of surplus Pods of the Workload."""
        found = surplus_pods.surplus(self._workloads.read(workload), pods.values())
        self._with_surplus.pop(workload, None)
        if found:
            self._with_surplus[workload] = None
        self._count(workload, found)

    def _is_stopped(self, workload: str, read: Workload | None) -> bool:
        """Whether the job has stopped or has to stop. A job that is being deleted may leave its Pods running."""
        jobs = self._jobs(workload)
        at_rest = bool(jobs) and not any(job.running or job.deleting for job in jobs)
        return at_rest or (read is not None and read.evicted)

    def _jobs(self, workload: str) -> list[VisibleJob]:
        found = (self._store.visible[key].visible for key in self._store.represented_by(workload))
        return [job for job in found if job is not None]

    def _end(self, name: str, pod: StartedPod, message: str, now: int) -> WantedWrite:
        namespace, bare = parted(name)
        shorter = LONGEST_GRACE if pod.grace > LONGEST_GRACE else None
        self._bypasses.seen((POD.kind, name), RAN, now)
        action = Delete(PODS, namespace, bare, uid=pod.uid, grace_seconds=shorter)
        return WantedWrite(_key(name), action, _about(name, pod), CUT_OFF, message, warning=True)

    def _restored_labels(self, name: str, pod: StartedPod, now: int) -> WantedWrite:
        namespace, bare = parted(name)
        read, first = self._workloads.read(pod.workload), parted(pod.workload)[1]
        notes = {STARTED_FOR: first, SLICE_CHAIN: first if read is not None and read.elastic else None}
        body = {"metadata": {"labels": {POD_SET: pod.pod_set}, "annotations": notes}}
        patch = Patch(PODS, namespace, bare, body, "", POD_MANAGER, None, pod.uid)
        self._bypasses.seen((POD.kind, name), LABEL_REMOVED, now)
        message = f"The Pod lost {POD_SET} or {STARTED_FOR}, by which it is counted; Quotree restores them"
        return WantedWrite(_key(name), patch, _about(name, pod), MARKS_RESTORED, message, warning=True)


def _key(name: str) -> Key:
    return STARTED_PODS.kind, name


def _about(name: str, pod: StartedPod) -> ObjectReference | None:
    return refer("v1", POD.kind, name, pod.uid)
