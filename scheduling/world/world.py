"""The engine's state of a cluster, as in Kueue's Cache and queue manager. It is updated object by object.

The order of objects does not matter: a world that followed every change equals one that was built from the same
objects. The cost of an event depends on the depth of the tree and the queues that it affects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from policies.amounts.devices import ClaimTemplate, DeviceClass
from policies.amounts.limit_ranges import Summary
from policies.dialects.kueue_flavor import Flavor
from policies.model.quantity import Quantities
from policies.mutation.pod_defaults import Surroundings
from scheduling.objects.admissibility import adjusted
from scheduling.objects.amounts import Usage
from scheduling.objects.copying import replace
from scheduling.objects.grouped import Links
from scheduling.objects.order import Ordering, scheduling_hash
from scheduling.objects.queue_settings import CheckSettings, ClusterQueueSettings, CohortSettings, LocalQueueSettings
from scheduling.objects.requests import DEFAULT, Counting, total_requests, usage
from scheduling.objects.workload import Workload
from scheduling.preemption.candidates import CandidatePrecedence
from scheduling.queues.consumption import Consumption
from scheduling.queues.pending import PendingEntry
from scheduling.queues.queues import PendingQueues
from scheduling.quota.node import stored_below
from scheduling.quota.state import ClusterQueueState, Options, QuotaState, Reservation
from scheduling.quota.touched import Touch
from scheduling.topology.fleet import Fleet, HeldPlaces
from scheduling.topology.node_filter import TopologyNode
from scheduling.topology.workload_places import admitted_places
from scheduling.world.claimed_devices import ClaimedDevices, with_devices
from scheduling.world.decisions import Wait
from scheduling.world.last_attempts import LastAttempts
from scheduling.world.penalties import consumed_by, penalise, settle
from scheduling.world.readiness import NOT_FOUND, Readiness, readiness
from scheduling.world.slices import WorkloadSlices
from scheduling.world.workloads_with_quota import WorkloadsWithQuota


class World:
    """The state of a cluster. `now` of each method is the time of the event in nanoseconds.

    ordering: the order of workloads in queues.
    counting: how requests are counted.
    consumption: the usage of LocalQueues, for admission fair sharing; else None.
    readiness_changed: the ClusterQueues whose readiness changed, until the reader clears it.
    recounted: the workloads whose requests were counted again, until the reader clears it.
    terminating: the ClusterQueues that are being deleted.
    assumed: the workloads whose reservation is not in their object yet.
    undecided: the ClusterQueues of which no workload is tried.
    """

    def __init__(
        self,
        options: Options | None = None,
        ordering: Ordering | None = None,
        counting: Counting = DEFAULT,
        consumption: Consumption | None = None,
        fleet: Fleet | None = None,
    ) -> None:
        self.state = QuotaState(options, fleet)
        self.topologies: dict[str, tuple[str, ...]] = {}
        self.slices = WorkloadSlices(self.state)
        self.touched = self.state.touched
        self.ordering = ordering or Ordering()
        self.consumption = consumption
        self.precedence = CandidatePrecedence(self.ordering, partial(consumed_by, consumption) if consumption else None)
        self.counting = counting
        self.queues = PendingQueues(self.state.tree, self.entry, consumption.usage if consumption else None)
        self.workloads: dict[str, Workload] = {}
        self.checks: dict[str, CheckSettings] = {}
        self._cohorts: dict[str, CohortSettings] = {}  # settings of Cohorts
        self.readiness: dict[str, Readiness] = {}
        self.readiness_changed: set[str] = set()
        self.recounted: dict[str, None] = {}
        self._limited: dict[str, Surroundings] = {}  # by namespace, for those that had a LimitRange
        self._unlimited = Surroundings(compat=self.state.options.compat)  # of all others
        self.terminating: set[str] = set()
        self.assumed: set[str] = set()
        self.undecided: set[str] = set()
        self._last_attempts = LastAttempts()
        self._with_flavor: Links[str, str] = Links()  # ClusterQueues by flavor
        self._with_check: Links[str, str] = Links()  # ClusterQueues by AdmissionCheck
        self._with_quota = WorkloadsWithQuota()
        self._devices = ClaimedDevices(counting.devices)
        self._outdated: dict[str, bool] = {}  # workloads to count again, and whether to forget attempts
        self._surplus: dict[str, Mapping[str, int]] = {}  # surplus Pods by workload and pod set
        self._with_topology: dict[str, None] = {}  # flavors with a topology
        self._with_room: dict[str, None] = {}  # flavors with more room since the last cycle

    # --- the tree

    def put_queue(self, settings: ClusterQueueSettings, now: int, terminating: bool = False) -> None:
        old = self.state.queues.get(settings.name)
        if old is not None and old.settings == settings and (settings.name in self.terminating) == terminating:
            return
        left = old.node.root if old is not None else None
        self._with_flavor.put(settings.name, settings.flavors)
        self._with_check.put(settings.name, (use.name for use in settings.checks))
        (self.terminating.add if terminating else self.terminating.discard)(settings.name)
        if old is not None:
            self.touched.tree(old.node.root)
        queue = self.state.put_queue(settings)
        self.queues.put_queue(settings, now)
        self.touched.tree(queue.node)
        if old is None:
            self._count_usage((settings.name,))
        self._judge(queue)
        self.queues.wake(settings.name)
        if left is not None and left is not queue.node.root:
            self.queues.flush_trees([left], now)

    def drop_queue(self, name: str, now: int) -> None:
        """Remove a ClusterQueue. Its workloads count again if it is added again."""
        queue = self.state.queues.get(name)
        if queue is None:
            return
        root = queue.node.root
        self.touched.tree(root)
        self.touched.queue(name)
        for users in (self._with_flavor, self._with_check):
            users.drop(name)
        self.queues.drop_queue(name)
        self.state.drop_queue(name)
        self._last_attempts.drop_queue(name)
        self.readiness.pop(name, None)
        self.terminating.discard(name)
        self.queues.flush_trees([root], now)

    def put_cohort(self, settings: CohortSettings, now: int) -> None:
        """Add or update a Cohort. Pending workloads are only tried again if its settings have changed."""
        if self._cohorts.get(settings.name) == settings:
            return
        self._cohorts[settings.name] = settings
        self._reshape(settings.name, lambda: self.state.put_cohort(settings), now)

    def drop_cohort(self, name: str, now: int) -> None:
        self._cohorts.pop(name, None)
        self._reshape(name, lambda: self.state.drop_cohort(name), now)

    def _reshape(self, name: str, change: Callable[[], None], now: int) -> None:
        """Change a Cohort. Judge all queues that were or are below a cycle, and flush the old and the new tree."""
        tree = self.state.tree
        before = tree.cohorts.get(name)
        left = before.root if before is not None else None
        if before is not None:
            self.touched.tree(before.root)
        freed = tree.broken(before) if before is not None else []
        change()
        after = tree.cohorts.get(name)
        if after is not None:
            self.touched.tree(after)
        caught = tree.broken(after) if after is not None else []
        if freed or caught:
            below = stored_below(*freed, *caught, *([after] if after else []))
            self._judge_all(node.name for node in below if node.is_queue)
        roots = {node for node in (left, after.root if after else None) if node is not None}
        self.queues.flush_trees(roots, now)
        for root in roots:
            self.state.touch_tree(root)

    # --- objects to which queues refer

    def put_flavor(self, flavor: Flavor) -> None:
        """Add or update a flavor. Queues that use it are tried again: its labels or taints may match now."""
        if self.state.flavors.get(flavor.name) != flavor:
            queues = self._with_flavor.of(flavor.name)
            self.state.put_flavor(flavor)
            self._put_levels(flavor)
            if flavor.topology and flavor.name not in self._with_topology:
                self._with_topology[flavor.name] = None
                # All queues: one that no longer lists the flavor may still use it.
                self._count_usage(self._with_quota.cluster_queues())
            elif not flavor.topology:
                self._with_topology.pop(flavor.name, None)
            self._judge_all(queues)

    def drop_flavor(self, name: str) -> None:
        self._with_topology.pop(name, None)
        if self.state.drop_flavor(name):
            if self.state.fleet is not None:
                self.state.fleet.drop_flavor(name)
            self._judge_all(self._with_flavor.of(name))

    def assign_places(self, fleet: Fleet) -> None:
        """Place pods in topologies from now on, on the nodes of this fleet. Admitted workloads keep their places."""
        self.state.fleet = fleet
        for flavor in self.state.flavors.values():
            self._put_levels(flavor)
        self._count_usage(self._with_quota.cluster_queues())
        self._judge_all(self.state.queues)

    @property
    def has_topologies(self) -> bool:
        return bool(self._with_topology)

    def uses_topologies(self, queue: str) -> bool:
        """Whether a flavor of the ClusterQueue has a topology, and topologies are not ignored."""
        found = self.state.queues.get(queue) if self._with_topology and self.state.options.topologies else None
        return found is not None and any(name in self._with_topology for name in found.settings.flavors)

    def put_topology(self, name: str, levels: tuple[str, ...]) -> None:
        """Add or update a Topology with these levels, coarsest first. Queues that use it are tried again."""
        if self.topologies.get(name) != levels:
            self.topologies[name] = levels
            self._topology_changed(name)

    def drop_topology(self, name: str) -> None:
        if self.topologies.pop(name, None) is not None:
            self._topology_changed(name)

    def put_node(self, node: TopologyNode) -> None:
        """Add or update a node that can take pods. Queues whose flavors have it are tried again."""
        if self.state.fleet is not None and self.state.fleet.nodes.get(node.name) != node:
            self.state.fleet.put_node(node)
            self._room_changed(node.name)

    def drop_node(self, name: str) -> None:
        """Remove a node that was deleted, is not Ready, or is cordoned."""
        if self.state.fleet is not None:
            self.state.fleet.drop_node(name)

    def put_pod(self, key: str, node: str, requests: Mapping[str, int]) -> None:
        """Add or update a pod outside of topologies on this node.

        A resize may free room, so that queues are tried again. Most updates only change the status of the pod.
        """
        before = self.state.fleet.put_pod(key, node, requests) if self.state.fleet is not None else ""
        if before:
            self._room_changed(before)

    def drop_pod(self, key: str) -> None:
        """Remove a pod that was deleted or has ended. Queues whose flavors have its node are tried again."""
        node = self.state.fleet.drop_pod(key) if self.state.fleet is not None else ""
        if node:
            self._room_changed(node)

    def _room_changed(self, node: str) -> None:
        assert self.state.fleet is not None
        self._with_room.update(dict.fromkeys(self.state.fleet.flavors_of(node)))

    def wake_for_room(self) -> None:
        """Try queues again whose flavors have nodes with more room.

        It is called once before a cycle, after all events.
        """
        flavors, self._with_room = self._with_room, {}
        names = {name for flavor in flavors for name in self._with_flavor.of(flavor)}
        for name in names & self.state.queues.keys():
            self._released(name)

    def _count_usage(self, queues: Iterable[str]) -> None:
        for queue in queues:
            for workload in self._with_quota.in_cluster_queue(queue):
                self._reserve(workload)

    def _topology_changed(self, name: str) -> None:
        for flavor in [each for each in self.state.flavors.values() if each.topology == name]:
            self._put_levels(flavor)
            self._judge_all(self._with_flavor.of(flavor.name))

    def _put_levels(self, flavor: Flavor) -> None:
        """Store the topology of the flavor, or remove it."""
        fleet, levels = self.state.fleet, self.topologies.get(flavor.topology or "")
        if fleet is not None and levels:
            fleet.put_flavor(flavor, levels)
        elif fleet is not None:
            fleet.drop_flavor(flavor.name)

    def put_check(self, check: CheckSettings) -> None:
        if self.checks.get(check.name) != check:
            self.checks[check.name] = check
            self._judge_all(self._with_check.of(check.name))

    def drop_check(self, name: str) -> None:
        if self.checks.pop(name, None) is not None:
            self._judge_all(self._with_check.of(name))

    def put_local_queue(self, settings: LocalQueueSettings, now: int) -> None:
        if self.consumption is not None:
            self.consumption.put_weight(settings.key, settings.weight)
        self._touch_local_queue(settings.key)
        self.queues.put_local_queue(settings, now)
        self._touch_local_queue(settings.key)

    def drop_local_queue(self, key: str) -> None:
        self._touch_local_queue(key)
        self.queues.drop_local_queue(key)
        if self.consumption is not None:
            self.consumption.drop(key)

    def _touch_local_queue(self, key: str) -> None:
        """Note that the status of the LocalQueue and of its ClusterQueue may change."""
        self.touched.pending(key)
        local = self.queues.local_queues.get(key)
        if local is not None and local.cluster_queue in self.state.queues:
            self.touched.usage(local.cluster_queue, key)

    def put_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        """Add or update a namespace. With new labels, the selector of a ClusterQueue may match it."""
        if self.queues.namespaces.get(name) != labels:
            self.queues.namespaces[name] = dict(labels)
            for queue in {local.cluster_queue for local in self.queues.local_queues_in(name)}:
                self.queues.wake(queue)

    def drop_namespace(self, name: str) -> None:
        self.queues.namespaces.pop(name, None)

    def put_overheads(self, overheads: Mapping[str, Quantities]) -> None:
        """Store the pod overheads of the RuntimeClasses, by name."""
        self._unlimited = replace(self._unlimited, overheads=overheads)
        self._limited = {name: replace(each, overheads=overheads) for name, each in self._limited.items()}
        self._renew(self.queues.local_queues.values())

    def put_limit_ranges(self, namespace: str, limits: Summary) -> None:
        self._limited[namespace] = replace(self._unlimited, limit_ranges=limits)
        self._renew(self.queues.local_queues_in(namespace))

    def _renew(self, local_queues: Iterable[LocalQueueSettings]) -> None:
        for local in local_queues:
            for each in (*self.queues.waiting_at(local.key), *self.queues.kept_out_at(local.key)):
                self._outdated[each.key] = True

    def put_device_class(self, device_class: DeviceClass) -> None:
        self._devices_changed(self._devices.put_class(device_class))

    def drop_device_class(self, name: str) -> None:
        self._devices_changed(self._devices.drop_class(name))

    def put_claim_template(self, template: ClaimTemplate) -> None:
        self._devices_changed(self._devices.put_template(template))

    def drop_claim_template(self, key: str) -> None:
        self._devices_changed(self._devices.drop_template(key))

    def _devices_changed(self, keys: Iterable[str]) -> None:
        """Note workloads to count again. Those with quota are compared at once: pods may start with any template."""
        for key in keys:
            holder = self._with_quota.find(key)
            if holder is not None and holder.admission is not None:
                self._devices.hold(holder, partial(self._counts, holder.admission.cluster_queue))
                self.recounted[key] = None
            else:
                self._outdated.setdefault(key, False)

    def recount(self, now: int) -> None:
        """Count the requests of waiting workloads again whose LimitRanges, overheads or devices have changed.

        It is called once before a cycle, after all events: one object can concern all workloads of a namespace.
        """
        if not self._outdated:
            return
        outdated, self._outdated = self._outdated, {}
        for key, tried_again in outdated.items():
            if self.queues.has(key):
                if tried_again:
                    self.queues.forget_attempts(key)
                self.put_workload(self.workloads[key], now)
                self.recounted[key] = None

    def outgrown(self, key: str) -> str:
        """Why the quota of the workload does not cover its devices any more; empty if it does."""
        return self._devices.outgrown(key) if not self.state.options.compat else ""

    # --- workloads

    def put_workload(self, workload: Workload, now: int) -> None:
        """Add or update a workload: count its quota, free released quota, or queue it."""
        key, queueable, old = workload.key, workload.queueable, self.workloads.get(workload.key)
        self.touched.waiting(workload, old)
        self.workloads[key] = workload
        if self.consumption is not None:
            self.consumption.follow(old, workload)
        if workload.counts and workload.admission is not None:
            if self.consumption is not None:
                settle(self.consumption, workload, self.state.queues.get(workload.admission.cluster_queue), now)
            self._holds_quota(workload, old)
        elif key not in self.assumed or not queueable:
            self._release(key)
        if workload.reserved or workload.finished or key in self.assumed:
            if not workload.counts:
                self._devices.forget(key)
            self.queues.drop(key)
            return
        blocker = self._devices.count(workload, self.around(workload.namespace))
        if not queueable or self.gated(workload) or blocker is not None:
            self.queues.keep_out(workload, blocker)
        else:
            self.queues.put(workload, now)

    def gated(self, workload: Workload) -> bool:
        """Whether an annotation keeps the workload out of the queues."""
        return bool(workload.gated_by) and self.state.options.admission_gates

    def drop_workload(self, key: str) -> None:
        self._last_attempts.forget(key)
        workload = self.workloads.pop(key, None)
        self._surplus.pop(key, None)
        self.recounted.pop(key, None)
        if workload is not None:
            self.touched.waiting(workload)
            self._devices.forget(key)
            self.queues.drop(key)
            self._drop_penalty(workload)
            self._release(key)

    def assume(
        self, workload: Workload, queue: ClusterQueueState, used: Usage, places: tuple[HeldPlaces, ...] = ()
    ) -> None:
        """Count the quota of a workload whose reservation is not in its object yet, until it is, or until `forget`."""
        self.assumed.add(workload.key)
        self._last_attempts.forget(workload.key)
        self._devices.forget(workload.key)
        self.queues.drop(workload.key)
        self.slices.reserve(Reservation(workload, queue, used, places))
        self.queues.note_reservation(queue.name)
        if self.consumption is not None:
            ignored = self.state.options.ignore_undeclared
            penalise(self.consumption, workload, queue, self.counting, ignore_undeclared=ignored)

    def forget(self, key: str, now: int) -> None:
        """Free the quota of an assumed reservation that could not be written, and queue the workload again."""
        if key in self.assumed:
            self._release(key)
            workload = self.workloads.get(key)
            if workload is not None:
                self._drop_penalty(workload)
                self.put_workload(workload, now)

    def _holds_quota(self, workload: Workload, old: Workload | None) -> None:
        assert workload.admission is not None
        name = workload.admission.cluster_queue
        self.assumed.discard(workload.key)
        before = self.state.reservations.get(workload.key)
        if before is not None and before.queue.name != name:
            self._release(workload.key)
        self._with_quota.put(workload)
        self._devices.hold(workload, partial(self._counts, name))
        freed = old is not None and workload.leaves_more_room_than(old)
        self._reserve(workload)
        if freed:
            self._released(name)
            after = self.state.reservations.get(workload.key)
            if before is not None and (after is None or after.places != before.places):
                self._vacated(before.places)

    def _counts(self, queue: str, resource: str) -> bool:
        """Whether the ClusterQueue counts the resource: all of them, unless it ignores those that it does not cover."""
        found = self.state.queues.get(queue)
        return not self.state.options.ignore_undeclared or (
            found is not None and found.settings.group_of(resource) is not None
        )

    def count_surplus(self, key: str, pods: Mapping[str, int]) -> None:
        """Count Pods beyond the admitted number, by pod set, as long as the workload has quota."""
        if pods == self._surplus.get(key, {}):
            return
        self._surplus.pop(key, None)
        if pods:
            self._surplus[key] = pods
        holder = self._with_quota.find(key)
        if holder is not None and holder.admission is not None:
            self._reserve(holder)
            self._released(holder.admission.cluster_queue)

    def _reserve(self, workload: Workload) -> None:
        queue = self.state.queues.get(workload.admission.cluster_queue) if workload.admission else None
        if queue is not None:
            found, more = total_requests(workload, self.counting), self._surplus.get(workload.key)
            if more is not None:
                found = tuple(each.scaled_to(each.count + more.get(each.name, 0)) for each in found)
            placed = self.state.fleet is not None
            places = admitted_places(workload, self._with_topology, self.counting) if placed else ()
            self.slices.reserve(Reservation(workload, queue, usage(found), places))

    def _release(self, key: str) -> None:
        self.assumed.discard(key)
        self._with_quota.drop(key)
        reservation = self.slices.release(key)
        if reservation is not None:
            self._released(reservation.queue.name)
            self._vacated(reservation.places)

    def _vacated(self, places: tuple[HeldPlaces, ...]) -> None:
        """Try queues again that may use the freed places: queues of other trees may have the same nodes."""
        if places and self.state.fleet is not None:
            self._with_room.update(dict.fromkeys(self.state.fleet.flavors_at(places)))

    def _released(self, queue: str) -> None:
        if queue in self.state.queues:
            self.state.touch(self.state.queues[queue])
            self.queues.wake(queue)

    # --- the last attempt

    def record_attempt(self, entry: PendingEntry, wait: Wait) -> None:
        """Store why a head waits, also for the workloads that became inadmissible with it."""
        self._last_attempts.record(entry, wait, self.queues.pending[wait.queue])

    def last_attempt(self, key: str, *, any_names: bool = False) -> Wait | None:
        """Why the workload waits, by the last attempt at it or at an equal one; None if there is none.

        any_names: see `LastAttempts.of`.
        """
        workload = self.workloads[key]
        name = self.queues.queue_of(workload)
        entry = self.queues.pending[name].get(key) if name is not None else None
        if entry is None or name is None:
            return None
        return self._last_attempts.of(name, entry, any_names=any_names)

    def _drop_penalty(self, workload: Workload) -> None:
        if self.consumption is not None:
            self.consumption.drop_penalty(workload.local_queue, workload.key)

    # --- readiness and queries

    def around(self, namespace: str) -> Surroundings:
        """The LimitRanges and overheads that complete pod templates in the namespace."""
        return self._limited.get(namespace, self._unlimited)

    def entry(self, workload: Workload, before: PendingEntry | None = None) -> PendingEntry:
        """The queue entry of the workload. `before`: its current entry.

        Most updates only change the status, such as the reason for waiting. Then templates, hash and requests are kept.
        """
        since, around = self.ordering.since(workload), self.around(workload.namespace)
        charges = self._devices.charges(workload.key)
        basis = (around, workload.pod_sets, workload.reclaimable, workload.annotations, workload.priority, charges)
        if before is None or before.basis != basis:
            complete = with_devices(adjusted(workload, around), charges)
            return PendingEntry(complete, scheduling_hash(complete, self.counting), since, basis=basis)
        pod_sets = before.workload.pod_sets
        complete = workload if pod_sets == workload.pod_sets else replace(workload, pod_sets=pod_sets)
        return PendingEntry(complete, before.scheduling_hash, since, requests=before.requests, basis=basis)

    def _judge_all(self, queues: Iterable[str]) -> None:
        for name in queues:
            self._judge(self.state.queues[name])
            self.queues.wake(name)

    def _judge(self, queue: ClusterQueueState) -> None:
        """Update whether the ClusterQueue can admit."""
        cycle = self.state.tree.broken(queue.node)
        found = readiness(
            queue.settings, self.state.flavors, self.checks, cycle, queue.name in self.terminating, self._missing(queue)
        )
        if self.readiness.get(queue.name) != found:
            self.touched.queue(queue.name)
            self.readiness_changed.add(queue.name)
        self.readiness[queue.name] = found
        queue.inactive = "" if found.active else found.message

    def _missing(self, queue: ClusterQueueState) -> dict[str, str]:
        """The missing Topologies, by the flavor of the ClusterQueue that names them."""
        if self.state.fleet is None:
            return {}
        flavors = [self.state.flavors[name] for name in queue.settings.flavors if name in self.state.flavors]
        return {each.name: each.topology for each in flavors if each.topology and each.topology not in self.topologies}

    def queues_with_flavor(self, flavor: str) -> list[str]:
        return self._with_flavor.of(flavor)

    def flavors_with_topology(self, topology: str) -> list[str]:
        return [name for name in self._with_topology if self.state.flavors[name].topology == topology]

    def queues_with_check(self, check: str) -> list[str]:
        return self._with_check.of(check)

    def workloads_of(self, local_queue: str) -> list[Workload]:
        """The workloads that wait in the LocalQueue (`namespace/name`), then those that have quota through it."""
        return [*self.queues.waiting_at(local_queue), *self._with_quota.in_local_queue(local_queue)]

    def workloads_in(self, queue: str) -> list[Workload]:
        """The workloads with quota in the ClusterQueue, even if it was deleted."""
        found = self.state.queues.get(queue)
        if found is None:
            return [*self._with_quota.in_cluster_queue(queue)]
        return [each.workload for each in found.reservations.values()]

    def take_touched(self) -> list[Touch]:
        """Every object whose status may have changed since the last call, each once."""
        return self.touched.take(self.state.tree.queues, self.queues.local_queues, self.queues.local_queues_of)

    def can_admit(self, queue: str) -> Readiness:
        return self.readiness.get(queue, NOT_FOUND)

    def is_ready(self, queue: str) -> bool:
        """Whether this process tries the heads of the ClusterQueue."""
        return queue not in self.undecided and self.can_admit(queue).active
