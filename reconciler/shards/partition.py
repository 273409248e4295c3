"""The trees that this process decides for, when several parts share a cluster.

A part decides for a tree if it holds every ClusterQueue of the tree, and no other part requests one of them. Claims
give each ClusterQueue one holder (`claims`). So two parts never decide for the same tree, even if their caches show
different shapes of it. If two trees have become one, no part decides until one part holds all ClusterQueues.

A tree with a topology in a flavor always belongs to the default part. Otherwise two parts could assign the same room on
a node before they observe each other's writes.

When a part gets a ClusterQueue from another part, it decides only after the Workloads have been listed again. The
other part may have written changes that the watch has not reported yet.

After a change of leader this part decides for a tree only when late writes of the previous leader can no longer reserve
its quota (`reconciler/core/leader_fencing.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconciler.objects.observed import Key, Observed
from reconciler.objects.stored import Stored
from reconciler.objects.watched import CLUSTER_QUEUE_VIEW, COHORT_VIEW
from reconciler.shards.claims import DEFAULT, LABEL, UNCLAIMED, TreeClaim, next_claim, read_claim
from scheduling.objects.workload import Workload
from scheduling.quota.node import QuotaNode, stored_below
from scheduling.quota.touched import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE
from scheduling.world.world import World

WORKLOAD = "Workload"
WORK_AT = "work at LocalQueue"
"""The kind in the keys of items that wait for future work at a LocalQueue. The API server has no such kind."""
_OF_ALL = frozenset(
    (
        "ResourceFlavor",
        "AdmissionCheck",
        "Topology",
        "MultiKueueCluster",
        "MultiKueueConfig",
        "ProvisioningRequestConfig",
    )
)
"""Kinds that belong to no tree. The default part manages them."""


@dataclass(frozen=True, slots=True)
class PartitionedTree:
    """A tree, and which part decides for it.

    `queues`: the names of its ClusterQueues.
    `wanted`: the part that its root names. A tree with topologies wants the default part, a cycle has None.
    `decides`: whether this process decides for the tree.
    """

    queues: tuple[str, ...]
    wanted: str | None
    decides: bool


@dataclass(frozen=True, slots=True)
class Changed:
    """The result of `refresh`.

    `gained`: ClusterQueues that this part now holds, or that this process now decides for.
    `freed`: objects that this process could not write before. Items may wait for them.
    """

    gained: Sequence[str] = ()
    freed: Sequence[Key] = ()


_NO_CHANGE = Changed()


class TreePartition:
    """The trees of the cluster. Observed objects have an effect from the next `refresh` on.

    `me`: the part of this process.
    `due`: ClusterQueues whose claim this part may have to change.
    `unfenced`: ClusterQueues whose quota a late write of the previous leader may reserve.
    `world.undecided`: the ClusterQueues that this process decides nothing for.
    """

    def __init__(self, world: World, me: str = DEFAULT) -> None:
        self.me = me
        self.claims: dict[str, TreeClaim] = {}
        self.due: dict[str, None] = {}
        self.unfenced: set[str] = set()
        self.trees: dict[Key, PartitionedTree] = {}
        self._world = world
        self._labels: dict[Key, str] = {}
        self._seen: dict[Key, tuple[object, ...]] = {}
        self._stale: dict[Key, None] = {}
        self._root_of: dict[str, Key] = {}
        self._held: set[str] = set()
        self._ours: set[str] = set()
        self._listing: dict[str, int] = {}
        self._lists = 0

    # --- observed changes

    def observe(self, observed: Observed[object]) -> None:
        """Process a ClusterQueue or a Cohort. Most changes are of its usage, which is not relevant here."""
        key = observed.key
        if observed.value is None:
            self._seen.pop(key, None)
            self._labels.pop(key, None)
            self.claims.pop(key[1], None) if key[0] == CLUSTER_QUEUE else None
            self._stale[key] = None
            return
        detail, is_queue = observed.stored or Stored(), key[0] == CLUSTER_QUEUE
        label, claim = detail.labels.get(LABEL, ""), read_claim(detail.status) if is_queue else UNCLAIMED
        seen = (_parent_of(observed), label, claim, _flavors(observed))
        if self._seen.get(key) == seen:
            return
        self._seen[key] = seen
        self._labels[key] = label
        if is_queue:
            self.claims[key[1]] = claim
        self._stale[key] = None

    def topologies_changed(self) -> None:
        """A flavor now has another topology, or no topology any more."""
        self._judge_all_again()

    def fence(self, queues: Iterable[str]) -> None:
        """Late writes may reserve quota of these ClusterQueues, and of no others."""
        self.unfenced = set(queues)
        self._judge_all_again()

    def fenced(self, queue: str) -> None:
        """Late writes can no longer reserve quota of this ClusterQueue."""
        self.unfenced.discard(queue)
        self._stale[CLUSTER_QUEUE, queue] = None
        if self._world.uses_topologies(queue) and self._places_fenced():
            self._judge_all_again()

    def _places_fenced(self) -> bool:
        """Whether no late write can place pods. All trees with topologies share the nodes."""
        return not any(map(self._world.uses_topologies, self.unfenced))

    def _judge_all_again(self) -> None:
        self._stale.update(dict.fromkeys((CLUSTER_QUEUE, name) for name in self.claims))

    def lead(self) -> None:
        """This process leads from now on. Earlier leaders may have changed claims that the cache does not have yet."""
        self._held.clear()
        self._listing.clear()
        self._lists += 1
        self._judge_all_again()

    # --- the trees

    def refresh(self) -> Changed:
        if not self._stale:
            return _NO_CHANGE
        changed, self._stale = self._stale, {}
        names = {*self._queues_below(changed)}
        stale = {self._root_of[name] for name in names if name in self._root_of}
        names.update(name for root in stale for name in self.trees.pop(root).queues)
        roots: dict[QuotaNode, None] = {}
        for name in sorted(names):
            node = self._world.state.tree.queues.get(name)
            if node is None:
                self._forget(name)
            else:
                roots[self._root(node)] = None
        gained = [name for root in roots for name in self._judge(root)]
        cohorts = (node for root in roots for node in stored_below(root) if not node.is_queue)
        return Changed(gained, [*self.waiting_for(gained), *((COHORT, node.name) for node in cohorts)])

    def _root(self, node: QuotaNode) -> QuotaNode:
        """The root of a node. On or below a cycle there is no root; one Cohort of the cycle stands for it."""
        cycle = self._world.state.tree.broken(node)
        return min(cycle, key=lambda each: each.name) if cycle else node.root

    def _queues_below(self, keys: Iterable[Key]) -> Iterator[str]:
        """The ClusterQueues among these nodes and below them."""
        for kind, name in keys:
            if kind == CLUSTER_QUEUE:
                yield name
            elif (cohort := self._world.state.tree.cohorts.get(name)) is not None:
                yield from (node.name for node in stored_below(cohort) if node.is_queue)

    def _judge(self, root: QuotaNode) -> list[str]:
        """Find out which part decides for a tree. Returns the ClusterQueues that this part gains."""
        key = (CLUSTER_QUEUE if root.is_queue else COHORT, root.name)
        queues = tuple(sorted(node.name for node in stored_below(root) if node.is_queue))
        for name in queues:
            self._hold(name)
        contested = any(self._claim(name).requester for name in queues)
        placed = any(map(self._world.uses_topologies, queues))
        named = DEFAULT if placed else self._labels.get(key) or DEFAULT
        fenced = self.unfenced.isdisjoint(queues) and (not placed or self._places_fenced())
        allowed = fenced and not contested and not (placed and self.me != DEFAULT)
        wanted = None if root.on_cycle else named
        tree = self.trees[key] = PartitionedTree(queues, wanted, allowed and self._held.issuperset(queues))
        gained = []
        for name in queues:
            self._root_of[name] = key
            self._note_due(name, tree)
            before = (name in self._ours, name not in self._world.undecided)
            (self._ours.add if self._claim(name).part == self.me else self._ours.discard)(name)
            (self._world.undecided.discard if tree.decides else self._world.undecided.add)(name)
            if (name in self._ours, tree.decides) > before:
                gained.append(name)
        return gained

    def _hold(self, name: str) -> None:
        """Update whether this part holds the ClusterQueue.

        An unclaimed ClusterQueue belongs to the default part at once. A claimed one waits for a list of Workloads.
        """
        claim = self._claim(name)
        if claim.part != self.me:
            self._held.discard(name)
            self._listing.pop(name, None)
        elif not claim.in_status:
            self._held.add(name)
        elif name not in self._held:
            self._listing.setdefault(name, 0)

    def _note_due(self, name: str, tree: PartitionedTree) -> None:
        if next_claim(self._claim(name), tree.wanted, self.me, idle=True) is not None:
            self.due[name] = None
        else:
            self.due.pop(name, None)

    def _claim(self, name: str) -> TreeClaim:
        return self.claims.get(name, UNCLAIMED)

    def _forget(self, name: str) -> None:
        self._root_of.pop(name, None)
        self._held.discard(name)
        self._ours.discard(name)
        self._listing.pop(name, None)
        self.due.pop(name, None)
        self._world.undecided.discard(name)

    def counts(self) -> Mapping[tuple[str, bool], int]:
        """The number of ClusterQueues by the part that holds them, and by whether that part decides for the tree.

        May be called from any thread; the numbers may be slightly out of date.
        """
        found: Counter[tuple[str, bool]] = Counter()
        for tree in [*self.trees.values()]:
            claims = [self._claim(name) for name in tree.queues]
            agreed = len({claim.part for claim in claims}) == 1 and not any(claim.requester for claim in claims)
            found.update((claim.part, agreed) for claim in claims)
        return found

    def tree_of(self, queue: str) -> PartitionedTree | None:
        root = self._root_of.get(queue)
        return self.trees.get(root) if root is not None else None

    # --- lists

    def ask_for_list(self) -> int:
        """The number of a list of all Workloads to begin now; 0 if none is needed, or one is in progress.

        The number is negative, because no new leader waits for this list; see `ListProgress.ask`.
        """
        waiting = [name for name, number in self._listing.items() if not number]
        if not waiting or any(self._listing.values()):
            return 0
        self._lists += 1
        self._listing.update(dict.fromkeys(waiting, self._lists))
        return -self._lists

    def listed(self, request: int) -> None:
        """The requested list was processed."""
        for name in [name for name, number in self._listing.items() if 0 < number == -request]:
            del self._listing[name]
            self._held.add(name)
            self._stale[CLUSTER_QUEUE, name] = None

    # --- which part manages an object

    def holds(self, queue: str) -> bool:
        """Whether this part may write the statuses of the ClusterQueue and its LocalQueues. It may not decide yet."""
        return self._claim(queue).part == self.me if queue in self._world.state.queues else self.me == DEFAULT

    def decides(self, queue: str) -> bool:
        """Whether this process decides for the ClusterQueue's work.

        A ClusterQueue that does not exist is the default part's.
        """
        if queue in self._root_of:
            return queue not in self._world.undecided
        return self.me == DEFAULT and self._claim(queue) == UNCLAIMED

    def queue_of(self, workload: Workload) -> str:
        """The ClusterQueue in which the Workload has quota, otherwise the one in which it waits; empty for none."""
        if workload.reserved and workload.admission is not None:
            return workload.admission.cluster_queue
        return self.behind(workload.local_queue)

    def behind(self, local_queue: str) -> str:
        """The ClusterQueue that the LocalQueue (`namespace/name`) points to; empty if there is no such LocalQueue."""
        local = self._world.queues.local_queues.get(local_queue)
        return local.cluster_queue if local is not None else ""

    def away(self, kind: str, name: str) -> bool:
        """Whether this process must not write the object, because another part manages it, or no part does now."""
        if kind == WORKLOAD:
            workload = self._world.workloads.get(name)
            return workload is not None and not self.decides(self.queue_of(workload))
        if kind == WORK_AT:
            return not self.decides(self.behind(name))
        if kind == CLUSTER_QUEUE:
            return not self.holds(name)
        if kind == LOCAL_QUEUE:
            return not self.holds(self.behind(name))
        if kind == COHORT:
            return not self._reports(name)
        return kind in _OF_ALL and self.me != DEFAULT

    def _reports(self, cohort: str) -> bool:
        """Whether this process writes the status of the Cohort.

        If no part decides for the tree, the default part writes it.
        """
        node = self._world.state.tree.cohorts.get(cohort)
        tree = self.trees.get((COHORT, self._root(node).name)) if node is not None else None
        if tree is None:
            return self.me == DEFAULT
        holders = {self._claim(name).part for name in tree.queues}
        return self.me in holders if len(holders) == 1 else self.me == DEFAULT

    def waiting_for(self, queues: Iterable[str]) -> Iterator[Key]:
        """The keys of all objects that items may wait for until this process decides for these ClusterQueues."""
        world = self._world
        for name in queues:
            yield CLUSTER_QUEUE, name
            for workload in world.workloads_in(name):
                yield WORKLOAD, workload.key
            for local in world.queues.local_queues_of(name):
                yield LOCAL_QUEUE, local
                yield from self.at_local_queue(local)

    def at_local_queue(self, local: str) -> Iterator[Key]:
        """The keys of present and future work that names the LocalQueue."""
        yield WORK_AT, local
        for workload in (*self._world.queues.waiting_at(local), *self._world.queues.kept_out_at(local)):
            yield WORKLOAD, workload.key


def _parent_of(observed: Observed[object]) -> str | None:
    """The Cohort that a ClusterQueue or a Cohort names as its parent."""
    queue, cohort = CLUSTER_QUEUE_VIEW.value(observed), COHORT_VIEW.value(observed)
    return queue[0].cohort if queue is not None else cohort.parent if cohort is not None else None


def _flavors(observed: Observed[object]) -> tuple[str, ...]:
    """The flavors of a ClusterQueue; a Cohort has none here."""
    queue = CLUSTER_QUEUE_VIEW.value(observed)
    return tuple(queue[0].flavors) if queue is not None else ()
