"""The controller of managed Pods, grouped by their Workload.

It keeps a few fields of each Pod beside the packed manifest. So a group of thousands of Pods costs nothing while it
does not change, and little when one of its Pods changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from cluster.actions import Action, Delete
from cluster.resource import PODS
from cluster.versions import is_older
from policies.dialects.core import POD
from policies.dialects.kueue_jobs import LEADER_WORKER_SET, MANAGED, STATEFUL_SET
from policies.dialects.naming import NAMING, Naming, workload_names
from policies.dialects.reading import Manifest
from reconciler.controllers.internal_errors import InternalErrors
from reconciler.controllers.out_of_sight import OutOfSight
from reconciler.controllers.stored_workloads import StoredWorkloads
from reconciler.core.controller import Busy, Controller, Lookup, WaitFor, WakeAt, Wanted
from reconciler.jobs.life import has_finalizer, orphaned
from reconciler.jobs.pod_group import steps
from reconciler.jobs.pod_member import GroupPod, read_member
from reconciler.jobs.pod_unit import PodUnit
from reconciler.jobs.pod_writes import CUT_OFF, FINALIZER_RESTORED, KIND, LABEL_RESTORED, about
from reconciler.jobs.step import JobInputs
from reconciler.objects.bypasses import LABEL_REMOVED, RAN, Bypasses
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Observed
from reconciler.objects.patches import WORKLOADS
from reconciler.objects.wanted import WantedWrite
from reconciler.objects.watched import WatchedKind
from reconciler.shards.partition import WORK_AT
from scheduling.objects.grouped import Links
from scheduling.objects.times import SECOND
from scheduling.objects.workload import IS_GROUP_WORKLOAD, JOB_UID, ORIGIN, Workload

_KIND, _WORKLOAD = "Pod", "Workload"
WATCHED_PODS: WatchedKind[GroupPod] = WatchedKind(
    _KIND, PODS, read_member, label_selector=f"{MANAGED}=true", relist=True, selects=lambda member: member.marked
)
_SETS = (STATEFUL_SET, LEADER_WORKER_SET)
_VACANCY = 10 * SECOND
"""How long the Workload of a set is kept without Pods: the set may be replacing all of them."""
_WAYS = {CUT_OFF: RAN, LABEL_RESTORED: LABEL_REMOVED, FINALIZER_RESTORED: "FinalizerRemoved"}


def watched_pods(naming: Naming) -> WatchedKind[GroupPod]:
    """The watched view of managed Pods. `naming`: the annotations or labels with which Pods name their group."""
    return replace(WATCHED_PODS, read=partial(read_member, naming=naming))


class PodsController(Controller):
    """Runs the steps of Pods. A unit is the Pods that share a Workload; its key is the Workload's `namespace/name`.

    A unit gets no step while a write for it is in flight, so each step sees the result of the one before.
    """

    def __init__(self, stored: Lookup, bypasses: Bypasses | None = None, naming: Naming = NAMING) -> None:
        self.watched = (watched_pods(naming),)
        self._workloads = StoredWorkloads(stored)
        self._inputs = JobInputs()
        self._units: dict[str, dict[str, GroupPod]] = {}
        self._unit_of: dict[str, str] = {}
        self._name_of: dict[str, str] = {}
        self._owned: Links[str, str] = Links()  # by the uids of the Pods among their owners
        self._sight = OutOfSight()
        self._bypasses = bypasses if bypasses is not None else Bypasses()
        self._undoing = Undoing(self._bypasses)
        self._awaited: dict[str, list[Key]] = {}
        self._stale: dict[str, None] = {}
        self._unowned: dict[str, None] = {}
        self._vacant: dict[str, int] = {}  # since when the Workload of a set has no Pods
        self._errors = InternalErrors()

    def observe(self, observed: Observed[object]) -> None:
        name, known, member = observed.key[1], self._known(observed.key[1]), WATCHED_PODS.value(observed)
        if member is not None:
            self._show(name, known, member)
        elif known is not None and (known.may_run or known.finalized):
            self._sight.seek(name, known.uid)
        else:
            self._end(name)

    def found(self, observed: Observed[object]) -> None:
        """Process the response to a read, unless the watch has shown a newer version of the Pod meanwhile."""
        name, member = observed.key[1], WATCHED_PODS.value(observed)
        if member is not None and self._sight.sought(name) and self._sight.is_current(name):
            self._show(name, self._known(name), member)

    def written(self, action: Action, observed: Observed[object]) -> None:
        """Process the response to a write. A watch may be late, and reports no Pod whose label was removed."""
        del action
        name, member = observed.key[1], WATCHED_PODS.value(observed)
        known = self._known(name) if member is not None else None
        if member is not None and known is not None and known.uid == member.uid:
            if not is_older(member.version, known.version):
                self._keep(name, member)
            if not member.marked:
                self._sight.seek(name, member.uid)

    def gone(self, key: Key) -> None:
        if self._sight.is_current(key[1]):
            self._end(key[1])

    def _end(self, name: str) -> None:
        known, uid = self._known(name), self._sight.sought(name)
        if known is not None:
            self._forget(name, known)
        self._note_gone(name, uid)

    def _note_gone(self, name: str, uid: str) -> None:
        """Note that the Pod is gone. It may have been the last owner of its Workloads, so look at them."""
        listing = self._owned.of(uid)
        self._sight.note_gone(name, uid, listing)
        self._unowned.update(dict.fromkeys(workload for workload in listing if workload not in self._units))

    def _known(self, name: str) -> GroupPod | None:
        return self._units[self._unit_of[name]][name] if name in self._unit_of else None

    def _show(self, name: str, known: GroupPod | None, member: GroupPod) -> None:
        """Process a Pod. A Pod that is known, or owns a Workload, stays managed even if its labels have changed."""
        if known is not None and known.uid != member.uid:
            self._forget(name, known)
            known = None
        if self._sight.sought(name) not in ("", member.uid):
            self._note_gone(name, self._sight.sought(name))
        self._sight.found(name)
        if known is not None or member.queued or self._owned.of(member.uid):
            self._keep(name, member)

    def _keep(self, name: str, member: GroupPod) -> None:
        home, before = self._unit_key(member), self._unit_of.get(name)
        if before is not None and before != home:
            self._remove_from_unit(name, before)
        unit = self._units.setdefault(home, {})
        self._vacant.pop(home, None)
        if unit.get(name) != member:
            self._stale[home] = None
        unit[name] = member
        self._unit_of[name] = home
        self._name_of[member.uid] = name

    def _unit_key(self, member: GroupPod) -> str:
        """The Workload that has the Pod as an owner; if there is none, the Workload that the Pod names."""
        listed = self._owned.of(member.uid)
        return member.workload if member.workload in listed or not listed else listed[0]

    def _forget(self, name: str, member: GroupPod) -> None:
        self._note_gone(name, member.uid)
        self._bypasses.gone((_KIND, name))
        self._name_of.pop(member.uid, None)
        self._remove_from_unit(name, self._unit_of.pop(name))

    def _remove_from_unit(self, name: str, unit: str) -> None:
        members = self._units[unit]
        del members[name]
        if members:
            self._stale[unit] = None
            return
        del self._units[unit]
        self._awaited.pop(unit, None)
        self._stale.pop(unit, None)
        self._errors.forget((_WORKLOAD, unit))
        if self._workloads.read(unit) is not None:
            self._unowned[unit] = None

    def workload_changed(self, workload: str) -> None:
        read, before = self._workloads.read(workload), self._owned.groups(workload)
        self._owned.put(workload, _owner_uids(read))
        listed = self._owned.groups(workload)
        if listed != before:
            for name in [self._name_of[uid] for uid in {*before, *listed} if uid in self._name_of]:
                self._keep(name, self._units[self._unit_of[name]][name])
            if read is not None:
                self._sight.note_owners(workload, read, [uid for uid in listed if uid in self._name_of])
        if read is None:
            self._sight.forget(workload)
        if workload in self._units:
            self._stale[workload] = None
        elif read is None:
            self._unowned.pop(workload, None)
            self._vacant.pop(workload, None)
            self._errors.forget((_WORKLOAD, workload))
        elif read.deleting or read.evicted or not read.owners or _of_set(read):
            self._unowned[workload] = None

    def inputs_changed(self, inputs: JobInputs) -> None:
        """Flavors or priority classes have changed. That matters to units that still wait."""
        self._inputs = inputs
        waiting = (key for key, unit in self._units.items() if any(member.gated for member in unit.values()))
        self._stale.update(dict.fromkeys(waiting))

    def wake(self, item: Key) -> None:
        (self._stale if item[1] in self._units else self._unowned)[item[1]] = None

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        self._bypasses.turn(now)
        yield from self._sight.requests(busy)
        names, self._stale = {**self._stale, **self._unowned}, {}
        self._unowned = {}
        for name in names:
            item = (_WORKLOAD, name)
            blocked, until = self._blocked(name, busy), self._errors.backoff_end(item, now)
            if blocked is not None:
                yield WaitFor(item, blocked)
            elif until is not None:
                yield WakeAt(item, until)
            elif (vacant_until := self._kept_until(name, now)) is not None:
                yield WakeAt(item, vacant_until)
            else:
                yield from self._look_at(name, item, now)

    def _kept_until(self, name: str, now: int) -> int | None:
        """Until when the Workload of a set is kept although it has no Pods; None if it has some, or is not kept."""
        read = self._workloads.read(name) if name not in self._units else None
        if read is None or read.deleting or not _of_set(read):
            return None
        until = self._vacant.setdefault(name, now) + _VACANCY
        return until if now < until else None

    def _blocked(self, name: str, busy: Busy) -> Key | None:
        """An object of the unit that may not be written now; None if there is none."""
        awaited = self._awaited.get(name, [])
        while awaited and not busy(*awaited[-1]):
            awaited.pop()
        if awaited:
            return awaited[-1]
        self._awaited.pop(name, None)
        if busy(_WORKLOAD, name):
            return _WORKLOAD, name
        first = next(iter(self._units.get(name, {}).values()), None)
        if first is None:
            return None
        queue = (WORK_AT, f"{first.namespace}/{first.queue}")  # without a Workload, the part of the queue manages it
        return queue if busy(*queue) and self._workloads.read(name) is None else None

    def _look_at(self, name: str, item: Key, now: int) -> Iterator[Wanted]:
        members = self._units.get(name)
        look: Callable[[], Iterable[WantedWrite]] = partial(self._delete_without_pods, name)
        about_first = None
        if members is not None:
            unit = PodUnit.of(name, tuple(members.values()))
            look, about_first = partial(self._steps, name, unit, now), about(unit.first)
        awaited: list[Key] = []
        for write in self._errors.guarded(item, look, about_first, now):
            self._undoing.wanted(write, now)
            yield write
            if write.action is not None:
                awaited.append(write.key)
        self._undoing.looked((members or {}).values(), now)
        if awaited:  # look again after the writes, even if they change nothing
            self._awaited[name] = awaited
            yield WaitFor(item, awaited[-1])
        elif until := self._errors.backoff_end(item, now):
            yield WakeAt(item, until)

    def _steps(self, name: str, unit: PodUnit, now: int) -> list[WantedWrite]:
        return steps(unit, self._workloads.read(name), lambda: self._manifest(name), self._inputs, whole_second(now))

    def _delete_without_pods(self, name: str) -> Iterator[WantedWrite]:
        """Delete a Workload whose Pods are all gone, unless it is finished.

        The garbage collector would delete it eventually, but its quota is needed before that.
        """
        read = self._workloads.read(name)
        of_set = read is not None and _of_set(read)
        if read is None or name in self._units or not (of_set or _of_pods(read)):
            return
        lost = self._lost_owners(name, read) or (read.evicted and read.reserved) or self._is_orphan(name, read)
        if read.deleting:
            yield from (WantedWrite((_WORKLOAD, name), step.action) for step in orphaned(self._manifest(name), read))
        elif of_set or lost:
            yield WantedWrite((_WORKLOAD, name), Delete(WORKLOADS, read.namespace, read.name, read.resource_version))

    def _lost_owners(self, name: str, read: Workload) -> bool:
        """Whether the Workload has lost all its owners.

        A Workload that was created before its Pods has no owners yet, and waits for them. Only a Workload that a
        controller created for existing Pods has the uid of a Pod or the finalizer.
        """
        return not read.owners and (JOB_UID in read.labels or has_finalizer(self._manifest(name)))

    def _is_orphan(self, name: str, read: Workload) -> bool:
        finishes = self._inputs.finishes_orphans and not read.finished and bool(read.owners)
        return finishes and self._sight.all_gone(name, self._owned.groups(name))

    def _manifest(self, name: str) -> Manifest:
        return self._workloads.manifest(name) or {}


def _owner_uids(read: Workload | None) -> list[str]:
    """The uids of the Pods among the owners of the Workload."""
    owners = read.owners if read is not None else ()
    return [owner.uid for owner in owners if owner.uid and owner.group_kind == POD]


def _of_pods(read: Workload) -> bool:
    """Whether the Workload was made for Pods. On a worker cluster this is false, because copies never have owners.

    If Pods are deleted and their dependents are orphaned, the Workload has no owners left, and the garbage collector
    never deletes it. Then its name or its group annotation shows that it was made for Pods.
    """
    if read.owners:
        return all((owner.api_version, owner.kind) == ("v1", POD.kind) for owner in read.owners)
    if ORIGIN in read.labels:
        return False
    name, uid = read.name.removeprefix("pod-").rpartition("-")[0], read.labels.get(JOB_UID, "")
    return read.annotations.get(IS_GROUP_WORKLOAD) == "true" or read.name in workload_names(POD, name, uid)


def _of_set(read: Workload) -> bool:
    """Whether the Workload is that of a StatefulSet, or of a replica of a LeaderWorkerSet, and needs Pods."""
    of_group = read.annotations.get(IS_GROUP_WORKLOAD) == "true"
    return of_group and not (read.on_hold or read.finished) and any(owner.group_kind in _SETS for owner in read.owners)


class Undoing:
    """Measures how long it takes to undo a change of a Pod that bypassed the webhook.

    It follows each Pod from the first corrective write until it is corrected or gone.
    """

    def __init__(self, bypasses: Bypasses) -> None:
        self._bypasses = bypasses
        self._wanted: set[tuple[Key, str]] = set()

    def wanted(self, write: WantedWrite, now: int) -> None:
        way = _WAYS.get(write.reason) if write.warning else None
        if way is not None and write.key[0] == KIND:
            self._bypasses.seen(write.key, way, now)
            self._wanted.add((write.key, way))

    def looked(self, members: Iterable[GroupPod], now: int) -> None:
        """The unit with these Pods was looked at, and `wanted` was called for each of its corrective writes."""
        for member in members if len(self._bypasses) else ():
            key = (KIND, member.key)
            for way in self._bypasses.ways(key):
                if (key, way) not in self._wanted and not _runs_out(way, member):
                    self._bypasses.end(key, way, now)
        self._wanted.clear()


def _runs_out(way: str, member: GroupPod) -> bool:
    """Whether the Pod is being deleted because it ran without quota, and has not ended yet."""
    return way == RAN and member.occupies and member.deleting
