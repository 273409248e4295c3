"""Puts objects into the world. Objects to which others refer are put first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from policies.amounts.devices import CLAIM_TEMPLATE, DEVICE_CLASS, read_claim_template, read_device_class
from policies.amounts.limit_ranges import summarize
from policies.amounts.requests import readable
from policies.dialects import core, kueue
from policies.dialects.job_shape import at
from policies.dialects.kueue_flavor import read_flavor
from policies.dialects.kueue_kinds import ADMISSION_CHECK, GROUP, TOPOLOGY, WORKLOAD_PRIORITY_CLASS
from policies.dialects.naming import NAMING
from policies.dialects.node_reading import node_reading
from policies.dialects.pod_reading import PodReading, pod_reading
from policies.dialects.reading import Manifest, condition, group_kind, mapping, metadata, text, texts
from policies.dialects.selectors import NAME_OF_NAMESPACE, LabelSelector
from policies.model.objects import GroupKind, Ref
from policies.model.quantity import Quantities
from scheduling.objects.pod_sets import ALL_REQUESTS, RequestGates
from scheduling.objects.priority import POD_PRIORITY_CLASS
from scheduling.objects.queue_settings import (
    CheckSettings,
    ClusterQueueSettings,
    read_check_settings,
    read_cohort_settings,
    read_local_queue_settings,
    read_queue_settings,
    read_topology_settings,
)
from scheduling.objects.submission import queue_of
from scheduling.simulation.submissions import Submissions, is_submission
from scheduling.topology.fleet import Fleet
from scheduling.topology.node_filter import topology_node
from scheduling.topology.placing import DEFAULT_GATES, TopologyGates
from scheduling.topology.pods import foreign_pod
from scheduling.world.world import World

LIMIT_RANGE = GroupKind("", "LimitRange")
RUNTIME_CLASS = GroupKind("node.k8s.io", "RuntimeClass")
_ORDER = (
    core.NAMESPACE,
    LIMIT_RANGE,
    RUNTIME_CLASS,
    DEVICE_CLASS,
    CLAIM_TEMPLATE,
    core.NODE,
    TOPOLOGY,
    WORKLOAD_PRIORITY_CLASS,
    POD_PRIORITY_CLASS,
    kueue.RESOURCE_FLAVOR,
    ADMISSION_CHECK,
    kueue.COHORT,
    kueue.CLUSTER_QUEUE,
    kueue.LOCAL_QUEUE,
)


def is_played(manifest: Manifest) -> bool:
    """Whether a simulation uses objects of this kind."""
    return group_kind(manifest) in _ORDER or is_submission(manifest)


def has_no_schema(manifest: Manifest) -> bool:
    """Whether the object has no schema, so that only `validation` finds its faults."""
    return group_kind(manifest).group != GROUP


class KueueIntake:
    """Puts objects into a world.

    places: how pods are placed on the Nodes of the input; None if they are not placed. Without Nodes nothing is placed.
    declared: the namespaces with an object. Other namespaces exist once they contain an object.
    """

    def __init__(
        self,
        world: World,
        boosted: bool,
        places: TopologyGates | None = DEFAULT_GATES,
        requests: RequestGates = ALL_REQUESTS,
    ) -> None:
        self.world = world
        self._places = places
        self.submissions = Submissions(boosted, requests)
        self.declared: set[str] = set()
        self._pods: dict[str, PodReading] = {}  # Pods by key
        self._ranges: dict[str, dict[str, Manifest]] = {}  # LimitRanges by namespace and name
        self._overheads: dict[str, Quantities] = {}  # pod overheads by RuntimeClass

    def put(self, manifests: Iterable[Manifest], now: int) -> None:
        by_kind: dict[GroupKind, list[Manifest]] = {}
        submitted = []
        for manifest in manifests:
            by_kind.setdefault(group_kind(manifest), []).append(manifest)
            if is_submission(manifest):
                submitted.append(manifest)
        self._namespaces(by_kind.get(core.NAMESPACE, ()), [*by_kind.get(kueue.LOCAL_QUEUE, ()), *submitted])
        self._surroundings(by_kind)
        if self._places is not None and self.world.state.fleet is None and by_kind.get(core.NODE):
            self._start_places(self._places)
        takers = self._takers(now)
        for kind in _ORDER:
            for manifest in by_kind.get(kind, ()) if kind in takers else ():
                takers[kind](manifest)
        for manifest in submitted:
            if group_kind(manifest) != core.POD or not self._put_pod(manifest):
                self.submissions.put(manifest)

    def drop(self, refs: Iterable[Ref], now: int) -> None:
        """Remove objects that are not submitted, in any order. Other kinds are ignored.

        Objects in use stay, as with Kueue's finalizer: a flavor or an AdmissionCheck of a queue, the Topology of a
        flavor, and a ClusterQueue with workloads, which admits no new ones.
        """
        world = self.world

        def unless_used(users: Callable[[str], list[str]], drop: Callable[[str], None]) -> Callable[[Ref], None]:
            return lambda ref: None if users(ref.name) else drop(ref.name)

        droppers: Mapping[GroupKind, Callable[[Ref], None]] = {
            LIMIT_RANGE: self._drop_range,
            RUNTIME_CLASS: lambda ref: self._drop_class(ref.name),
            DEVICE_CLASS: lambda ref: world.drop_device_class(ref.name),
            CLAIM_TEMPLATE: lambda ref: world.drop_claim_template(ref.key),
            kueue.LOCAL_QUEUE: lambda ref: world.drop_local_queue(ref.key),
            kueue.CLUSTER_QUEUE: lambda ref: self._drop_queue(ref.name, now),
            kueue.COHORT: lambda ref: world.drop_cohort(ref.name, now),
            ADMISSION_CHECK: unless_used(world.queues_with_check, world.drop_check),
            kueue.RESOURCE_FLAVOR: unless_used(world.queues_with_flavor, world.drop_flavor),
            TOPOLOGY: unless_used(world.flavors_with_topology, world.drop_topology),
            core.NODE: lambda ref: world.drop_node(ref.name),
            core.POD: lambda ref: self._drop_pod(ref.key),
        }
        every = list(refs)
        for kind, drop in droppers.items():
            for ref in every:
                if ref.group_kind == kind:
                    drop(ref)

    # --- nodes

    def _start_places(self, gates: TopologyGates) -> None:
        self.world.assign_places(Fleet(gates))
        for pod in self._pods.values():
            self._count(pod)

    def _put_node(self, manifest: Manifest) -> None:
        """Add a Node. Without a condition Ready it counts as Ready, since handwritten files have none."""
        read = node_reading(manifest)
        node = topology_node(read if read.ready_condition else replace(read, ready=True))
        if node is None:
            self.world.drop_node(read.name)
        else:
            self.world.put_node(node)

    def _put_pod(self, manifest: Manifest) -> bool:
        """Count the Pod on its node. Returns True if it is not queued: it is on a known node and names no queue."""
        pod = pod_reading(_in_namespace(manifest))
        self._pods[pod.key] = pod
        self._count(pod)
        fleet = self.world.state.fleet
        return fleet is not None and pod.node in fleet.nodes and not queue_of(manifest) and not NAMING.group(manifest)

    def _count(self, pod: PodReading) -> None:
        """Count a Pod outside of topologies on its node."""
        foreign = foreign_pod(pod)
        if foreign is None:
            self.world.drop_pod(pod.key)
        else:
            self.world.put_pod(pod.key, *foreign)

    def _drop_pod(self, key: str) -> None:
        self._pods.pop(key, None)
        self.world.drop_pod(key)

    def _put_queue(self, settings: ClusterQueueSettings, now: int) -> None:
        """Add or update a ClusterQueue. One that was deleted and is in use stays so."""
        self.world.put_queue(settings, now, terminating=settings.name in self.world.terminating)

    def _drop_queue(self, name: str, now: int) -> None:
        queue = self.world.state.queues.get(name)
        if queue is not None and queue.reservations:
            self.world.put_queue(queue.settings, now, terminating=True)
        else:
            self.world.drop_queue(name, now)

    def _takers(self, now: int) -> Mapping[GroupKind, Callable[[Manifest], None]]:
        world, orchestrated = self.world, self.world.state.options.orchestrated
        return {
            DEVICE_CLASS: lambda manifest: world.put_device_class(read_device_class(manifest)),
            CLAIM_TEMPLATE: lambda manifest: world.put_claim_template(read_claim_template(manifest)),
            core.NODE: self._put_node,
            TOPOLOGY: lambda manifest: world.put_topology(*read_topology_settings(manifest)),
            WORKLOAD_PRIORITY_CLASS: self.submissions.put_class,
            POD_PRIORITY_CLASS: self.submissions.put_class,
            kueue.RESOURCE_FLAVOR: lambda manifest: world.put_flavor(read_flavor(manifest)),
            ADMISSION_CHECK: lambda manifest: world.put_check(_read_check(manifest)),
            kueue.COHORT: lambda manifest: world.put_cohort(
                read_cohort_settings(manifest, orchestrated=orchestrated), now
            ),
            kueue.CLUSTER_QUEUE: lambda manifest: self._put_queue(
                read_queue_settings(manifest, orchestrated=orchestrated), now
            ),
            kueue.LOCAL_QUEUE: lambda manifest: world.put_local_queue(
                read_local_queue_settings(_in_namespace(manifest)), now
            ),
        }

    def _namespaces(self, declared: Iterable[Manifest], inside: Iterable[Manifest]) -> None:
        for manifest in declared:
            name = text(metadata(manifest).get("name")) or ""
            self.declared.add(name)
            self.world.put_namespace(name, {**texts(metadata(manifest).get("labels")), NAME_OF_NAMESPACE: name})
        for manifest in inside:
            name = _namespace(manifest)
            if name not in self.world.queues.namespaces:
                self.world.put_namespace(name, {NAME_OF_NAMESPACE: name})

    def _surroundings(self, by_kind: Mapping[GroupKind, Iterable[Manifest]]) -> None:
        """Put LimitRanges and RuntimeClasses."""
        for manifest in by_kind.get(RUNTIME_CLASS, ()):
            self._overheads[text(metadata(manifest).get("name")) or ""] = readable(at(manifest, "overhead.podFixed"))
        if by_kind.get(RUNTIME_CLASS):
            self.world.put_overheads(dict(self._overheads))
        ranges = by_kind.get(LIMIT_RANGE, ())
        for manifest in ranges:
            name = text(metadata(manifest).get("name")) or ""
            self._ranges.setdefault(_namespace(manifest), {})[name] = manifest
        for namespace in sorted(set(map(_namespace, ranges))):
            self._put_ranges(namespace)

    def _put_ranges(self, namespace: str) -> None:
        ranges = [manifest for _, manifest in sorted(self._ranges[namespace].items())]
        self.world.put_limit_ranges(namespace, summarize(ranges))

    def _drop_range(self, ref: Ref) -> None:
        if self._ranges.get(ref.namespace, {}).pop(ref.name, None) is not None:
            self._put_ranges(ref.namespace)

    def _drop_class(self, name: str) -> None:
        if self._overheads.pop(name, None) is not None:
            self.world.put_overheads(dict(self._overheads))

    # --- assumptions

    def assumptions(self) -> list[str]:
        """The assumptions of the simulation about facts that the objects do not contain, as sentences."""
        queues = self.world.state.queues.values()
        found = []
        if any(queue.settings.checks for queue in queues):
            found.append("AdmissionChecks are assumed to be Ready unless an event sets another state")
        options = self.world.state.options
        if self.world.state.fleet is None and options.topologies and self._asks_for_topologies():
            found.append("the input has no Node, so work that requests a topology is not placed, and waits")
        unknown = sorted(
            {
                local.namespace
                for local in self.world.queues.local_queues.values()
                if local.namespace not in self.declared and self._selects_namespaces(local.cluster_queue)
            }
        )
        found += [f"Namespace {name} is not in the input; it is assumed to have no labels" for name in unknown]
        return found

    def _asks_for_topologies(self) -> bool:
        if any(flavor.topology for flavor in self.world.state.flavors.values()):
            return True
        pod_sets = (pod_set for workload in self.world.workloads.values() for pod_set in workload.pod_sets)
        return any(pod_set.asks_for_topology for pod_set in pod_sets)

    def _selects_namespaces(self, queue: str) -> bool:
        found = self.world.state.queues.get(queue)
        selector = found.settings.selector if found is not None else None
        return selector is not None and selector != LabelSelector()


def _read_check(manifest: Manifest) -> CheckSettings:
    """Read a check. Without a status, as in most files, it is active."""
    active = condition(mapping(manifest.get("status")), "Active").get("status") != "False"
    return replace(read_check_settings(manifest), active=active)


def _namespace(manifest: Manifest) -> str:
    return text(metadata(manifest).get("namespace")) or "default"


def _in_namespace(manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**metadata(manifest), "namespace": _namespace(manifest)}}
