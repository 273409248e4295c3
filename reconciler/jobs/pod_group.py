"""The next steps of queued Pods: of a group, or of a single Pod, which is handled like a group of one.

Pods cannot be suspended. They wait at a scheduling gate, start when it is removed, and are deleted when they are
preempted. Then the owner of the group creates replacements. The steps are computed from the stored objects alone, and
each write is bound to the version that was read. Source: Kueue v0.19, pkg/controller/jobs/pod and
pkg/controller/jobframework/reconciler.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from cluster.actions import Delete
from policies.dialects.pod_reading import pod_reading
from policies.dialects.reading import Manifest, listing, metadata
from policies.mutation.kueue_pod_defaults import TOPOLOGY_GATE
from reconciler.jobs.composed import class_message, class_update, gates_message, gates_update, gets_class, spec_update
from reconciler.jobs.life import FAILED_TO_START, NOT_ON_HOLD, orphaned
from reconciler.jobs.pod_changes import CannotStart, PodChanges, changes
from reconciler.jobs.pod_member import GroupPod
from reconciler.jobs.pod_queueing import WORKLOAD, not_composed, queueing
from reconciler.jobs.pod_roles import GroupSelection, by_merit, done, selected
from reconciler.jobs.pod_unit import CannotCompose, PodUnit, composed, pod_sets
from reconciler.jobs.pod_writes import about, cut_off, excess, finalized, marked, released, start, stop
from reconciler.jobs.reported import report_patch
from reconciler.jobs.step import JobInputs
from reconciler.objects.patches import ADMISSION_MANAGER, JOB_MANAGER, WORKLOADS, condition_manager, patch, status_patch
from reconciler.objects.wanted import WantedWrite, reference
from scheduling.objects.inadmissible_reasons import PENDING_EVALUATION
from scheduling.objects.priority import UnknownPriorityClass
from scheduling.objects.submission import IncompleteGroup
from scheduling.objects.workload import EVICTED, FINISHED, IS_GROUP_WORKLOAD, JOB_UID, WAITING_FOR_REPLACEMENT, Workload
from scheduling.status.conditions import with_condition
from scheduling.status.deadlines import release
from scheduling.status.progress import finish
from scheduling.status.reservation import unreserve
from scheduling.topology.pods import carried_name, topology_pod
from scheduling.topology.ungating import BadPodIndexOffset, ungated


def steps(
    unit: PodUnit, read: Workload | None, manifest: Callable[[], Manifest], inputs: JobInputs, now: int
) -> list[WantedWrite]:
    """The next writes, at most one for each object; empty while the Pods have to wait for another controller.

    `read`: the Workload that is stored under the unit's key; None if there is none.
    `manifest`: returns the manifest of the Workload.
    `now`: nanoseconds.

    The Pods must include the result of the last write to any of them. Otherwise a running Pod may be mistaken for a
    gated one.
    """
    if read is None:
        found = queueing(unit, inputs)
    elif not _belongs(unit, read):
        found = _taken(unit, read)
    else:
        found = _Life(unit, read, manifest, inputs, now).writes()
    written = {write.key for write in found if write.action is not None}
    unmarked = [marked(member) for member in unit.members if not member.marked]
    return [*found, *(write for write in unmarked if write.key not in written)]


def _belongs(unit: PodUnit, read: Workload) -> bool:
    """Whether the Workload is that of the unit. One that lost its owners still belongs to the job or Pod in its label,
    whose Pods may run."""
    if unit.is_group and read.annotations.get(IS_GROUP_WORKLOAD) == "true":
        return True
    first = read.labels.get(JOB_UID, "")
    owners = {owner.uid for owner in read.owners} or {first}
    unowned = not read.owners and not first
    return any(member.uid in owners for member in unit.members) or (unit.first.prebuilt and unowned)


def _taken(unit: PodUnit, read: Workload) -> list[WantedWrite]:
    """The Workload with the unit's name belongs to another owner. Without a Workload of their own, the Pods must not
    run.
    """
    message = f"Workload {read.key} belongs to another object; delete it or give the Pod another name"
    if unit.is_group:
        message = f'A Workload named "{read.name}" already exists but is not a pod group workload'
        message += "; this pod group cannot be admitted"
    ended = released(member for member in unit.members if member.deleting or member.ended)
    stopped = cut_off(unit.members, message)
    waiting = not (ended or stopped) and not unit.first.deleting
    conflict = WantedWrite((WORKLOAD, unit.key), None, about(unit.first), "WorkloadNameConflict", message, warning=True)
    return [*ended, *stopped, *([conflict] if waiting else [])]


@dataclass(frozen=True)
class _Life:
    """A snapshot of Pods and their Workload. For the fields, see the parameters of `steps`."""

    unit: PodUnit
    read: Workload
    manifest: Callable[[], Manifest]
    inputs: JobInputs
    now: int

    def writes(self) -> list[WantedWrite]:
        """The result of the first step that applies. A step returns None if it does not apply, and [] to wait."""
        for step in (
            self._without_quota,
            self._finished,
            self._deleted,
            self._owners_removed,
            self._all_deleted,
            self._ended,
            self._mismatched,
            self._adopted,
            self._finalizer_removed,
            self._surplus,
            self._evicted,
            self._gates_changed,
            self._priority_changed,
            self._queue_changed,
            self._resumed,
            self._waiting_for_others,
        ):
            found = step()
            if found is not None:
                return found
        return [*self._run(), *self._reported(), *self._strangers()]

    @cached_property
    def selection(self) -> GroupSelection:
        selectors = {each.name: each.node_selector for each in self.assigned or ()}
        return selected(self.unit.members, self.read, selectors)

    @cached_property
    def assigned(self) -> list[PodChanges] | None:
        """The changes that the Pods get when they start; None if those are not known, or no Pod can start."""
        try:
            return changes(self.read, self.inputs.flavors)
        except CannotStart:
            return None

    @cached_property
    def places(self) -> Mapping[str, Mapping[str, str]]:
        """The node selectors for the places of waiting Pods, by `namespace/name`. Raises CannotStart."""
        seen = []
        for member in self.unit.members:
            role, gates = self.selection.roles.get(member.uid, ""), (TOPOLOGY_GATE,) if member.gated else member.gates
            pod = topology_pod(pod_reading(member.packed.manifest()))
            seen.append(replace(pod, workload=carried_name(self.read), pod_set=role, gates=gates))
        try:
            return ungated(self.read, seen)
        except BadPodIndexOffset as error:
            raise CannotStart(str(error)) from error

    @property
    def is_group(self) -> bool:
        """Whether the Workload was made for a group. Its annotation says so, because labels of Pods may be changed."""
        return self.read.annotations.get(IS_GROUP_WORKLOAD) == "true" or self.unit.is_group

    @cached_property
    def owners(self) -> set[str]:
        return {owner.uid for owner in self.read.owners}

    @property
    def known(self) -> list[GroupPod]:
        """The Pods that own the Workload. Other Pods may belong to the next group with this name."""
        return [member for member in self.unit.members if member.uid in self.owners]

    @property
    def _total(self) -> int:
        return sum(pod_set.count for pod_set in self.read.pod_sets)

    @property
    def entitled(self) -> bool:
        """Whether Pods that run on this cluster may continue. That is so even if a check is Pending again.

        Pods of a Workload that runs on a worker keep their gate here.
        """
        read = self.read
        fit = read.admitted and read.active and not read.evicted
        return fit and read.admission is not None and not read.cluster

    @property
    def startable(self) -> bool:
        return self.entitled and self.read.checks_ready

    def _run(self) -> list[WantedWrite]:
        if self.startable:
            return self._start()
        return [] if self.entitled else self._stopped()

    def _without_quota(self) -> list[WantedWrite] | None:
        """No quota is reserved: stop Pods that run nevertheless."""
        if self.read.reserved and not self.read.finished:
            return None
        return self._stopped() or None

    def _finished(self) -> list[WantedWrite] | None:
        if not self.read.finished:
            return None
        known = self.known
        over = [member for member in self.unit.members if member.uid in self.owners or member.deleting]
        return [*map(excess, self._created_too_late(known)), *released(over), *self._orphaned()]

    def _created_too_late(self, known: list[GroupPod]) -> list[GroupPod]:
        """Pods that were created after their group was done. They are deleted while Pods of the old group exist."""
        if not known:
            return []
        new = by_merit([each for each in self.unit.counting if each.gated and each.uid not in self.owners])
        return new[max(0, self._total - sum(member.counts for member in known)) :]

    def _deleted(self) -> list[WantedWrite] | None:
        """The Workload is being deleted: delete its Pods, and remove its finalizer when none of them uses quota."""
        if not self.read.deleting:
            return None
        known = [member for member in self.unit.members if member.uid in self.owners or member.occupies]
        going = [member for member in known if not member.deleting]
        if going:
            return [stop(member, "WorkloadDeleted", "Workload is deleted", self.now) for member in going]
        over = released(known)
        return over if self.unit.occupied else [*over, *self._orphaned()]

    def _owners_removed(self) -> list[WantedWrite] | None:
        """Pods whose owner references were removed by `--cascade=orphan` use quota until they end: restore them."""
        leaving = [
            each for each in self.unit.members if each.deleting and each.occupies and each.uid not in self.owners
        ]
        return self._owned_by(leaving) if leaving else None

    def _all_deleted(self) -> list[WantedWrite] | None:
        """All Pods are being deleted. A group waits for replacements if Quotree deleted them, or if it is one of a set.

        The Workload goes once none of them uses quota: another finalizer may keep them for as long as it likes.
        """
        members = self.unit.members
        if not all(member.deleting for member in members):
            return None
        if self.is_group and (self.unit.first.of_set or all(member.targeted for member in members)):
            return None
        over = released(members)
        if self.unit.occupied:
            return over
        if freed := self._freed():
            return [*over, *freed]
        return [*over, *([self._removed()] if self.inputs.finishes_orphans else self._orphaned())]

    def _ended(self) -> list[WantedWrite] | None:
        first = self.unit.first
        if not self.is_group:
            over = first.ended and not self.unit.occupied
            return self._finish(first.phase, first.message) if over else None
        if first.serving:
            return None
        members, total = self.unit.members, self._total
        succeeded = sum(done(members, self.read, self.selection.roles).values())
        alive = any(member.occupies or (member.counts and not member.ended) for member in members)
        final = any(not member.retriable for member in members)
        if self.unit.occupied or (succeeded < total and not (final and not alive)):
            return None
        return self._finish("Succeeded", f"Pods succeeded: {succeeded}/{total}.")

    def _mismatched(self) -> list[WantedWrite] | None:
        """The Pods request something else now: change the Workload, unless quota is reserved."""
        read, roles = self.read, self.unit.roles
        if read.reserved or roles is None:
            return None
        if pod_sets(read) == roles and read.maximum_seconds == self.unit.speaker.max_seconds:
            return None
        message = f"Updated not matching Workload for suspended job: {read.key}"
        return self._composed(lambda made: self._write(spec_update(made), "UpdatedWorkload", message))

    def _adopted(self) -> list[WantedWrite] | None:
        """Make all Pods owners of the Workload, so that it is deleted with the last of them."""
        kept = self.unit.members if self.unit.first.prebuilt else self.selection.kept
        new = [member for member in kept if member.uid not in self.owners]
        return self._owned_by(new) if new else None

    def _owned_by(self, new: Sequence[GroupPod]) -> list[WantedWrite]:
        single = {} if self.is_group else {"controller": True, "blockOwnerDeletion": True}
        added = [{"apiVersion": "v1", "kind": "Pod", "name": each.name, "uid": each.uid, **single} for each in new]
        references = [*listing(metadata(self.manifest()).get("ownerReferences")), *added]
        action = patch(self.read, {"metadata": {"ownerReferences": references}}, JOB_MANAGER)
        message = f"Added {len(new)} owner reference(s)"
        return [WantedWrite((WORKLOAD, self.read.key), action, reference(self.read), "OwnerReferencesAdded", message)]

    def _finalizer_removed(self) -> list[WantedWrite] | None:
        """Restore a finalizer that another client removed. It keeps an ended Pod until its end is recorded."""
        unprotected = [each for each in self.selection.kept if not (each.finalized or each.parental or each.ended)]
        return [finalized(each) for each in unprotected if each.gated or self.entitled] or None

    def _surplus(self) -> list[WantedWrite] | None:
        """Delete Pods beyond the group, and let Pods go whose end is recorded.

        A StatefulSet creates a Pod again as soon as it is deleted, so its excess Pods wait at their gate instead. It
        replaces a Pod only when the old one is gone, so a Pod that has ended keeps no finalizer.
        """
        strangers = self.selection.strangers
        found = [
            *map(
                excess, (each for each in self.selection.excess if not (each.deleting or (each.of_set and each.gated)))
            ),
            *cut_off(strangers, f"The Pod requests more than it was admitted with in Workload {self.read.key}"),
            *released(self.selection.replaced),
            *released(each for each in self.unit.members if each.of_set and not (each.counts or each.occupies)),
            *released(each for each in strangers if not each.counts),
        ]
        return found or None

    def _evicted(self) -> list[WantedWrite] | None:
        """The Workload is evicted: stop its Pods, and release the quota when none of them uses any."""
        evicted = self.read.holding(EVICTED)
        if evicted is None:
            return None
        if running := self.unit.running:
            return [
                stop(member, f"WorkloadEvictedDueTo{evicted.reason}", evicted.message, self.now) for member in running
            ]
        if not self.read.reserved:
            return None
        if self.unit.occupied or self.unit.away:
            return self._waiting_for_others() or []
        return self._freed()

    def _freed(self) -> list[WantedWrite]:
        """Release the quota of an evicted Workload; empty if it is not evicted, or has no quota."""
        again = self.inputs.requeues_pods
        free = release(self.read, self.now, self.inputs.observability, requeues_pods=again)
        return self._status(self._waiting(free), ADMISSION_MANAGER)

    def _gates_changed(self) -> list[WantedWrite] | None:
        """An admission gate was removed from the Pod that determines the labels: remove it from the Workload."""
        speaker = self.unit.speaker
        body = None if speaker.prebuilt else gates_update(speaker.gated_by, self.read)
        return self._write(body, "UpdatedWorkload", gates_message(speaker.gated_by)) if body is not None else None

    def _priority_changed(self) -> list[WantedWrite] | None:
        if not gets_class(self.read, self.unit.speaker.priority_class):
            return None
        message = class_message(self.read)
        return self._composed(lambda made: self._write(class_update(made), "UpdatedWorkload", message))

    def _queue_changed(self) -> list[WantedWrite] | None:
        """The Pods name another LocalQueue. A Workload with quota cannot change its queue, so it is released first."""
        queues = {member.queue for member in self.unit.counting}
        queue = self.unit.speaker.queue
        if self.read.admitted or queue == self.read.queue or queues != {queue}:
            return None
        if not self.read.reserved:
            return self._write({"spec": {"queueName": queue or None}})
        message = f"The job moved from LocalQueue {self.read.queue} to {queue}"
        reason = self.inputs.observability.attempt(PENDING_EVALUATION)
        free = unreserve(self.read, reason, message, self.now, self.inputs.observability)
        return self._status(free, ADMISSION_MANAGER)

    def _resumed(self) -> list[WantedWrite] | None:
        """Queue a Workload again that Kueue's manager has put on hold while its StatefulSet had no Pods."""
        if not (self.read.on_hold and self.unit.counting):
            return None
        reason = self.inputs.observability.attempt(PENDING_EVALUATION)
        free = unreserve(self.read, reason, NOT_ON_HOLD, self.now, self.inputs.observability)
        return self._status(free, ADMISSION_MANAGER)

    def _waiting_for_others(self) -> list[WantedWrite] | None:
        return self._status(self._waiting(self.read), condition_manager(WAITING_FOR_REPLACEMENT)) or None

    def _waiting(self, read: Workload) -> Workload:
        """A group that lacks Pods waits for replacements. With fast admission one Pod of each role is enough."""
        before = read.conditions.get(WAITING_FOR_REPLACEMENT)
        missing = self.selection.vacant if self.unit.first.fast else self.selection.absent
        if not self.is_group or not missing:
            if before is None or before.status == "False":
                return read
            message = "No pods need replacement"
            return with_condition(read, WAITING_FOR_REPLACEMENT, "False", "PodsReady", message, self.now)
        evicted = read.holding(EVICTED)
        if evicted is None and before is not None and before.status == "True":
            return read
        cause = (evicted.reason, evicted.message) if evicted else ("PodsFailed", "Some Failed pods need replacement")
        return with_condition(read, WAITING_FOR_REPLACEMENT, "True", *cause, self.now)

    def _start(self) -> list[WantedWrite]:
        message = f"Admitted by clusterQueue {self.read.admission.cluster_queue if self.read.admission else ''}"
        try:
            assigned = changes(self.read, self.inputs.flavors)
            if assigned is None:
                return []
            by_name = {each.name: each for each in assigned}
            placed = {each.name for each in self.read.assignments if each.topology is not None}
            found = []
            for member in self.selection.startable:
                role = self.selection.roles[member.uid]
                at_once = role in placed and not member.waits_at(TOPOLOGY_GATE)
                place = self.places.get(member.key) if at_once else {}
                if role in by_name and place is not None:
                    found.append(start(member, by_name[role], message, placed=role in placed, place=place))
            return found
        except CannotStart as error:
            if not self.unit.occupied:
                return self._finish(FAILED_TO_START, str(error))
            first = about(self.unit.first)
            return [WantedWrite((WORKLOAD, self.unit.key), None, first, FAILED_TO_START, str(error), warning=True)]

    def _stopped(self) -> list[WantedWrite]:
        return cut_off(self.unit.members, "Not admitted by cluster queue")

    def _reported(self) -> list[WantedWrite]:
        kept, first = self.selection.kept, self.unit.first
        done_counts = self.is_group and self.inputs.succeeded_ready
        ready = not self.selection.absent and all(member.ready or (done_counts and member.succeeded) for member in kept)
        reclaimable = (
            {} if first.serving or not self.is_group else done(self.unit.members, self.read, self.selection.roles)
        )
        action = report_patch(self.read, reclaimable, ready, self.inputs, self.now)
        return [WantedWrite((WORKLOAD, self.read.key), action)] if action is not None else []

    def _strangers(self) -> list[WantedWrite]:
        """Events on the Pods that have no place in the group."""
        names = ", ".join(pod_set.name for pod_set in self.read.pod_sets)
        unlike = f"Workload {self.read.key} has no role like this Pod's; its roles are {names}. Delete the Pod"
        beyond = f"Workload {self.read.key} is for {self._total} Pods; scale to 0, then to the new number of replicas"
        waiting = [
            *((member, unlike) for member in self.selection.strangers if member.gated and member.counts),
            *((member, beyond) for member in self.selection.excess if member.of_set and member.gated),
        ]
        return [
            WantedWrite((WORKLOAD, self.read.key), None, about(member), "ErrWorkloadCompose", message, warning=True)
            for member, message in waiting
        ]

    def _orphaned(self) -> list[WantedWrite]:
        return [WantedWrite((WORKLOAD, self.read.key), step.action) for step in orphaned(self.manifest(), self.read)]

    def _removed(self) -> WantedWrite:
        read = self.read
        return WantedWrite((WORKLOAD, read.key), Delete(WORKLOADS, read.namespace, read.name, read.resource_version))

    def _finish(self, reason: str, message: str) -> list[WantedWrite]:
        after = finish(self.read, reason, message, self.now)
        news = f"Workload '{self.read.key}' is declared finished"
        return self._status(after, condition_manager(FINISHED), "FinishedWorkload", news)

    def _composed(self, then: Callable[[Manifest], list[WantedWrite]]) -> list[WantedWrite]:
        try:
            return then(composed(self.unit.counting, self.inputs))
        except (IncompleteGroup, CannotCompose, UnknownPriorityClass) as error:
            return [not_composed(self.unit, error)]

    def _write(self, body: Manifest, reason: str = "", message: str = "") -> list[WantedWrite]:
        action = patch(self.read, body, JOB_MANAGER)
        return [WantedWrite((WORKLOAD, self.read.key), action, about(self.unit.first), reason, message)]

    def _status(self, after: Workload, manager: str, reason: str = "", message: str = "") -> list[WantedWrite]:
        action = status_patch(self.read, after, manager)
        return (
            [WantedWrite((WORKLOAD, self.read.key), action, about(self.unit.first), reason, message)]
            if action is not None
            else []
        )
