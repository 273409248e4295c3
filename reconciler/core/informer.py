"""Takes in what is observed: into the records, the scheduler's world, and the controllers that watch the kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cluster.resource import Manifest
from reconciler.core.alarms import Alarms
from reconciler.core.cluster_defaults import ClusterDefaults
from reconciler.core.controller import Controller, WaitFor, WakeAt
from reconciler.core.lifecycles import concerned
from reconciler.core.records import WORKLOAD, Records
from reconciler.core.waits import Waits
from reconciler.managed_jobs import ManagedJobs, NamespaceSelection
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.progress import news
from reconciler.objects.topology_views import TOPOLOGY_KINDS
from reconciler.objects.watched import (
    WORKLOAD_VIEW,
    WatchedKind,
    WatchedResource,
    by_kind,
    by_resource,
    watched_kinds,
)
from reconciler.observer.observer import Observer
from reconciler.recorder.recorder import EventRecorder
from reconciler.shards.partition import TreePartition
from scheduling.quota.touched import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.lifecycle import next_moment
from scheduling.status.observability import Observability
from scheduling.world.world import World


class Informer:
    """Takes in what is observed. Moments are in nanoseconds.

    `stale`: the Workloads whose next step is to be looked at.
    `waiting`: how long pods may take to become ready.
    `records_events`: changes of Workloads become Events. Only the leader records them.
    `kueue`: Kueue's kinds are watched.
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
        """The resources to follow from now on: nodes and what runs there, once a flavor has a topology.

        Nothing is decided until they were listed.
        """
        if not self._asleep or not self.world.has_topologies:
            return []
        found, self._asleep = self._asleep, []
        for resource in found:
            self._track(resource)
        return found

    # --- what is observed

    def views(self, key: Key, manifest: Manifest) -> tuple[Observed[object], ...]:
        """The object of an answer, in the view of its key first, then in all other views of the same watch."""
        views = self.resource_of[key[0]].observed(manifest, self.records.known)
        return (*(each for each in views if each.key == key), *(each for each in views if each.key != key))

    def observe(self, observed: Observed[object], now: int) -> None:
        """Take in an object that a watch reports."""
        self.records.progress.advance(observed.key[0], observed.version)
        self.accept(observed, now)

    def replace(self, listed: Listed, now: int) -> None:
        """Take in a list. Objects of the kind that the list lacks are gone."""
        for observed in self.records.progress.replace(listed, self.records.keys()):
            self.accept(observed, now)

    def accept(self, observed: Observed[object], now: int) -> None:
        """Take an object in, unless a newer one is known."""
        if self.store(observed, now):
            self._take_in(observed, whole_second(now), now)

    def store(self, observed: Observed[object], now: int) -> bool:
        """Keep the object; False if nothing has changed. The world does not know of it yet."""
        key = observed.key
        before = self.records.at(key)
        if not news(before, observed):
            return False
        self.records.keep(observed)
        if before is None or before.version != observed.version:
            moment = whole_second(now)
            self._observer.changing(before, observed, moment)
            self.end_backoff(key, now)
            self._tell_of_change(before, observed, moment)
        return True

    def _tell_of_change(self, before: Observed[object] | None, after: Observed[object], moment: int) -> None:
        old, new = WORKLOAD_VIEW.value(before), WORKLOAD_VIEW.value(after)
        if old is not None and new is not None and self.records_events and not self.partition.away(*after.key):
            self._recorder.workload_changed(old, new, moment)

    def _take_in(self, observed: Observed[object], moment: int, now: int) -> None:
        kind, name = observed.key
        if kind == WORKLOAD:
            self.enter(name, now)
        elif kind in ClusterDefaults.KINDS:
            self._inputs_outdated |= self._defaults.put(self.world, observed, moment)
        else:
            self._change_world(self.watched[kind], observed, moment)
        for controller in self._shown[kind]:
            controller.observe(observed)
        self._observer.changed(moment)

    def selected(self, observed: Observed[object]) -> bool:
        """Whether the watch of the kind selects this object."""
        return self.watched[observed.key[0]].selected(observed)

    def missed(self, key: Key) -> None:
        """The answer to a read: the object does not exist."""
        for controller in self._shown.get(key[0], ()):
            controller.gone(key)

    def found(self, observed: Observed[object]) -> None:
        """The answer to a read: this is the object, whether a watch shows it or not."""
        for controller in self._shown.get(observed.key[0], ()):
            controller.found(observed)

    def _change_world(self, watched: WatchedKind[object], observed: Observed[object], moment: int) -> None:
        kind, name = observed.key
        flavor, before = self.world.state.flavors.get(name), self.partition.behind(name)
        topology = self._topology_of(name)
        watched.change(self.world, observed, moment)
        self._inputs_outdated |= self._selection.outdated(name) or flavor != self.world.state.flavors.get(name)
        if kind in (CLUSTER_QUEUE, COHORT):
            self.partition.observe(observed)
        elif kind == "ResourceFlavor" and topology != self._topology_of(name):
            self.partition.topologies_changed()
        for workload in concerned(self.world, kind, name):
            self.stale[workload.key] = None
        self._part_may_change(observed, before)

    def _topology_of(self, flavor: str) -> str | None:
        """The Topology that the flavor names."""
        found = self.world.state.flavors.get(flavor)
        return found.topology if found is not None else None

    def _part_may_change(self, observed: Observed[object], before: str) -> None:
        """The work of a LocalQueue, or of a ClusterQueue that is gone, may now belong to another part.

        `before`: the ClusterQueue of the LocalQueue until now.
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
        """Drop the decision that was not written: the stored Workload counts again in the world."""
        self.records.undecide(name)
        stored = self.records.workload(name)
        if stored is not None:
            self.world.put_workload(stored.value, whole_second(now))

    # --- what may be written

    def back_off(self, key: Key, now: int) -> int:
        """Start a backoff: nothing is written of the object until the moment that is returned."""
        until = self.records.back_off(key, now)
        self.alarms.set(until, self.records.object_of(key))
        return until

    def end_backoff(self, key: Key, now: int) -> None:
        """End the backoff: the object has changed, so a write may succeed."""
        if self.records.object_of(key) in self.records.backing_off:
            self.records.end_backoff(key)
            self.freed(key, now)

    def wait(self, controller: Controller, wait: WaitFor | WakeAt, now: int) -> None:
        """Wake the controller when the object is free or the moment has come, at once if that is so already."""
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
        """These objects are free: wake the controllers that wait for them."""
        for key in keys:
            self.waits.free(key)

    def freed(self, key: Key, now: int) -> None:
        """Wake the controllers that wait for the object, if it can be written."""
        if not self.records.busy(key, now):
            self.waits.free(self.records.object_of(key))

    def ring(self, now: int) -> None:
        """Look at objects whose moment has come: for a step or after a backoff, also while another process leads."""
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

    # --- what jobs depend on

    def renew_inputs(self) -> None:
        """Renew the inputs of jobs once for all changes since the last time."""
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
) -> dict[str, WatchedKind[object]]:
    """All watched kinds. If the core and a controller watch the same kind, the core's reading is used.

    `boosted`, `orchestrated`: see `watched_kinds`.
    `kueue`: Kueue's kinds are watched.
    `placing`: pods get places in topologies.
    """
    theirs = (watched for controller in controllers for watched in controller.watched)
    core = watched_kinds(boosted=boosted, orchestrated=orchestrated) if kueue else ()
    return {**by_kind(theirs), **by_kind(core), **by_kind(TOPOLOGY_KINDS if kueue and placing else ())}


def shows(controller: Controller, kind: str) -> bool:
    return any(watched.kind == kind for watched in controller.watched)
