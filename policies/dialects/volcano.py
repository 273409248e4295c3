"""Volcano's Queue, PodGroup and Job. Source: scheduling.volcano.sh/v1beta1, batch.volcano.sh/v1alpha1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, islice

from policies.dialects.kueue_owners import controller_of
from policies.dialects.reading import Manifest, ManifestReader, identity, listing, mapping, metadata, text, texts
from policies.dialects.volcano_job import NO_SPEC, JobSpec, contradictory_tiers, read_spec
from policies.dialects.volcano_node_groups import LIMITS, OVERCOMMIT
from policies.dialects.volcano_resources import is_whole, limits
from policies.model.forest import Forest
from policies.model.objects import Attached, GroupKind, Node, Ref, SubtreeShare
from policies.model.quantity import Quantity

GROUP = "scheduling.volcano.sh"
QUEUE = GroupKind(GROUP, "Queue")
POD_GROUP = GroupKind(GROUP, "PodGroup")
JOB = GroupKind("batch.volcano.sh", "Job")

_FAR = 200  # the most levels that are searched; a rule refuses deeper trees
BUILT_IN = ("root", "default")
"""The queues that Volcano's scheduler creates itself. They exist even if no file or cache has them."""

HIERARCHY = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS = "volcano.sh/hierarchy-weights"
IN_USE = "quotree.dev/queue-in-use"
"""The finalizer that the reconciler puts on queues."""
DELETE_CHILDREN = "quotree.dev/delete-children"
"""The annotation that makes the reconciler delete all descendants with the queue, if its value is `true`."""
AMOUNTS_FROM_NODES = "quotree.dev/amounts-from-nodes"
"""The annotation of root that names the fields of its spec that the reconciler maintains, separated by commas."""
BROKEN_SUMS = "quotree.dev/broken-sums"
"""The annotation of each queue of a tree that is stopped because a queue promises its children too much. The value has
this queue and the amounts."""
_FINISHED_JOB = ("Completed", "Failed", "Terminated")


def queue_ref(name: str) -> Ref:
    return Ref(GROUP, "Queue", "", name)


ROOT = queue_ref("root")


_INDEXED = 16
"""How many levels of their path in hierarchical DRF queues are indexed by. Deeper paths have to be compared."""


def shortened(path: str) -> list[str]:
    """All prefixes of a path, such as `a`, `a/b` and `a/b/c`; at most _INDEXED of them."""
    return list(accumulate(path.split("/", _INDEXED)[:_INDEXED], "{}/{}".format))


def path_end(path: str) -> Ref:
    """The index key of queues with this path, and of queues with a longer path if this one has _INDEXED levels."""
    return Ref(GROUP, "PathEnd", "", path)


def path_way(path: str) -> Ref:
    """The index key of queues whose path continues below this one."""
    return Ref(GROUP, "PathWay", "", path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue(Node):
    """A Volcano queue.

    `guarantee`, `deserved`: by resource; a missing resource counts as 0.
    `capability`: by resource; a missing resource has no limit.
    `state`: status.state.
    `allocated_pods`: status.allocated.pods, the only part of the status that shows use by pods.
    `written_parent`: spec.parent as written; None if it is absent.
    `hierarchy`, `hierarchy_weights`, `node_group_limits`, `overcommit_factor`: annotations as written; None if absent.
    `takes_children`: whether the reconciler deletes the descendants of the queue before it lets the queue go.
    """

    guarantee: Mapping[str, Quantity]
    deserved: Mapping[str, Quantity]
    capability: Mapping[str, Quantity]
    state: str = ""
    allocated_pods: int = 0
    written_parent: str | None = None
    hierarchy: str | None = None
    hierarchy_weights: str | None = None
    node_group_limits: str | None = None
    overcommit_factor: str | None = None
    takes_children: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the queue takes work. A queue without a state counts as open."""
        return self.state in ("", "Open")

    def uses(self) -> frozenset[Ref]:
        """The index keys of its path in the tree of hierarchical DRF: of the end, and of each level on the way."""
        if not self.hierarchy:
            return frozenset()
        *inner, last = shortened(self.hierarchy)
        ends = path_end(last)
        return frozenset([ends, *map(path_way, inner if last == self.hierarchy else (*inner, last))])

    def limits(self) -> Iterator[tuple[str, Quantity]]:
        """The capabilities that Volcano's webhook compares. It treats one of 0 as absent, and looks at the parent."""
        return ((resource, limit) for resource, limit in self.capability.items() if limit.nano)

    def enforced(self) -> dict[str, Quantity]:
        """The capabilities that Volcano's sessions enforce. They treat only 0 cpu and 0 memory as absent."""
        return {resource: limit for resource, limit in self.capability.items() if limits(resource, limit.nano)}

    def share(self, below: SubtreeShare) -> SubtreeShare:
        """The share: guarantee and deserved, and for each resource its capability, or else the highest one below."""
        return SubtreeShare(
            nominal={resource: amount.nano for resource, amount in self.deserved.items()},
            kept={resource: amount.nano for resource, amount in self.guarantee.items()},
            limit={**below.limit, **{resource: limit.nano for resource, limit in self.limits()}},
            height=below.height + 1,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPodGroup(Attached):
    """A PodGroup.

    `written_queue`: spec.queue as written; None if it is absent, so that the CRD's default, `default`, applies.
    `minimum`: spec.minResources.
    `made`: whether a controller made it.
    `two_tiers`: the fields of network topologies that name the highest tier both by number and by name.
    """

    written_queue: str | None
    minimum: Mapping[str, Quantity] = field(default_factory=dict)
    made: bool = False
    two_tiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VolcanoJob(Attached):
    """A Volcano Job. `two_tiers` is as for a PodGroup."""

    phase: str
    spec: JobSpec = NO_SPEC
    two_tiers: tuple[str, ...] = ()


def read_queue(manifest: Manifest) -> Queue:
    reader = ManifestReader(manifest)
    spec, status = mapping(manifest.get("spec")), mapping(manifest.get("status"))
    meta = metadata(manifest)
    notes = texts(meta.get("annotations"))
    ref = identity(manifest, QUEUE, namespaced=False)
    written_parent = text(spec.get("parent"))
    pods = ManifestReader({}).quantity(mapping(status.get("allocated")).get("pods"), "status.allocated.pods")
    guarantee = mapping(spec.get("guarantee")).get("resource")
    return Queue(
        ref=ref,
        api_version=str(manifest.get("apiVersion")),
        parent=None if ref == ROOT else queue_ref(written_parent or "root"),
        parent_field="spec.parent",
        written_parent=written_parent,
        guarantee=reader.amounts(guarantee, "spec.guarantee.resource", is_whole),
        deserved=reader.amounts(spec.get("deserved"), "spec.deserved", is_whole),
        capability=reader.amounts(spec.get("capability"), "spec.capability", is_whole),
        state=text(status.get("state")) or "",
        allocated_pods=pods.units() if pods else 0,
        hierarchy=notes.get(HIERARCHY),
        hierarchy_weights=notes.get(HIERARCHY_WEIGHTS),
        node_group_limits=notes.get(LIMITS),
        overcommit_factor=notes.get(OVERCOMMIT),
        # Without the finalizer it would be deleted before its descendants.
        takes_children=notes.get(DELETE_CHILDREN) == "true" and IN_USE in listing(meta.get("finalizers")),
        defects=reader.defects(),
    )


def read_pod_group(manifest: Manifest) -> WrittenPodGroup:
    spec = mapping(manifest.get("spec"))
    queue = text(spec.get("queue"))
    return WrittenPodGroup(
        ref=identity(manifest, POD_GROUP, namespaced=True),
        api_version=str(manifest.get("apiVersion")),
        queue=queue_ref(queue or "default"),
        queue_field="spec.queue",
        written_queue=queue,
        minimum=ManifestReader({}).amounts(spec.get("minResources"), "spec.minResources"),
        made=controller_of(metadata(manifest)) is not None,
        two_tiers=contradictory_tiers(spec),
        defects=ManifestReader(manifest).defects(),
    )


def read_job(manifest: Manifest) -> VolcanoJob:
    spec = mapping(manifest.get("spec"))
    state = mapping(mapping(manifest.get("status")).get("state"))
    return VolcanoJob(
        ref=identity(manifest, JOB, namespaced=True),
        api_version=str(manifest.get("apiVersion")),
        queue=queue_ref(text(spec.get("queue")) or "default"),
        queue_field="spec.queue",
        phase=text(state.get("phase")) or "",
        spec=read_spec(spec),
        two_tiers=contradictory_tiers(spec),
        defects=ManifestReader(manifest).defects(),
    )


def exists(forest: Forest, ref: Ref) -> bool:
    return ref.name in BUILT_IN or forest.node(ref) is not None


def work_in(forest: Forest, queue: Ref) -> list[Attached]:
    """The PodGroups in any phase and the unfinished Jobs that name the queue, by name.

    Even a Completed PodGroup counts: a session still checks its queue, and refuses all work if that is a parent.
    """
    work = [
        item
        for item in forest.attached(queue)
        if isinstance(item, WrittenPodGroup) or (isinstance(item, VolcanoJob) and item.phase not in _FINISHED_JOB)
    ]
    return sorted(work, key=lambda item: item.ref)


def ancestors(forest: Forest, queue: Ref) -> Iterator[Ref]:
    """The ancestors of a queue, the parent first. They end after _FAR levels, also on a cycle."""
    return islice(forest.ancestors(queue), _FAR)


def nearest_capability(forest: Forest, queue: Queue, resource: str) -> tuple[Queue, Quantity] | None:
    """The nearest ancestor that limits the resource, and its limit. root is not considered."""
    for ref in ancestors(forest, queue.ref):
        ancestor = forest.node(ref)
        if not isinstance(ancestor, Queue):
            continue
        limit = ancestor.capability.get(resource)
        if limit is not None and limit.nano and ref != ROOT:
            return ancestor, limit
    return None


def moved(before: Queue | None, after: Queue) -> bool:
    """Whether the queue is new or gets another parent. Only then does Volcano's webhook check its place in the tree."""
    return before is None or before.parent != after.parent


def reshaped(before: Queue | None, after: Queue) -> bool:
    """Whether Volcano's webhook compares the amounts of the queue with those of its ancestors and descendants."""
    return (
        before is None
        or moved(before, after)
        or (before.capability, before.deserved, before.guarantee) != (after.capability, after.deserved, after.guarantee)
    )
