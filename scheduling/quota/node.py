"""A node of the quota tree: its quota, its sums, and how much it can use by the limits up to the root.

Amounts are integers as Kueue counts them (milli-CPU, whole units of everything else), separate for each pair of flavor
and resource. Source: Kueue v0.19, pkg/cache/scheduler/resource_node.go; KEP-79.

S: subtree quota. U: usage. lq: local quota, the part of S that only the subtree itself may use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from policies.model.pools import NO_TERMS, UNLIMITED, Terms, local_quota, minus, plus
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.queue_settings import UNIT_WEIGHT


@dataclass(slots=True, eq=False, repr=False)
class QuotaNode:
    """A ClusterQueue or Cohort in the tree. Only `QuotaTree` changes it.

    explicit: it has an object. An implicit Cohort has no quota.
    parent: the parent as stored.
    up: the node to which its amounts are added. None for a root, and for nodes on a cycle, whose sums would not end.
    weight: fairSharing.weight in units of 1e-9.
    terms: its own quota and limits by pair.
    lent_below: the sum of what its children lend.
    subtree, local, usage: S, lq and U by pair.
    borrowers: by pair, the children whose U exceeds their S.
    """

    name: str
    is_queue: bool
    explicit: bool = False
    parent: QuotaNode | None = None
    up: QuotaNode | None = None
    on_cycle: bool = False
    queues: dict[str, QuotaNode] = field(default_factory=dict)
    cohorts: dict[str, QuotaNode] = field(default_factory=dict)
    terms: Mapping[FlavorResource, Terms] = field(default_factory=dict)
    lent_below: dict[FlavorResource, int] = field(default_factory=dict)
    subtree: dict[FlavorResource, int] = field(default_factory=dict)
    local: dict[FlavorResource, int] = field(default_factory=dict)
    usage: dict[FlavorResource, int] = field(default_factory=dict)
    borrowers: dict[FlavorResource, dict[QuotaNode, None]] = field(default_factory=dict)
    tops_out: int | None = None
    weight: int = UNIT_WEIGHT

    def __repr__(self) -> str:
        return f"{'ClusterQueue' if self.is_queue else 'Cohort'} {self.name}"

    def path(self) -> list[QuotaNode]:
        """The nodes from this one up to its root, both included. The path ends at a cycle."""
        path, here = [self], self.up
        while here is not None:
            path.append(here)
            here = here.up
        return path

    @property
    def root(self) -> QuotaNode:
        here = self
        while here.up is not None:
            here = here.up
        return here

    def pairs(self) -> set[FlavorResource]:
        """The pairs with quota or usage in this subtree."""
        return {*self.subtree, *self.usage}

    def nominal(self, pair: FlavorResource) -> int:
        return self.terms.get(pair, NO_TERMS).nominal

    def used(self, pair: FlavorResource) -> int:
        return self.usage.get(pair, 0)

    def quota(self, pair: FlavorResource) -> int:
        """S. For a ClusterQueue this is the nominal quota."""
        return self.subtree.get(pair, 0)

    def lent(self, pair: FlavorResource) -> int:
        """S - lq: the quota that the rest of the tree may use."""
        return minus(self.subtree.get(pair, 0), self.local.get(pair, 0))

    def taken(self, pair: FlavorResource) -> int:
        """max(0, U - lq): the usage that also counts at its parent."""
        return max(0, self.usage.get(pair, 0) - self.local.get(pair, 0))

    def local_free(self, pair: FlavorResource) -> int:
        """max(0, lq - U): the free local quota."""
        return max(0, minus(self.local.get(pair, 0), self.usage.get(pair, 0)))

    def borrows(self, pair: FlavorResource, more: int = 0) -> bool:
        """Whether U + `more` is above S."""
        return self.quota(pair) < plus(self.used(pair), more)

    def height(self) -> int:
        """The number of levels below: 0 for a ClusterQueue, 1 for a Cohort with only ClusterQueues, and so on."""
        stack = [self]
        while stack:
            node = stack[-1]
            below = [cohort for cohort in node.cohorts.values() if cohort.up is node]
            unknown = [cohort for cohort in below if cohort.tops_out is None]
            if unknown:
                stack.extend(unknown)
                continue
            floor = 1 if node.queues or node.cohorts else 0
            node.tops_out = max(floor, *(1 + (cohort.tops_out or 0) for cohort in below), 0)
            stack.pop()
        return self.tops_out or 0

    def available(self, pair: FlavorResource) -> int:
        """How much more the subtree can use, by all limits up to the root. Negative if a node is over quota."""
        path = self.path()
        root = path.pop()
        free = minus(root.quota(pair), root.used(pair))
        for node in reversed(path):
            terms = node.terms.get(pair)
            if terms is not None and terms.borrowing is not None:
                free = min(free, node.room(pair))
            if pair in node.local:
                free = plus(node.local_free(pair), free)
        return free

    def free(self, pair: FlavorResource) -> int:
        """The largest amount that fits now: `available`, but at least 0.

        Only this result is limited to 0. On the path, a negative amount of an ancestor still counts.
        """
        return max(0, self.available(pair))

    def room(self, pair: FlavorResource) -> int:
        """How much the node may take from its parent by its own limits: unused lent quota plus the borrowing limit."""
        borrowing = self.terms.get(pair, NO_TERMS).borrowing
        if borrowing is None:
            return UNLIMITED
        return plus(minus(self.lent(pair), self.taken(pair)), borrowing)

    def potential(self, pair: FlavorResource) -> int:
        """The largest request that can ever fit: `available` if nothing is in use."""
        path = self.path()
        most = path.pop().quota(pair)
        for node in reversed(path):
            most = plus(node.local.get(pair, 0), most)
            borrowing = node.terms.get(pair, NO_TERMS).borrowing
            if borrowing is not None:
                most = min(most, plus(node.quota(pair), borrowing))
        return most

    def borrowing_level(self, pair: FlavorResource, amount: int) -> tuple[int, bool]:
        """The height of the lowest subtree whose own quota has room for `amount` more, and whether reclaim could help.

        The height is 0 if the node's own quota has room. Reclaim cannot help if only the whole tree has enough quota,
        or not even that.
        """
        if self.up is None or not self.borrows(pair, amount):
            return 0, self.up is not None
        rest = amount - self.local_free(pair)
        cohorts = self.path()[1:]
        for cohort in cohorts:
            if not cohort.borrows(pair, rest):
                return cohort.height(), cohort.up is not None
            rest -= cohort.local_free(pair)
        return cohorts[-1].height(), False

    def resettle(self, pair: FlavorResource) -> None:
        """Compute S and lq from the node's own quota and the quota that its children lend."""
        terms = self.terms.get(pair, NO_TERMS)
        subtree = plus(terms.nominal, min(self.lent_below.get(pair, 0), UNLIMITED))
        self.subtree[pair] = subtree
        local = local_quota(terms, subtree)
        if local:
            self.local[pair] = local
        else:
            self.local.pop(pair, None)


def stored_below(*nodes: QuotaNode) -> Iterator[QuotaNode]:
    """Yield the nodes and their descendants along the stored edges, each once, even on a cycle."""
    visited: set[QuotaNode] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node in visited:
            continue
        visited.add(node)
        stack.extend(node.cohorts.values())
        stack.extend(node.queues.values())
        yield node
