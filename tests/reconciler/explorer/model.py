"""A small cluster at one moment: what the API server stores, what is on its way, and a process that looks after jobs.

The process is the real JobsController with the real waits; the core around it is as plain as it can be. Whatever may
happen next is an `Act`. Nothing here waits, draws lots or reads a clock, so that an explorer can try all acts in turn.
Kubernetes' Job controller, its garbage collector and the kubelet do one step at a time, and so does the network.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from cluster.actions import Action, Create, Delete, Patch
from policies.dialects.kueue_flavor import read_flavor
from policies.dialects.kueue_jobs import POD_SET, PREBUILT, STARTED_FOR
from policies.dialects.kueue_kinds import PREFIX
from reconciler.controllers.jobs.controller import JobsController
from reconciler.core.commands import ReadObject
from reconciler.core.controller import WaitFor, WakeAt
from reconciler.core.informer import Waits
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.composed import workload_key
from reconciler.jobs.step import JobInputs
from reconciler.objects.observed import Key, Observed
from reconciler.objects.patches import ADMISSION_MANAGER, status_patch
from reconciler.objects.watched import by_kind
from scheduling.objects.reading import read_workload
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Admission, PodSetAdmission, Workload
from scheduling.status.eviction import preempt
from scheduling.status.reservation import reserve, sync_admitted
from tests import builders
from tests.merging import merged
from tests.reconciler.explorer.forks import forked
from tests.reconciler.explorer.names import Names
from tests.reconciler.recount import holds, holds_quota

Manifest: TypeAlias = dict[str, Any]
JOB, WORKLOAD, POD = "Job", "Workload", "StartedPod"
KINDS = (WORKLOAD, JOB, POD)
START = 1_800_000_000 * SECOND
OVERDUE = 60 * SECOND
QUEUE = f"{PREFIX}queue-name"
THEN = "2026-01-01T00:00:00Z"
LAG = 3
"""A watch is at most so many events behind."""
MISSED = "missed"
"""An annotation of jobs without a queue that the webhook missed: the LocalQueue `default` takes them later."""
RARE = ("miss", "resize")
"""What people do only where a world names it. A job that was missed doubles the states. A Pod that grew, and then meets
a new process before it was ended, is taken as it is found (docs/security.md)."""
BYPASS = "bypass"
"""An annotation of jobs and Pods that run by somebody else's doing, which the reconciler can only undo."""
_FLAVOR = read_flavor({"metadata": {"name": "plain"}, "spec": {}})
_INPUTS = JobInputs(flavors={"plain": _FLAVOR}, pods_ready=False)
NAMES = Names()


class Stored(NamedTuple):
    """An object at a version; `text` says what is in it, without versions and times, `observed` what is read of it."""

    version: int
    manifest: Manifest
    text: int
    observed: Observed


class News(NamedTuple):
    """What a watch has to say: the object as it is, None where it is gone or is not selected any more."""

    key: Key
    version: int
    stored: Stored | None


class Flight(NamedTuple):
    """A request of the process about one object: a write, or a read where `action` is None.

    `cpus` are what it reserves. `lost`: it was carried out, and the answer was lost.
    """

    action: Action | None
    cpus: int = 0
    lost: bool = False


class Act(NamedTuple):
    """Something that may happen. `fair`: it does happen in the end, while people and faults need not."""

    name: str
    do: Callable[[Cluster], None]
    fair: bool = True


class Process:
    """A controller, who waits for what, and what it has seen."""

    def __init__(self) -> None:
        self.seen: dict[Key, Stored] = {}
        self.passed = dict.fromkeys(KINDS, 0)
        self.waits = Waits()
        self.controller = JobsController(self.lookup)
        self.controller.inputs_changed(_INPUTS)

    def lookup(self, name: str) -> Observed | None:
        stored = self.seen.get((WORKLOAD, name))
        return stored.observed if stored is not None else None

    def accept(self, key: Key, version: int, stored: Stored | None) -> None:
        """As the core does: unless a newer one is known."""
        before = self.seen.get(key)
        if before is not None and (version < before.version or (stored is not None and version == before.version)):
            return
        if stored is None:
            self.seen.pop(key, None)
        else:
            self.seen[key] = stored
        if key[0] == WORKLOAD:
            self.controller.workload_changed(key[1])
        elif stored is None:
            self.controller.observe(Observed(key, str(version), None))
        else:
            self.controller.observe(stored.observed)


class Cluster:
    """`quota` in cpus, which is Pods here. `acts` and `faults` may still happen so many times.

    `people`: what people do; all but what is RARE where it is empty. `collects`: there is a garbage collector of
    Workloads.
    """

    def __init__(
        self, quota: int, acts: int = 0, faults: int = 0, people: tuple[str, ...] = (), *, collects: bool = True
    ) -> None:
        self.quota, self.acts, self.faults = quota, acts, faults
        self.people, self.collects = people, collects
        self.now = START
        self.version = 0
        self.made = {"zza": 0, "zzb": 0}
        self.objects: dict[Key, Stored] = {}
        self.news: dict[str, tuple[News, ...]] = dict.fromkeys(KINDS, ())
        self.flights: dict[Key, Flight] = {}
        self.late: tuple[tuple[Key, Action], ...] = ()
        self.process = Process()

    def fork(self) -> Cluster:
        """Objects, news and requests are never changed, and shared. The process is shared until it acts."""
        made = copy.copy(self)
        for name in ("made", "objects", "news", "flights"):
            setattr(made, name, dict(getattr(self, name)))
        return made

    # --- the API server

    def put(self, key: Key, manifest: Manifest) -> None:
        meta = manifest["metadata"]
        if meta.get("deletionTimestamp") and not meta.get("finalizers"):
            self.drop(key)
            return
        before = self.objects.get(key)
        same = {**manifest, "metadata": {**meta, "resourceVersion": str(before.version if before else "")}}
        if before is not None and same == before.manifest:
            return
        self.version += 1
        whole = {**manifest, "metadata": {**meta, "resourceVersion": str(self.version)}}
        self.objects[key] = Stored(self.version, whole, NAMES.text(whole), WATCHED[key[0]].observed(whole))
        self._tell(key, before)

    def drop(self, key: Key) -> None:
        if key in self.objects:
            self.version += 1
            self._tell(key, self.objects.pop(key))

    def _tell(self, key: Key, before: Stored | None) -> None:
        """A watch shows what has the label of its selector, and says once when that is taken off."""
        stored = self.objects.get(key)
        shown = stored if stored is not None and selected(key, stored.manifest) else None
        if shown is not None or (before is not None and selected(key, before.manifest)):
            self.news[key[0]] = (*self.news[key[0]], News(key, self.version, shown))

    def delete(self, key: Key, finalizer: str = "") -> None:
        manifest = self.objects[key].manifest
        meta = manifest["metadata"]
        finalizers = [*meta.get("finalizers", ()), *([finalizer] if finalizer else ())]
        going = {**meta, "deletionTimestamp": THEN, "finalizers": finalizers}
        self.put(key, {**manifest, "metadata": going})

    def edit(self, key: Key, change: Manifest) -> None:
        self.put(key, merged(self.objects[key].manifest, change))

    def of(self, kind: str) -> list[tuple[Key, Manifest]]:
        return sorted((key, stored.manifest) for key, stored in self.objects.items() if key[0] == kind)

    def _carry_out(self, key: Key, action: Action) -> str:
        """What the API server answers: nothing, or what is wrong."""
        stored = self.objects.get(key)
        if isinstance(action, Create):
            if stored is not None:
                return "Conflict"
            uid = f"w-{action.body['metadata']['ownerReferences'][0]['uid']}"
            self.put(key, {**action.body, "metadata": {**action.body["metadata"], "uid": uid}})
            return ""
        assert isinstance(action, Patch | Delete)
        if stored is None:
            return "NotFound"
        if action.resource_version not in ("", str(stored.version)):
            return "Conflict"
        if isinstance(action, Delete):
            self.delete(key, "kubelet" if key[0] == POD else "")
            return ""
        after = merged(stored.manifest, action.body)
        stopped = key[0] == JOB and after["spec"]["suspend"]
        self.put(key, merged(after, {"metadata": {"annotations": {BYPASS: None}}}) if stopped else after)
        return ""

    # --- the process

    def wake(self) -> Process:
        """A copy of the process, which other clusters may share."""
        self.process = forked(self.process, {})
        return self.process

    def turn(self) -> None:
        """The process takes in what has come, and decides."""
        process = self.process
        process.waits.ring(self.now)
        for wanted in process.controller.reconcile(lambda *key: key in self.flights, self.now):
            if isinstance(wanted, WaitFor | WakeAt):
                process.waits.add(process.controller, wanted)
            elif isinstance(wanted, ReadObject):
                self.flights.setdefault(wanted.key, Flight(None))
            elif wanted.action is not None:
                assert wanted.key not in self.flights, f"{wanted.key}: a second request"
                self.flights[wanted.key] = Flight(wanted.action)
        for key in [*process.waits._by_key]:
            if key not in self.flights:
                process.waits.free(key)
        self._admit()
        self._skip_echoes()

    def _skip_echoes(self) -> None:
        """What a watch says first and the process knows already changes nothing, whenever that comes."""
        for kind, news in self.news.items():
            known = 0
            for each in news:
                seen = self.process.seen.get(each.key)
                if each.stored is None or seen is None or seen.version < each.version:
                    break
                known += 1
                self.process.passed[kind] = each.version
            self.news[kind] = news[known:]

    def _admit(self) -> None:
        """As an engine does with one queue: first come, first served, by what the process has seen."""
        reserving = sum(flight.cpus for flight in self.flights.values())
        for key, stored in sorted(self.process.seen.items()):
            read = stored.observed.value if key[0] == WORKLOAD and key not in self.flights else None
            if read is None or not pending(read):
                continue
            cpus = sum(each.count for each in read.pod_sets)
            if self._counted() + reserving + cpus <= self.quota:
                reserving += cpus
                self.flights[key] = Flight(_reservation(read, self.now), cpus)

    def _counted(self) -> int:
        seen = ((key, stored) for key, stored in self.process.seen.items() if key[0] == WORKLOAD)
        held = [key for key, stored in seen if holds_quota(stored.manifest)]
        return sum(counted(self.process.seen[key].manifest) for key in held if not self._reserves(key))

    def _reserves(self, key: Key) -> bool:
        flight = self.flights.get(key)
        return flight is not None and flight.cpus > 0

    def answer(self, key: Key) -> None:
        """The request about this object comes to an end."""
        flight = self.flights[key]
        problem = self._carry_out(key, flight.action) if flight.action is not None else ""
        stored = self.objects.get(key)
        if problem == "Conflict":
            self.flights[key] = flight._replace(action=None)  # what was decided counts until it is read
            return
        process = self.wake()
        del self.flights[key]
        if problem == "NotFound" or (flight.action is None and stored is None):
            self._not_found(key, flight.action)
        elif flight.action is None and stored is not None:
            if key[0] in (JOB, POD):
                process.controller.found(stored.observed)
            self._answered(key, stored)
        elif stored is not None:
            self._answered(key, stored)
        if key[0] == WORKLOAD:
            process.controller.workload_changed(key[1])
        process.waits.free(key)
        self.turn()

    def _answered(self, key: Key, stored: Stored) -> None:
        known = key in self.process.seen
        shown = WATCHED[key[0]].selects(stored.observed.value)
        if shown and (known or stored.version > self.process.passed[key[0]]):
            self.process.accept(key, stored.version, stored)

    def _not_found(self, key: Key, action: Action | None) -> None:
        seen = self.process.seen.get(key)
        bound = action.resource_version if isinstance(action, Patch) else ""
        if bound and seen is not None and bound == str(seen.version):
            del self.process.seen[key]
        if key not in self.process.seen and key[0] in (JOB, POD):
            self.process.controller.gone(key)

    # --- what may happen

    def happenings(self) -> Iterator[Act]:
        late = [kind for kind in KINDS if len(self.news[kind]) > LAG]
        for kind in late:
            yield Act(f"watch {kind}", _with(Cluster.hear, kind))
        if not late:
            yield from self._happenings()

    def _happenings(self) -> Iterator[Act]:
        for key in self.flights:
            yield Act(f"answer {key}", _with(Cluster.answer, key))
        for kind in KINDS:
            if self.news[kind]:
                yield Act(f"watch {kind}", _with(Cluster.hear, kind))
        yield from self._controllers()
        if self._may_wait():
            yield Act("time", Cluster.pass_time)
        if self.faults:
            yield from self._faults()
        if self.acts:
            named = ((each, each.name.partition(" ")[0]) for each in self._people())
            yield from (each for each, name in named if name in self.people or not (self.people or name in RARE))

    def hear(self, kind: str) -> None:
        (first, *rest) = self.news[kind]
        self.news[kind] = tuple(rest)
        process = self.wake()
        process.passed[kind] = first.version
        process.accept(*first)
        self.turn()

    def _may_wait(self) -> bool:
        """Nothing is on its way that comes sooner than any patience ends."""
        busy = self.flights or any(self.news.values())
        return not busy and self._next() is not None

    def _next(self) -> int | None:
        store = self.process.controller.store
        since = [each.since for each in store.jobs.values() if each.since is not None and each.id in store._waiting]
        moments = [each + OVERDUE for each in since]
        if self.process.waits.next is not None:
            moments.append(self.process.waits.next)
        return min(moments, default=None)

    def pass_time(self) -> None:
        self.now = max(self.now, self._next() or 0)
        self.wake()
        self.turn()

    # --- Kubernetes' own controllers

    def _controllers(self) -> Iterator[Act]:
        for key, job in self.of(JOB):
            if self._synced(key, job) != ([], job, []):
                yield Act(f"job controller {key[1]}", _with(Cluster.sync, key))
            if "orphan" in job["metadata"].get("finalizers", ()):
                yield Act(f"orphan {key[1]}", _with(Cluster.orphan, key))
            if MISSED in job["metadata"].get("annotations", {}):
                yield Act(f"default queue {key[1]}", _with(Cluster.take_in, key))
        jobs = {job["metadata"]["uid"] for _, job in self.of(JOB)}
        for key, manifest in (*self.of(WORKLOAD), *self.of(POD)):
            meta = manifest["metadata"]
            owners = {each["uid"] for each in meta.get("ownerReferences", ())}
            collects = self.collects or key[0] == POD
            if collects and owners and not owners & jobs and not meta.get("deletionTimestamp"):
                yield Act(f"collect {key[1]}", _with(Cluster.collect, key))
            elif key[0] == POD and meta.get("deletionTimestamp"):
                yield Act(f"kubelet {key[1]}", _with(Cluster.drop, key))

    def _pods(self, uid: str) -> list[tuple[Key, Manifest]]:
        return [(key, pod) for key, pod in self.of(POD) if pod["metadata"]["labels"].get("job-uid") == uid]

    def _synced(self, key: Key, job: Manifest) -> tuple[list[Key], Manifest, list[Manifest]]:
        """The Pods that go, the job with the status that it gets, and the Pods that are made."""
        meta, spec, status = job["metadata"], job["spec"], dict(job["status"])
        if holds(job, "Complete"):
            return [], job, []
        pods = self._pods(meta["uid"])
        done = [each for each, pod in pods if pod["status"]["phase"] == "Succeeded"]
        live = [each for each, pod in pods if each not in done and not pod["metadata"].get("deletionTimestamp")]
        succeeded = status.get("succeeded", 0) + len(done)
        wanted = 0 if spec["suspend"] else min(spec["parallelism"], max(0, spec["completions"] - succeeded))
        if meta.get("deletionTimestamp"):
            wanted = min(wanted, len(live))
        late = spec.get("podReplacementPolicy") == "Failed"
        ending = len(pods) - len(done) - len(live) if late else 0
        made = [self._pod(job, number) for number in self._free(meta["uid"], wanted - len(live) - ending)]
        going = [*done, *live[wanted:]]
        known = bool(status.get("conditions"))
        conditions = [{"type": "Suspended", "status": str(spec["suspend"])}] if spec["suspend"] or known else []
        if succeeded >= spec["completions"]:
            conditions = [{"type": "Complete", "status": "True", "message": "done"}]
        active = min(wanted, len(live)) + len(made)
        after: Manifest = {"active": active, "succeeded": succeeded, "conditions": conditions}
        after["terminating"] = len(pods) - len(done) - len(live) + max(0, len(live) - wanted)
        if not spec["suspend"]:
            after["startTime"] = THEN
        return going, {**job, "status": after}, made

    def _free(self, uid: str, count: int) -> list[int]:
        return [number for number in range(9) if (POD, f"ns/{uid}-{number}") not in self.objects][: max(0, count)]

    def _pod(self, job: Manifest, number: int) -> Manifest:
        meta, template = job["metadata"], job["spec"]["template"].get("metadata", {})
        notes = {**template.get("annotations", {})}
        if BYPASS in meta.get("annotations", {}):
            notes[BYPASS] = "true"
        notes["for"] = notes.get(STARTED_FOR, "")
        labels = {**template.get("labels", {}), "job-uid": meta["uid"]}
        owner = {"apiVersion": "batch/v1", "kind": JOB, "name": meta["name"], "uid": meta["uid"], "controller": True}
        name = f"{meta['uid']}-{number}"
        spec = {"nodeName": "n", "containers": [builders.container(cpu="1")]}
        made = builders.pod(name, "ns", spec, uid=f"p-{name}", labels=labels, annotations=notes)
        return merged(made, {"metadata": {"ownerReferences": [owner]}, "status": {"phase": "Running"}})  # type: ignore[no-any-return]

    def sync(self, key: Key) -> None:
        """Pods and status in one step: the status is as new as the Pods."""
        going, job, made = self._synced(key, self.objects[key].manifest)
        for each in going:
            if self.objects[each].manifest["status"]["phase"] == "Succeeded":
                self.drop(each)
            else:
                self.delete(each, "kubelet")
        for pod in made:
            self.put((POD, f"ns/{pod['metadata']['name']}"), pod)
        self.put(key, job)

    def orphan(self, key: Key) -> None:
        """The garbage collector takes the references first, one by one, and then lets the job go."""
        uid = self.objects[key].manifest["metadata"]["uid"]
        for each, manifest in (*self.of(WORKLOAD), *self.of(POD)):
            owners = manifest["metadata"].get("ownerReferences", [])
            if any(owner["uid"] == uid for owner in owners):
                kept = [owner for owner in owners if owner["uid"] != uid]
                self.edit(each, {"metadata": {"ownerReferences": kept}})
                return
        self.drop(key)

    def collect(self, key: Key) -> None:
        self.delete(key, "kubelet" if key[0] == POD else "")

    # --- faults and people

    def _faults(self) -> Iterator[Act]:
        yield Act("crash", _fault(Cluster.crash), fair=False)
        for key, flight in self.flights.items():
            if flight.action is not None and not flight.lost:
                yield Act(f"lose {key}", _fault(_with(Cluster.lose, key)), fair=False)
        for late in self.late:
            yield Act(f"late {late[0]}", _fault(_with(Cluster.arrive, late)), fair=False)

    def crash(self) -> None:
        """Another process lists everything; what the first one wrote last may still arrive."""
        writes = ((key, flight) for key, flight in self.flights.items() if flight.action is not None)
        self.late = tuple((key, flight.action) for key, flight in writes if flight.action is not None)
        self.flights, self.news = {}, dict.fromkeys(KINDS, ())
        self.process = Process()
        for kind in KINDS:
            for key, manifest in self.of(kind):
                if selected(key, manifest):
                    self.process.accept(key, self.objects[key].version, self.objects[key])
        self.process.passed = dict.fromkeys(KINDS, self.version)
        self.turn()

    def lose(self, key: Key) -> None:
        """A write is carried out and the answer is lost: it is sent again, and meets a conflict."""
        flight = self.flights[key]
        assert flight.action is not None
        self._carry_out(key, flight.action)
        self.flights[key] = flight._replace(lost=True)

    def arrive(self, late: tuple[Key, Action]) -> None:
        self.late = tuple(each for each in self.late if each is not late)
        self._carry_out(*late)

    def _people(self) -> Iterator[Act]:
        for name, made in self.made.items():
            key = (JOB, f"ns/{name}")
            if key not in self.objects and made < 2:
                yield Act(f"create {name}", _person(_with(Cluster.create, name)), fair=False)
                yield Act(f"miss {name}", _person(_with(Cluster.miss, name)), fair=False)
                for workload, _ in self.of(WORKLOAD):
                    yield Act(f"steal {name}", _person(_with(Cluster.create, name, workload[1])), fair=False)
        for key, job in self.of(JOB):
            for what, change in self._edits(job):
                yield Act(f"{what} {key[1]}", _person(_with(change, key)), fair=False)
        for key, workload in self.of(WORKLOAD):
            if not workload["metadata"].get("deletionTimestamp"):
                for what, change in _WORKLOAD_EDITS.items():
                    yield Act(f"{what} {key[1]}", _person(_with(change, key)), fair=False)
        for key, pod in self.of(POD):
            if pod["status"]["phase"] == "Running" and not pod["metadata"].get("deletionTimestamp"):
                for what, change in _POD_EDITS.items():
                    yield Act(f"{what} {key[1]}", _person(_with(change, key)), fair=False)

    def _edits(self, job: Manifest) -> Iterator[tuple[str, Callable[[Cluster, Key], None]]]:
        if job["metadata"].get("deletionTimestamp"):
            return
        yield from _JOB_EDITS.items()
        if job["spec"]["suspend"]:
            yield "resume", Cluster.resume
        else:
            yield "suspend", lambda each, key: each.edit(key, {"spec": {"suspend": True}})

    def create(self, name: str, workload: str = "") -> None:
        """Create a job. `workload`: the one of another job, which it names as its own."""
        self.made[name] += 1
        uid = f"u-{name}-{self.made[name]}"
        spec = {"parallelism": 1, "completions": 1, "suspend": True, "template": builders.template("1")}
        named = {PREBUILT: workload.partition("/")[2]} if workload else {}
        made = builders.batch_job(name, spec, labels={QUEUE: "q", **named}, uid=uid)
        NAMES.alias(workload_key(BATCH, made), f"w-{uid}")
        self.put((JOB, f"ns/{name}"), {**made, "status": {}})

    def miss(self, name: str) -> None:
        """Create a job that runs and names no queue, while the webhook is down."""
        self.create(name)
        marks = {"labels": {QUEUE: None}, "annotations": {MISSED: "true", BYPASS: "true"}}
        self.edit((JOB, f"ns/{name}"), {"metadata": marks, "spec": {"suspend": False}})

    def take_in(self, key: Key) -> None:
        """As the controller of default queues does, which sees all jobs."""
        self.edit(key, {"metadata": {"labels": {QUEUE: "q"}, "annotations": {MISSED: None}}})

    def resume(self, key: Key) -> None:
        """Somebody starts it, whatever it was admitted for."""
        self.edit(key, {"spec": {"suspend": False}, "metadata": {"annotations": {BYPASS: "true"}}})

    def scale(self, key: Key) -> None:
        size = 3 - self.objects[key].manifest["spec"]["parallelism"]
        running = not self.objects[key].manifest["spec"]["suspend"]
        mark = {"metadata": {"annotations": {BYPASS: "true"}}} if running else {}
        self.edit(key, {"spec": {"parallelism": size, "completions": size}, **mark})

    def move(self, key: Key) -> None:
        labels = self.objects[key].manifest["metadata"]["labels"]
        self.edit(key, {"metadata": {"labels": {QUEUE: None if QUEUE in labels else "q"}}})

    def evict(self, key: Key) -> None:
        stored = self.objects[key]
        read = read_workload(stored.manifest)
        if read.reserved:
            action = status_patch(read, preempt(read, "InClusterQueue", "Preempted", self.now), ADMISSION_MANAGER)
            assert action is not None
            self._carry_out(key, action)

    def end(self, key: Key) -> None:
        self.edit(key, {"status": {"phase": "Succeeded"}})

    def resize(self, key: Key) -> None:
        """To twice the size, or back."""
        cpu = 3 - size(self.objects[key].manifest)
        self.edit(key, {"spec": {"containers": [builders.container(cpu=str(cpu))]}})

    # --- which state it is in

    def key(self) -> tuple[object, ...]:
        """The same for clusters that differ in the names of their two jobs, in versions and in times alone."""
        one, other = self.made.values()
        if one != other:  # they can be distinguished
            return self._key(one < other)
        return min((self._key(swapped) for swapped in (False, True)), key=hash)

    def _key(self, swapped: bool) -> tuple[object, ...]:
        name = NAMES.swapped if swapped else NAMES.plain
        ranks = self._ranks()

        def stored(key: Key, found: Stored | None) -> tuple[int, int]:
            return (name(found.text), ranks[key, found.version]) if found is not None else (-1, -1)

        def action(key: Key, asked: Action | None) -> tuple[int, int]:
            return name(NAMES.text_of_action(asked)), ranks[key, _bound(asked)]

        def named(found: dict[Key, Stored]) -> frozenset[object]:
            return frozenset((name(NAMES.text_of(key)), *stored(key, each)) for key, each in found.items())

        return (
            self.acts,
            self.faults,
            tuple(sorted((name(NAMES.text_of(each)), made) for each, made in self.made.items())),
            named(self.objects),
            named(self.process.seen),
            tuple(
                tuple((name(NAMES.text_of(each.key)), *stored(each.key, each.stored)) for each in self.news[kind])
                for kind in KINDS
            ),
            frozenset(
                (name(NAMES.text_of(key)), *action(key, flight.action), flight.cpus, flight.lost)
                for key, flight in self.flights.items()
            ),
            frozenset((name(NAMES.text_of(key)), *action(key, each)) for key, each in self.late),
            frozenset(name(NAMES.text_of(each)) for each in self._inside()),
            frozenset(
                name(NAMES.text_of(key)) for key, each in self.objects.items() if each.version > self._passed(key)
            ),
        )

    def _passed(self, key: Key) -> int:
        return self.process.passed[key[0]]

    def _ranks(self) -> dict[tuple[Key, int], int]:
        """Versions of an object in their order, as far as anybody knows of them."""
        found: dict[Key, set[int]] = {}
        for known in (self.objects, self.process.seen):
            for key, stored in known.items():
                found.setdefault(key, set()).add(stored.version)
        for news in self.news.values():
            for each in news:
                found.setdefault(each.key, set()).add(each.version)
        for key, action in (*((key, flight.action) for key, flight in self.flights.items()), *self.late):
            found.setdefault(key, set()).add(_bound(action))
        return {
            (key, version): rank for key, versions in found.items() for rank, version in enumerate(sorted(versions))
        }

    def _inside(self) -> Iterator[Hashable]:
        """All that the controller remembers, with moments as they are from now."""
        controller = self.process.controller
        store = controller.store

        def ago(moment: int | None) -> int | None:
            return None if moment is None else max(-OVERDUE, min(OVERDUE, moment - self.now))

        for job in store.jobs.values():
            known = (job.state.value, ago(job.due), ago(job.since), job.exists, job.confirmed, job.idle, job.used)
            shown = (job.visible.workload, job.visible.deleting) if job.visible is not None else None
            waits = job.id in store._waiting, job.id in store._changed
            yield ("job", job.id, known, shown, _in_order(job.workloads), waits)
        for name, each in store.workloads.items():
            yield (
                "workload",
                name,
                _in_order(each.jobs),
                repr(sorted(each.pods.items())),
                each.left,
                ago(each.left_at),
            )
        yield ("stale", _in_order(store.stale), _in_order(store.stale_workloads), _in_order(store.unresolved))
        for known in (controller._questions._unsent, controller._questions._sent):
            yield (
                "questions",
                known is controller._questions._sent,
                _in_order((key, _in_order(each)) for key, each in known.items()),
            )
        kept = controller._kept
        sought = _in_order(kept._sight._sought.items()), _in_order(kept._sight._asked.items())
        yield ("pods", *sought, _in_order(kept._stale), _in_order(kept._changed), _in_order(kept._with_surplus))
        yield ("errors", _in_order(controller._errors._backoffs))
        waits = self.process.waits
        yield ("waits", _in_order((key, item) for key, items in waits._by_key.items() for _, item in items))
        yield ("moments", _in_order((ago(at), item) for at, _, _, item in waits._by_moment))


def _in_order(found: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(found))


def _with(do: Callable[..., None], *given: object) -> Callable[[Cluster], None]:
    return lambda cluster: do(cluster, *given)


def _person(do: Callable[[Cluster], None]) -> Callable[[Cluster], None]:
    def acts(cluster: Cluster) -> None:
        cluster.acts -= 1
        do(cluster)

    return acts


def _fault(do: Callable[[Cluster], None]) -> Callable[[Cluster], None]:
    def happens(cluster: Cluster) -> None:
        cluster.faults -= 1
        do(cluster)

    return happens


_JOB_EDITS: dict[str, Callable[[Cluster, Key], None]] = {
    "delete": Cluster.delete,
    "orphan-delete": lambda each, key: each.delete(key, "orphan"),
    "move": Cluster.move,
    "scale": Cluster.scale,
}
_WORKLOAD_EDITS: dict[str, Callable[[Cluster, Key], None]] = {
    "take-away": Cluster.delete,
    "disown": lambda each, key: each.edit(key, {"metadata": {"ownerReferences": []}}),
    "evict": Cluster.evict,
}
_POD_EDITS: dict[str, Callable[[Cluster, Key], None]] = {
    "end": Cluster.end,
    "kill": lambda each, key: each.delete(key, "kubelet"),
    "resize": Cluster.resize,
    "let-go": lambda each, key: each.edit(
        key, {"metadata": {"labels": {"job-uid": None, "was": "let-go"}, "ownerReferences": []}}
    ),
    "hide": lambda each, key: each.edit(
        key, {"metadata": {"labels": {POD_SET: None}, "annotations": {STARTED_FOR: None}}}
    ),
}


def selected(key: Key, manifest: Manifest) -> bool:
    """Whether a watch with the selector of the kind shows it."""
    label = {JOB: QUEUE, POD: POD_SET}.get(key[0])
    return label is None or label in manifest["metadata"].get("labels", {})


WATCHED = {WORKLOAD: by_kind()[WORKLOAD], **{each.kind: each for each in JobsController({}.get).watched}}


def _bound(action: Action | None) -> int:
    """The version that it is bound to; 0 for none."""
    return int(getattr(action, "resource_version", "") or 0)


def pending(workload: Workload) -> bool:
    return workload.active and not (workload.reserved or workload.finished or workload.deleting or workload.evicted)


def counted(manifest: Manifest) -> int:
    """The Pods that a Workload holds quota for."""
    return sum(each["count"] for each in manifest["status"]["admission"]["podSetAssignments"])


def size(pod: Manifest) -> int:
    """The cpus of a Pod."""
    return int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def _reservation(read: Workload, now: int) -> Patch:
    sets = tuple(
        PodSetAdmission(each.name, {"cpu": "plain"}, {"cpu": 1000 * each.count}, each.count) for each in read.pod_sets
    )
    action = status_patch(read, sync_admitted(reserve(read, Admission("q", sets), now), now), ADMISSION_MANAGER)
    assert action is not None
    return action


def started_for(pod: Manifest) -> str:
    """The Workload on whose quota it runs, empty where somebody else started it."""
    name = pod["metadata"].get("annotations", {}).get("for")
    return f"ns/{name}" if name else ""
