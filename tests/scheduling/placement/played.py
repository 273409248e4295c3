"""A manager and its workers, played: every write, answer, watch and clock moves only when the test says so.

Whenever a job starts, it is checked that it runs nowhere else, but on a cluster that has been out of reach for as long
as a worker may be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from scheduling.objects.times import SECOND
from scheduling.objects.workload import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    QUOTA_RESERVED,
    Admission,
    CheckState,
    Workload,
)
from scheduling.placement.decisions import (
    Again,
    CopyStatus,
    CreateClone,
    CreateJob,
    Decision,
    DeleteClone,
    DeleteJob,
    EvictRemote,
    Nominate,
    ReportStopped,
    applied,
)
from scheduling.placement.group import ORIGIN_UID, Group, OwnerJob, RemoteJob, WorkerCluster
from scheduling.placement.place import place
from scheduling.placement.settings import PlacementSettings
from scheduling.status.conditions import with_condition
from scheduling.status.deadlines import act_on_checks, release
from scheduling.status.eviction import evict
from scheduling.status.reservation import reserve, sync_admitted, unreserve

CHECK = "elsewhere"
LOST = 100 * SECOND


@dataclass
class Job:
    """`running`: it has pods. `ended`: it ran to its end."""

    uid: str
    running: bool = False
    ended: bool = False


@dataclass
class Cluster:
    """A worker as it is. `cut_at`: since when nobody reaches it, None while everybody does."""

    name: str
    clone: Workload | None = None
    job: Job | None = None
    cut_at: int | None = None
    given_up: bool = False

    @property
    def runs(self) -> bool:
        return self.job is not None and self.job.running


@dataclass
class View:
    """What the manager knows of a worker; it is lost with the manager, but `lost_since` and `back_since` are stored."""

    connected: bool = False
    lost_since: int = 0
    back_since: int = 0
    clone: Workload | None = None
    job: Job | None = None
    uncertain: bool = False
    reported: bool = False


@dataclass
class Write:
    """A request that is under way. `on`, `job`: what the manager has read of the worker."""

    cluster: str
    key: str
    decision: Any
    version: int = 0
    on: Workload | None = None
    job: Job | None = None


@dataclass
class Played:
    """`local` is stored, with its `version`. `seen` is the manager's picture of it. `local_job` tells how many run.

    `full`: its queue has no quota for it. `shows_end`: the local job does, or nobody can tell it any more."""

    names: tuple[str, ...] = ("one", "two", "three")
    placing: PlacementSettings = field(default_factory=lambda: PlacementSettings(worker_lost=LOST))
    managed: bool = True
    full: bool = False
    now: int = 1000 * SECOND
    version: int = 1

    def __post_init__(self) -> None:
        check = CheckState(CHECK, "Pending")
        self.local: Workload | None = Workload(namespace="ns", name="work", uid="u1", checks=(check,))
        self.seen = (self.local, self.version)
        self.active = 0
        self.suspended = True
        self.shows_end = False
        self.clusters = {name: Cluster(name) for name in self.names}
        self.views = {name: View() for name in self.names}
        self.writes: list[Write] = []
        self.starts = 0

    # --- the manager

    def step(self) -> list[Decision]:
        """The manager looks, and sends what it decides on."""
        local, version = self.seen
        decisions = place(self._group(local))
        locals_: list[Decision] = []
        for decision in decisions:
            match decision:
                case Again():
                    pass
                case CopyStatus():
                    told = self.views[decision.cluster].job
                    assert told is not None
                    self.active = int(told.running)
                    self.shows_end |= told.ended
                case ReportStopped():
                    self.active = 0
                case _ if hasattr(decision, "cluster") and type(decision).__name__ != "SetClusterName":
                    self._send(decision)
                case _:
                    locals_.append(decision)
        if locals_ and not self._busy("", "local"):
            self.writes.append(Write("", "local", tuple(locals_), version))
        return decisions

    def _group(self, local: Workload | None) -> Group:
        check = local.check(CHECK) if local is not None else None
        return Group(local, check, self._owner(), self._workers(), self.now, self.placing)

    def _send(self, decision: Any) -> None:
        key = "job" if isinstance(decision, CreateJob | DeleteJob) else "clone"
        if self._busy(decision.cluster, key):
            return
        if isinstance(decision, CreateJob):
            self.views[decision.cluster].uncertain = True
        view = self.views[decision.cluster]
        self.writes.append(Write(decision.cluster, key, decision, on=view.clone, job=view.job))

    def _busy(self, cluster: str, key: str) -> bool:
        return any((write.cluster, write.key) == (cluster, key) for write in self.writes)

    def _owner(self) -> OwnerJob:
        managed_by = "kueue.x-k8s.io/multikueue" if self.managed else ""
        return OwnerJob("batch/v1, Kind=Job", managed_by=managed_by, suspended=self.suspended, quiet=not self.active)

    def _workers(self) -> tuple[WorkerCluster, ...]:
        return tuple(self._worker(name, view) for name, view in self.views.items())

    def _worker(self, name: str, view: View) -> WorkerCluster:
        job = view.job
        news = job is not None and self.managed and int(job.running) != self.active
        may_tell = not self.suspended or (job is not None and not job.running)
        ends = job is not None and job.ended and not self.shows_end
        return WorkerCluster(
            name,
            reachable=view.connected,
            lost_since=view.lost_since if view.reported else 0,
            back_since=view.back_since if view.connected else 0,
            workload=view.clone,
            job=RemoteJob(bool(news and may_tell) or ends, job.running, not job.ended) if job is not None else None,
            uncertain=view.uncertain,
        )

    def crash(self) -> None:
        """kill -9, and a new manager that reads everything anew."""
        self.writes.clear()
        self.seen = (self.local, self.version)
        for view in self.views.values():
            view.connected, view.clone, view.job, view.uncertain, view.reported = False, None, None, False, False

    # --- the network

    def deliver(self, index: int, *, answered: bool = True) -> None:
        """One request gets through; its answer may be lost. To a worker that is cut off it does not."""
        write = self.writes.pop(index % len(self.writes))
        if write.key == "local":
            self._store(write)
            return
        cluster, view = self.clusters[write.cluster], self.views[write.cluster]
        if cluster.cut_at is not None:
            return
        self._carry_out(cluster, write)
        if answered:
            if write.key == "job":
                view.job = replace(cluster.job) if cluster.job is not None else None
                view.uncertain = False
            else:
                view.clone = cluster.clone

    def lose(self, index: int) -> None:
        """A request never gets through."""
        self.writes.pop(index % len(self.writes))

    def _carry_out(self, cluster: Cluster, write: Write) -> None:
        decision = write.decision
        stale = write.on is not cluster.clone
        match decision:
            case CreateClone():
                if cluster.clone is None and self.local is not None:
                    notes = {ORIGIN_UID: self.local.uid}
                    cluster.clone = Workload(namespace="ns", name="work", annotations=notes)
            case DeleteClone():
                if not stale:
                    self._stop(cluster)
                    cluster.clone = None
            case CreateJob():
                if cluster.job is None:
                    cluster.job = Job("u1")
            case DeleteJob():
                bound = decision.unchanged or not decision.running
                if not bound or write.job == cluster.job:
                    self._stop(cluster)
                    cluster.job = None
            case EvictRemote():
                if cluster.clone is not None and not stale:
                    message = decision.message
                    cluster.clone = with_condition(
                        cluster.clone, DEACTIVATION_TARGET, "True", "Manager", message, self.now
                    )

    def watch(self, name: str, what: str) -> None:
        """A watch tells of a worker; each kind by itself."""
        cluster, view = self.clusters[name], self.views[name]
        if cluster.cut_at is not None or not view.connected:
            return
        if what == "clone":
            view.clone = cluster.clone
        else:
            view.job = replace(cluster.job) if cluster.job is not None else None

    def watch_local(self) -> None:
        self.seen = (self.local, self.version)

    def cut(self, name: str) -> None:
        cluster = self.clusters[name]
        if cluster.cut_at is None:
            cluster.cut_at = self.now

    def notice(self, name: str) -> None:
        """The manager finds a worker out of reach, and stores since when; a time that is stored stays."""
        view = self.views[name]
        if self.clusters[name].cut_at is not None:
            if view.connected or not view.lost_since:
                view.lost_since = self.now
            view.connected, view.reported = False, True

    def connect(self, name: str) -> None:
        """All is listed anew, then it is connected."""
        cluster, view = self.clusters[name], self.views[name]
        cluster.cut_at = None
        if view.connected or any(write.cluster == name for write in self.writes):
            return
        view.clone, view.job = cluster.clone, replace(cluster.job) if cluster.job is not None else None
        if view.lost_since or not view.back_since:
            view.back_since = self.now
        view.connected, view.lost_since, view.reported, view.uncertain = True, 0, False, False

    # --- who else acts on the manager

    def _store(self, write: Write) -> None:
        if self.local is None or write.version != self.version:
            self.watch_local()
            return
        after = self.local
        for decision in write.decision:
            after = applied(after, CHECK, decision, self.now)
        assert not (after.cluster and self.local.cluster and after.cluster != self.local.cluster), "it cannot be moved"
        assert not after.cluster or after.cluster in (*self.local.nominated, self.local.cluster), "it was not nominated"
        self._put(after)

    def _put(self, after: Workload | None) -> None:
        if after != self.local:
            self.local, self.version = after, self.version + 1
        self.watch_local()

    def queue(self) -> None:
        """What the queues, the lifecycle and the local job make of it next."""
        local = self.local
        if local is None or local.finished:
            return
        if local.evicted and local.reserved:
            self.suspended = True
            if not self.active:
                self._put(release(local, self.now))
            return
        if not local.reserved:
            self.suspended = True
            if self.full:
                self._put(unreserve(local, "Pending", "insufficient unused quota", self.now))
                return
            self._put(self._nominated(sync_admitted(reserve(local, Admission("q"), self.now), self.now)))
            return
        acted = sync_admitted(act_on_checks(local, self.now), self.now)
        self._put(acted)
        if acted.admitted and self.managed:
            self.suspended = False

    def _nominated(self, reserved: Workload) -> Workload:
        """Who is nominated is stored together with the quota."""
        for decision in place(self._group(reserved)):
            if isinstance(decision, Nominate):
                reserved = applied(reserved, CHECK, decision, self.now)
        return reserved

    def preempt(self) -> None:
        if self.local is not None and self.local.reserved and not self.local.evicted and not self.local.finished:
            self._put(evict(self.local, "Preempted", "others are more important", self.now))

    def delete(self) -> None:
        if self.local is not None:
            self._put(None)

    # --- who else acts on the workers

    def admit(self, name: str) -> None:
        clone = self.clusters[name].clone
        if clone is not None and clone.active and not clone.admitted and not clone.finished and not clone.evicted:
            held = with_condition(clone, QUOTA_RESERVED, "True", "QuotaReserved", "", self.now)
            self.clusters[name].clone = with_condition(held, ADMITTED, "True", "Admitted", "", self.now)

    def work(self, name: str) -> None:
        """The worker's own reconciler: starts, stops, deactivates."""
        cluster = self.clusters[name]
        clone = cluster.clone
        if clone is None or clone.finished:
            self._stop(cluster)
        elif clone.active and clone.holds(DEACTIVATION_TARGET):
            left = replace(clone, active=False)
            cluster.clone = with_condition(left, EVICTED, "True", "Deactivated", "", self.now)
        elif clone.evicted:
            self._stop(cluster)
            left = with_condition(clone, ADMITTED, "False", "Evicted", "", self.now)
            cluster.clone = with_condition(left, EVICTED, "False" if clone.active else "True", "Over", "", self.now)
        elif clone.admitted and cluster.job is not None and not cluster.job.running:
            self._start(cluster)

    def send_away(self, name: str) -> None:
        """The worker preempts it."""
        clone = self.clusters[name].clone
        if clone is not None and clone.admitted and not clone.finished:
            self.clusters[name].clone = with_condition(clone, EVICTED, "True", "Preempted", "", self.now)

    def finish(self, name: str) -> None:
        cluster = self.clusters[name]
        if cluster.runs and cluster.clone is not None and cluster.job is not None:
            cluster.job.running, cluster.job.ended = False, True
            cluster.clone = with_condition(cluster.clone, FINISHED, "True", "Succeeded", "done", self.now)

    def take_away(self, name: str) -> None:
        """Somebody deletes the job on the worker."""
        cluster = self.clusters[name]
        self.shows_end |= cluster.job is not None and cluster.job.ended
        self._stop(cluster)
        cluster.job = None

    def _start(self, cluster: Cluster) -> None:
        others = [each for each in self.clusters.values() if each is not cluster and each.runs and not each.given_up]
        for each in others:
            gone = each.cut_at is not None and self.now - each.cut_at >= LOST
            assert gone, f"it runs on {each.name} and starts on {cluster.name}"
            each.given_up = True
        assert cluster.job is not None
        cluster.job.running = True
        self.starts += 1

    def _stop(self, cluster: Cluster) -> None:
        if cluster.job is not None:
            cluster.job.running = False
        cluster.given_up = False

    # --- rest

    def calm(self, until: Callable[[], bool], rounds: int = 60) -> None:
        """All is well again, and everybody does what is theirs, until that holds."""
        self.full = False
        for _ in range(rounds):
            for name in self.names:
                self.connect(name)
                self.work(name)
                self.admit(name)
                self.work(name)
                self.watch(name, "clone")
                self.watch(name, "job")
            self.queue()
            self.step()
            while self.writes:
                self.deliver(0)
            if until():
                return
            self.now += SECOND
        raise AssertionError(f"it came to no rest: {self.local} {self.clusters} {self.views}")
