"""The workloads of the loop that run on other clusters: which are to be looked at, and what is written here and there.

Like the loop it starts from what is stored; of its own it remembers writes that are under way and their failures.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from cluster.actions import Delete
from policies.dialects.core import POD
from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.reading import mapping, metadata
from policies.model.objects import GroupKind
from reconciler.feed import Followed, Key, Listed, Seen, by_kind
from reconciler.jobs.kind import JobKind, job_patch
from reconciler.jobs.step import JobSurroundings
from reconciler.multikueue.clusters_side import CHECKS
from reconciler.multikueue.copies import settled, status_for
from reconciler.multikueue.objects import CLUSTERS, CONFIGS
from reconciler.multikueue.picture import Picture
from reconciler.multikueue.pods import REMOTE_PODS, UNIT
from reconciler.multikueue.remote import Connection, Remotes
from reconciler.multikueue.remote_actions import MANAGER, Case, remote_action
from reconciler.multikueue.view import WORKLOAD, View
from reconciler.multikueue.writes import Writes
from reconciler.patches import differences, status_patch
from reconciler.pod_side import FOLLOWED_PODS
from reconciler.side import Busy, Look, Turn
from reconciler.telling import about
from reconciler.writer import Outcome, Written
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Owner, Workload
from scheduling.placement.decisions import (
    Again,
    ClearClusterName,
    CopyStatus,
    Decision,
    Finish,
    Local,
    Nominate,
    Remote,
    ReportStopped,
    SetCheck,
    SetClusterName,
    applied,
)
from scheduling.placement.group import Group, placed_on
from scheduling.placement.place import place
from scheduling.placement.refusals import Refusal
from scheduling.placement.settings import PlacementSettings
from scheduling.status.reservation import sync_admitted

_WORKLOAD = by_kind()["Workload"]
_WAITING_EVERY = 2 * SECOND
"""At most so often all that wait are looked at again because a queue on a worker changed."""


class PlacementSide:
    """`jobs` are the kinds of jobs that can be taken elsewhere, with what the loop follows of them; `pods`:
    so can Pods. `remotes`: the connections, which tell their news to this side."""

    def __init__(
        self,
        stored: Look,
        remotes: Remotes,
        jobs: Iterable[tuple[JobKind, Followed]],
        placing: PlacementSettings | None = None,
        clock: Callable[[], int] = time.time_ns,
        *,
        pods: bool = False,
    ) -> None:
        pairs = list(jobs)
        self.placing = placing or PlacementSettings()
        self.kinds = {kind.name: kind for kind, _ in pairs}
        theirs = [followed for _, followed in pairs]
        here, there = ([FOLLOWED_PODS], [REMOTE_PODS]) if pods else ([], [])
        self.followed: tuple[Followed, ...] = (CLUSTERS, CONFIGS, CHECKS, *theirs, *here)
        self._remote = by_kind((_WORKLOAD, *theirs, *there))
        self._pods = pods
        self._stored = stored
        self._writes = Writes(remotes, clock)
        self.picture = Picture(self.placing, self.kinds, self._writes)
        self._clock = clock
        self._by_group = {kind.shape.kind: kind for kind, _ in pairs}
        self._of_job: dict[Key, str] = {}
        self._here: dict[str, Key | None] = {}
        self._all: dict[str, None] = {}
        self._left: set[str] = set()
        self._waiting: dict[str, None] = {}
        self._dirty: dict[str, None] = {}
        self._alarms: list[tuple[int, str]] = []
        self._all_waiting_at = 0
        self._collect_at = 0

    @property
    def views(self) -> Mapping[str, View]:
        """What is known of each worker."""
        return self.picture.views

    def refused(self, name: str) -> list[tuple[str, Refusal]]:
        """Why each worker that was asked does not admit the workload `namespace/name`; in the loop's thread."""
        seen = self._stored(name)
        return self.picture.refused(name, seen, self._here.get(name), self._clock()) if seen is not None else []

    # --- what is seen here

    def see(self, seen: Seen) -> None:
        kind, name = seen.key
        if kind in self.kinds:
            _keep(self.picture.jobs, seen.key, seen if seen.value is not None else None)
            if seen.key in self._of_job:
                self._dirty[self._of_job[seen.key]] = None
            return
        if kind == FOLLOWED_PODS.kind:
            for workload in self.picture.pods.see(seen) & self._here.keys():
                self._dirty[workload] = None
            return
        if kind == CONFIGS.kind:
            _keep(self.picture.configs, name, seen.value)
        elif kind == CLUSTERS.kind:
            before = self.picture.clusters.get(name)
            _keep(self.picture.clusters, name, seen.value)
            if before is not None and seen.value is not None and before.labels == seen.value.labels:
                return  # conditions are told by the connection
        elif kind == CHECKS.kind:
            mine = seen.value if seen.value is not None and seen.value.controller == MULTIKUEUE else None
            if self.picture.checks.get(name) == mine:
                return
            _keep(self.picture.checks, name, mine)
            for workload in [*self._all]:
                self.touch(workload)  # it may be ours by this check
        self._dirty.update(dict.fromkeys(self._here))

    def touch(self, workload: str) -> None:
        seen = self._stored(workload)
        if seen is None:
            self._forget(workload)
            return
        local: Workload = seen.value
        self._all[workload] = None
        ours = self.picture.state(local) is not None
        if ours and local.reserved and not local.cluster and not local.finished:
            self._waiting[workload] = None
        else:
            self._waiting.pop(workload, None)
        if ours:
            self._here[workload] = owner = self._owner(local)
            if owner is not None:
                self._of_job[owner] = workload
        elif workload not in self._here and not self.picture.anywhere(workload):
            return
        self._dirty[workload] = None

    def _forget(self, workload: str) -> None:
        """It is gone here, so that nothing of it may stay elsewhere."""
        self._all.pop(workload, None)
        self._waiting.pop(workload, None)
        if workload in self._here or self.picture.anywhere(workload):
            self._left.add(workload)
            self._dirty[workload] = None
        owner = self._here.pop(workload, None)
        if owner is not None and self._of_job.get(owner) == workload:
            del self._of_job[owner]

    def renew(self, around: JobSurroundings) -> None:
        """What jobs are started by is a matter of the cluster that they run on."""

    def _owner(self, local: Workload) -> Key | None:
        """The job that it stands for, if that is of a kind that can be taken elsewhere."""
        for owner in local.owners:
            if self._pods and _group_kind(owner) == POD:
                return UNIT, local.key
            kind = self._by_group.get(_group_kind(owner))
            if kind is not None:
                return kind.name, f"{local.namespace}/{owner.name}"
        return None

    # --- what is seen on the workers

    def remote_seen(self, cluster: str, seen: Seen) -> None:
        self._news(cluster, seen.key, self.picture.view(cluster).take(seen))

    def remote_listed(self, cluster: str, listed: Listed) -> None:
        self._writes.listed(cluster, listed.kind)
        for name in self.picture.view(cluster).replaced(listed):
            self._look_again(name)

    def remote_outcome(self, cluster: str, outcome: Outcome) -> None:
        view = self.picture.view(cluster)
        self._writes.over(cluster, outcome)
        if isinstance(outcome, Written):
            seen = self._answer(outcome)
            if seen is not None:
                self._news(cluster, seen.key, view.answered(seen))
        self._look_again(self._workload_of(outcome.key))

    def connection(self, cluster: str, connection: Connection | None) -> None:
        if connection is None:
            self.picture.views.pop(cluster, None)
            self._writes.drop(cluster)
        else:
            self.picture.view(cluster).connection = connection
        self._dirty.update(dict.fromkeys(name for name in self._here if self._concerns(cluster, name)))
        if connection is not None and connection.connected:
            self._dirty.update(dict.fromkeys(self.picture.view(cluster).names()))

    def _concerns(self, cluster: str, name: str) -> bool:
        """Whether it matters to the workload how that worker can be reached."""
        seen = self._stored(name)
        return name in self._waiting or (seen is not None and cluster in (seen.value.cluster, placed_on(seen.value)))

    def _news(self, cluster: str, key: Key, name: str | None) -> None:
        if name is None:
            return
        if name:
            self._writes.seen(cluster, key)
        self._look_again(name)

    def _look_again(self, name: str) -> None:
        """Empty: at all that wait, some time later, since queues change often."""
        if name:
            self._dirty[name] = None
        elif not self._all_waiting_at:
            self._all_waiting_at = self._clock() + _WAITING_EVERY

    def _answer(self, outcome: Written) -> Seen | None:
        """The object as it is now on the worker; what is deleted and waits for nothing is gone."""
        key, meta = outcome.key, metadata(outcome.manifest)
        if isinstance(outcome.action, Delete) and key[0] == REMOTE_PODS.kind:
            return None  # its node takes its time; the watch tells when it is gone
        if isinstance(outcome.action, Delete) and not (meta.get("deletionTimestamp") and meta.get("finalizers")):
            return Seen(key, "", None)
        followed = self._remote.get(key[0])
        return followed.seen(outcome.manifest) if followed is not None and meta else None

    def _workload_of(self, key: Key) -> str:
        return key[1] if key[0] == WORKLOAD else self.picture.pods.workload_of(key) or self._of_job.get(key, key[1])

    # --- what is to be written

    def due(self, busy: Busy, now: int) -> Iterator[Turn]:
        self._ring(now)
        names, self._dirty = self._dirty, {}
        for name in names:
            yield from self._look_at(name, busy, now)

    def _ring(self, now: int) -> None:
        while self._alarms and self._alarms[0][0] <= now:
            self._dirty[heapq.heappop(self._alarms)[1]] = None
        for _, key in self._writes.rested(self._connected):
            self._dirty[self._workload_of(key)] = None
        if self._all_waiting_at and self._clock() >= self._all_waiting_at:
            self._all_waiting_at = 0
            self._dirty.update(self._waiting)
        if self.placing.collect_every and now >= self._collect_at:
            self._collect_at = now + self.placing.collect_every
            for view in self.picture.views.values():
                self._dirty.update(dict.fromkeys(name for name in view.names() if name not in self._here))

    def _connected(self, cluster: str) -> bool:
        return cluster in self.picture.views and self.picture.views[cluster].connection.connected

    def _look_at(self, name: str, busy: Busy, now: int) -> Iterator[Turn]:
        owner, seen = self._here.get(name), self._stored(name)
        if (seen is not None and busy(WORKLOAD, name)) or any(busy(*key) for key in self.picture.keys(owner)):
            self._dirty[name] = None  # most wait for a write in most rounds, so that comes before all else
            return
        if seen is None and not self.placing.collect_every and name not in self._left:
            return
        if not self.picture.anywhere(name) and (
            seen is None or seen.value.finished or self.picture.state(seen.value) is None
        ):
            self._left.discard(name)
            return  # nothing here, and nothing there
        group, job = self.picture.group(name, seen, owner, now)
        yield from self._carry_out(name, seen, owner, job, group, place(group))

    def _is_ours(self, seen: Seen | None) -> bool:
        """Whether there may be something to do for it though nothing of it is elsewhere."""
        return seen is not None and not seen.value.finished and self.picture.state(seen.value) is not None

    def _carry_out(
        self, name: str, seen: Seen | None, owner: Key | None, job: Any, group: Group, steps: list[Decision]
    ) -> Iterator[Turn]:
        mine: list[Local] = []
        for step in steps:
            match step:
                case Again():
                    heapq.heappush(self._alarms, (step.at, name))
                case Nominate() | SetClusterName() | ClearClusterName() | SetCheck() | Finish():
                    mine.append(step)
                case CopyStatus() | ReportStopped():
                    yield from self._told(step, name, owner, job)
                case _:
                    self._write_there(step, name, seen, owner, job, group.now)
        if mine and seen is not None and group.check is not None:
            yield from self._turn(name, seen.value, group.check.name, mine, group.now)

    def _write_there(self, step: Remote, name: str, seen: Seen | None, owner: Key | None, job: Any, now: int) -> None:
        view = self.picture.view(step.cluster)
        pods = self.picture.pods.writes(step, seen.value if seen is not None else None, name, view, self.placing.origin)
        for key, action in pods.items():
            self._writes.send(step.cluster, key, action)
        kind = self.kinds.get(owner[0]) if owner is not None else None
        case_ = Case(name, seen, kind, owner, job, view, self.placing, now)
        found = remote_action(step, case_, self.kinds) if not pods else None
        if found is not None:
            self._writes.send(step.cluster, *found)

    def _turn(self, name: str, local: Workload, check: str, steps: list[Local], now: int) -> Iterator[Turn]:
        """All that is written of the workload here, in one go."""
        after = local
        for step in steps:
            after = applied(after, check, step, now)
        if after.checks_ready and not local.checks_ready:
            after = sync_admitted(after, now)  # which the loop would write by itself soon after
        patch = status_patch(local, after, MANAGER)
        if patch is None:
            return
        told = next((step for step in steps if isinstance(step, SetCheck) and step.event), None)
        if told is None:
            yield Turn((WORKLOAD, name), patch)
        else:
            yield Turn((WORKLOAD, name), patch, about(local), "MultiKueue", told.message, told.warning)

    def _told(self, step: CopyStatus | ReportStopped, name: str, owner: Key | None, job: Any) -> Iterator[Turn]:
        """What the job here tells of the one elsewhere."""
        if owner is not None and owner[0] == UNIT:
            view = self.picture.view(step.cluster) if isinstance(step, CopyStatus) else None
            yield from self.picture.pods.told(step, name, view)
            return
        if owner is None or job is None:
            return
        kind = self.kinds[owner[0]]
        before = mapping(job.get("status"))
        after: Mapping[str, Any] | None = settled(kind, job)
        if isinstance(step, CopyStatus):
            remote = self.picture.remote_manifest(step.cluster, name)
            after = status_for(kind, job, remote) if remote is not None else None
        if after is not None and after != before:
            yield Turn(owner, job_patch(kind.resource, job, {"status": differences(before, after)}, "status"))


def _group_kind(owner: Owner) -> GroupKind:
    return GroupKind(owner.api_version.rpartition("/")[0], owner.kind)


def _keep(known: dict[Any, Any], key: Any, value: Any) -> None:
    if value is None:
        known.pop(key, None)
    else:
        known[key] = value
