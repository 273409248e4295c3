"""Puts what was observed into the records and the scheduler's world, and shows it to the controllers."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count

from cluster.resource import Manifest
from reconciler.core.cluster_defaults import ClusterDefaults
from reconciler.core.controller import Controller, WaitFor, WakeAt
from reconciler.core.lifecycles import affected_workloads
from reconciler.core.records import WORKLOAD, Records
from reconciler.managed_jobs import ManagedJobs, NamespaceSelection
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.progress import news
from reconciler.objects.topology_views import TOPOLOGY_KINDS
from reconciler.objects.watched import WORKLOAD_VIEW, WatchedKind, WatchedResource, by_kind, by_resource, watched_kinds
from reconciler.observer.observer import Observer
from reconciler.recorder.recorder import EventRecorder
from reconciler.shards.partition import TreePartition
from scheduling.quota.touched import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.lifecycle import next_moment
from scheduling.status.observability import Observability
from scheduling.world.world import World


class Informer:
    """Processes what is observed. Times are in nanoseconds.

    `stale`: the Workloads whose next step has to be computed again.
    `waiting`: how long pods may take to become ready; None for no limit.
    `records_events`: whether changes of Workloads are recorded as Events. Only the leader does so.
    `kueue`: whether Kueue's kinds are watched.
    """

    def __init__(
        self,
        world: World,
        records: Records,
        controllers: Sequence[Controller],
        observer: Observer,
        recorder: EventRecorder,
        waiting: WaitForPodsReady | None,
        managed: ManagedJobs,
        observability: Observability,
        partition: TreePartition,
        *,
        kueue: bool = True,
    ) -> None:
        self.partition = partition
        self.world = world
        self.records = records
        self.alarms = Alarms()
        self.waits = Waits()
        self.stale: dict[str, None] = {}
        self.records_events = False
        self.watched = watched_by(
            controllers,
            boosted=world.ordering.boosted,
            orchestrated=world.state.options.orchestrated,
            kueue=kueue,
            placing=world.state.fleet is not None,
            devices=world.counting.devices.counted,
        )
        self._controllers = controllers
        self._shown = {kind: [each for each in controllers if shows(each, kind)] for kind in self.watched}
        self._observer = observer
        self._recorder = recorder
        self.waiting = waiting
        self._selection = NamespaceSelection(managed, world, observability)
        self._defaults = ClusterDefaults()
        self._inputs_outdated = True
        self.resources = by_resource(self.watched.values())
        self.resource_of = {kind: resource for resource in self.resources for kind in resource.kinds}
        self._asleep = [resource for resource in self.resources if resource.on_demand]
        for resource in self.resources:
            if not resource.on_demand:
                self._track(resource)

    def _track(self, resource: WatchedResource) -> None:
        for watched in resource.views:
            self.records.track(watched.kind, watched.object_kind)

    def newly_needed(self) -> list[WatchedResource]:
        """Resources that have to be watched from now on: Nodes and the Pods on them, once a flavor has a topology.

        Nothing is decided until they have been listed.
        """
        if not self._asleep or not self.world.has_topologies:
            return []
        found, self._asleep = self._asleep, []
        for resource in found:
            self._track(resource)
        return found

    # --- observed changes

    def views(self, key: Key, manifest: Manifest) -> tuple[Observed[object], ...]:
        """The object in a response: first in the view of this key, then in the other views of the same watch."""
        views = self.resource_of[key[0]].observed(manifest, self.records.known)
        return (*(each for each in views if each.key == key), *(each for each in views if each.key != key))

    def observe(self, observed: Observed[object], now: int) -> None:
        """Process a report of a watch, unless the watch is behind a list."""
        if self.records.progress.overtaken(observed):
            return
        self.records.progress.advance(observed.key[0], observed.version)
        self.accept(observed, now)

    def replace(self, listed: Listed, now: int) -> None:
        """Process a list. Objects of the kind that are not in the list are gone."""
        for observed in self.records.progress.replace(listed, self.records.keys()):
            self.accept(observed, now)

    def accept(self, observed: Observed[object], now: int) -> None:
        """Process an object, unless a newer version is stored."""
        before = self.records.at(observed.key)
        if self.store(observed, now):
            self._update(before, observed, whole_second(now), now)

    def store(self, observed: Observed[object], now: int) -> bool:
        """Store the object in the records, but not in the world yet. Returns False if nothing has changed."""
        key = observed.key
        before = self.records.at(key)
        if not news(before, observed):
            return False
        self.records.keep(observed)
        if before is None or before.version != observed.version:
            moment = whole_second(now)
            self._observer.changing(before, observed, moment)
            self.end_backoff(key, now)
            self._record_change(before, observed, moment)
        return True

    def _record_change(self, before: Observed[object] | None, after: Observed[object], moment: int) -> None:
        old, new = WORKLOAD_VIEW.value(before), WORKLOAD_VIEW.value(after)
        if old is not None and new is not None and self.records_events and not self.partition.away(*after.key):
            record = self.records.find(after.key)
            self._recorder.workload_changed(old, new, moment, record.details if record is not None else {})

    def _update(self, before: Observed[object] | None, observed: Observed[object], moment: int, now: int) -> None:
        kind, name = observed.key
        if kind == WORKLOAD:
            self.enter(name, now)
        elif kind in ClusterDefaults.KINDS:
            self._inputs_outdated |= self._defaults.put(self.world, observed)
        else:
            same = before is not None and before.value == observed.value  # only its status has changed
            self._change_world(self.watched[kind], observed, moment, same=same)
        for controller in self._shown[kind]:
            controller.observe(observed)
        self._observer.changed(moment)

    def selected(self, observed: Observed[object]) -> bool:
        return self.watched[observed.key[0]].selected(observed)

    def missed(self, key: Key) -> None:
        """A read found that the object does not exist."""
        for controller in self._shown.get(key[0], ()):
            controller.gone(key)

    def found(self, observed: Observed[object]) -> None:
        """A read found this object. It need not be one that a watch selects."""
        for controller in self._shown.get(observed.key[0], ()):
            controller.found(observed)

    def _change_world(
        self, watched: WatchedKind[object], observed: Observed[object], moment: int, *, same: bool
    ) -> None:
        kind, name = observed.key
        flavor, before = self.world.state.flavors.get(name), self.partition.behind(name)
        topology = self._topology_of(name)
        watched.change(self.world, observed, moment)
        self._inputs_outdated |= self._selection.outdated(name) or flavor != self.world.state.flavors.get(name)
        if kind in (CLUSTER_QUEUE, COHORT):
            self.partition.observe(observed)
        elif kind == "ResourceFlavor" and topology != self._topology_of(name):
            self.partition.topologies_changed()
        if not same or self.world.readiness_changed:
            self.stale.update({workload.key: None for workload in affected_workloads(self.world, kind, name)})
        self._free_items_of_new_part(observed, before)

    def _topology_of(self, flavor: str) -> str | None:
        """The Topology that the flavor refers to."""
        found = self.world.state.flavors.get(flavor)
        return found.topology if found is not None else None

    def _free_items_of_new_part(self, observed: Observed[object], before: str) -> None:
        """The work of a LocalQueue, or of a ClusterQueue that is gone, may now belong to another part.

        `before`: the ClusterQueue of the LocalQueue before this change.
        """
        kind, name = observed.key
        if kind == LOCAL_QUEUE and self.partition.behind(name) != before:
            self.free((observed.key, *self.partition.at_local_queue(name)))
        elif kind == CLUSTER_QUEUE and observed.value is None:
            self.free(self.partition.waiting_for((name,)))

    # --- Workloads

    def enter(self, name: str, now: int) -> None:
        """Put the stored Workload into the world, unless a decision about it is in flight."""
        self.stale[name] = None
        for controller in self._controllers:
            controller.workload_changed(name)
        record, stored = self.records.find((WORKLOAD, name)), self.records.workload(name)
        if record is not None and record.in_flight is not None and record.in_flight.decided is not None:
            return
        if stored is None:
            self.stale.pop(name)
            self.world.drop_workload(name)
            self.records.undecide(name)
            self.records.owe(name, None)
            return
        self.restore(name, now)
        if stored.value.replaces:
            self.stale[stored.value.replaces] = None
        if self.records.backs_off((WORKLOAD, name), now):
            self.world.queues.drop(name)
        if alarm := next_moment(stored.value, self.waiting):
            self.alarms.set(alarm, (WORKLOAD, name))

    def restore(self, name: str, now: int) -> None:
        """Drop a decision that was not written, so that the world has the stored Workload again."""
        self.records.undecide(name)
        stored = self.records.workload(name)
        if stored is not None:
            self.world.put_workload(stored.value, whole_second(now))

    # --- backoffs and waits

    def back_off(self, key: Key, now: int) -> int:
        """Start a backoff, and return the time of its end. The object is not written before that."""
        until = self.records.back_off(key, now)
        self.alarms.set(until, self.records.object_of(key))
        return until

    def end_backoff(self, key: Key, now: int) -> None:
        """End the backoff: the object has changed, so a write may succeed."""
        if self.records.object_of(key) in self.records.backing_off:
            self.records.end_backoff(key)
            self.freed(key, now)

    def wait(self, controller: Controller, wait: WaitFor | WakeAt, now: int) -> None:
        """Wake the controller once the object may be written, or at a time. If that is so already, wake it at once."""
        if isinstance(wait, WaitFor) and not self.busy(*wait.key, now):
            controller.wake(wait.item)
        elif isinstance(wait, WaitFor):
            self.waits.add(controller, replace(wait, key=self.records.object_of(wait.key)))
        else:
            self.waits.add(controller, wait)

    def busy(self, kind: str, name: str, now: int) -> bool:
        """Whether this process cannot write the object at present."""
        return self.records.busy((kind, name), now) or self.partition.away(kind, name)

    def free(self, keys: Iterable[Key]) -> None:
        """These objects may be written: wake the controllers that wait for them."""
        for key in keys:
            self.waits.free(key)

    def freed(self, key: Key, now: int) -> None:
        """Wake the controllers that wait for the object, if it can be written."""
        if not self.records.busy(key, now):
            self.waits.free(self.records.object_of(key))

    def ring(self, now: int) -> None:
        """Handle alarms, ended backoffs and changed requests. A standby does so too."""
        self.world.recount(whole_second(now))
        for key in self.alarms.due(now):
            if key[0] == WORKLOAD and self.records.workload(key[1]) is not None:
                self.stale[key[1]] = None
                record = self.records.find(key)
                flight = record.in_flight if record is not None else None
                decided = flight is not None and flight.decided is not None
                if not decided and not self.records.backs_off(key, now):
                    self.restore(key[1], now)
            self.freed(key, now)
        self.waits.ring(now)

    # --- inputs of jobs

    def renew_inputs(self) -> None:
        """Compute the inputs of jobs again, once for all changes since the last call."""
        if not self._inputs_outdated:
            return
        self._inputs_outdated = False
        inputs = self._selection.inputs(self._defaults.classes(), pods_ready=self.waiting is not None)
        for controller in self._controllers:
            controller.inputs_changed(inputs)


def watched_by(
    controllers: Sequence[Controller],
    *,
    boosted: bool = False,
    orchestrated: bool = False,
    kueue: bool = True,
    placing: bool = False,
    devices: bool = False,
) -> dict[str, WatchedKind[object]]:
    """All watched kinds. If the core and a controller watch the same kind, the core's reading is used.

    `boosted`, `orchestrated`, `devices`: see `watched_kinds`.
    `kueue`: Kueue's kinds are watched.
    `placing`: pods get places in topologies.
    """
    theirs = (watched for controller in controllers for watched in controller.watched)
    core = watched_kinds(boosted=boosted, orchestrated=orchestrated, devices=devices) if kueue else ()
    return {**by_kind(theirs), **by_kind(core), **by_kind(TOPOLOGY_KINDS if kueue and placing else ())}


def shows(controller: Controller, kind: str) -> bool:
    return any(watched.kind == kind for watched in controller.watched)


class Alarms:
    """Keys of objects, by the time at which to look at them again. Times are in nanoseconds.

    An alarm that is set twice for the same time and key is returned once.
    """

    def __init__(self) -> None:
        self._order: list[tuple[int, Key]] = []
        self._set: set[tuple[int, Key]] = set()

    def set(self, at: int, key: Key) -> None:
        if (at, key) not in self._set:
            self._set.add((at, key))
            heapq.heappush(self._order, (at, key))

    def __contains__(self, alarm: object) -> bool:
        """Whether an alarm is set for this pair of time and key."""
        return alarm in self._set

    @property
    def next(self) -> int | None:
        return self._order[0][0] if self._order else None

    def due(self, now: int) -> list[Key]:
        """Remove and return the keys whose time has come."""
        found = []
        while self._order and self._order[0][0] <= now:
            alarm = heapq.heappop(self._order)
            self._set.discard(alarm)
            found.append(alarm[1])
        return found


class Waits:
    """What items of controllers wait for: a busy object, or a time in nanoseconds. So nothing has to poll."""

    def __init__(self) -> None:
        self._by_key: dict[Key, dict[tuple[Controller, Key], None]] = {}
        self._by_moment: list[tuple[int, int, Controller, Key]] = []
        self._moments: set[tuple[int, Controller, Key]] = set()
        self._numbers = count()

    def add(self, controller: Controller, wait: WaitFor | WakeAt) -> None:
        if isinstance(wait, WaitFor):
            self._by_key.setdefault(wait.key, {})[controller, wait.item] = None
        elif (moment := (wait.at, controller, wait.item)) not in self._moments:
            self._moments.add(moment)
            heapq.heappush(self._by_moment, (wait.at, next(self._numbers), controller, wait.item))

    @property
    def next(self) -> int | None:
        """The earliest time that an item waits for."""
        return self._by_moment[0][0] if self._by_moment else None

    def free(self, key: Key) -> None:
        """The object may be written: wake all items that wait for it."""
        for controller, item in self._by_key.pop(key, ()):
            controller.wake(item)

    def ring(self, now: int) -> None:
        """Wake all items whose time has come."""
        while self._by_moment and self._by_moment[0][0] <= now:
            at, _, controller, item = heapq.heappop(self._by_moment)
            self._moments.discard((at, controller, item))
            controller.wake(item)
