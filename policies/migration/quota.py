"""Computes the quota of each queue in Kueue, so that it may use as much as in the source scheduler, and no more.

For each resource, let G be the guaranteed amount of a queue with its descendants, H its quota, and M its limit. Then

    nominalQuota    = H minus the H of its children, since Kueue adds a Cohort's own quota to that of its children
    lendingLimit    = H minus G, since the guaranteed amount is never lent
    borrowingLimit  = M minus H

With these, Kueue lets a subtree use at most M, and each queue can always use its G. If the source promises more than
the limit of an ancestor allows, H is cut. A limit that can never be reached is left out.
docs/migrate.md describes the result for users.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policies.migration.model import KueueAmounts
from policies.migration.tree import SourceTree
from policies.model.pools import Terms


@dataclass(frozen=True, slots=True)
class Cut:
    """A queue that gets less quota than the source promises, because of the limits of its ancestors."""

    name: str
    resource: str
    wanted: int
    granted: int


@dataclass(frozen=True, slots=True)
class UnreachableLimit:
    """A limit (`most`) above the amount that the whole tree could give to the queue (`reach`)."""

    name: str
    resource: str
    most: int
    reach: int


@dataclass(frozen=True, slots=True)
class QuotaTerms:
    """The result.

    `terms`: the quota and limits, by queue and resource.
    `lenders`: the queues that lend quota, or whose ancestor below the root does.
    `cuts`, `unreachable`: what differs from the source.
    """

    terms: dict[str, dict[str, Terms]]
    lenders: frozenset[str]
    cuts: tuple[Cut, ...]
    unreachable: tuple[UnreachableLimit, ...]


def quota(tree: SourceTree, resources: list[str], totals: KueueAmounts) -> QuotaTerms:
    """Compute the quota of a tree. `totals`: the quota of the root, which else is the sum of its children."""
    terms: dict[str, dict[str, Terms]] = {name: {} for name in tree.order}
    cuts: list[Cut] = []
    unreachable: list[UnreachableLimit] = []
    lending: set[str] = set()
    for resource in resources:
        one = _OfResource(tree, resource, totals.get(resource))
        for name in tree.order:
            terms[name][resource] = one.terms(name)
        cuts += one.cuts.values()
        unreachable += one.unreachable()
        lending |= set(one.lenders())
    return QuotaTerms(terms, frozenset(lending), tuple(cuts), tuple(unreachable))


class _OfResource:
    """The quota of one resource. In the terms of the module, `kept` is G, `granted` is H and `most` is M."""

    def __init__(self, tree: SourceTree, resource: str, total: int | None) -> None:
        self.tree, self.resource, self.total = tree, resource, total
        self.most = {name: tree.queues[name].most.get(resource) for name in tree.order}
        self.kept: dict[str, int] = {}
        self.granted: dict[str, int] = {}
        self.cuts: dict[str, Cut] = {}
        self._add_up()
        for name in tree.order:
            self._share_out(name)
        self.kept_below = {name: self._kept_below(name) for name in tree.order}
        self.leaves = self._count_leaves()
        self.reach = {tree.root: self.granted[tree.root]}
        self._compute_reach()

    def terms(self, name: str) -> Terms:
        """The quota and limits of a queue. Root has no limits, since it has no parent to borrow from or lend to."""
        nominal = self.granted[name] - sum(self.granted[child] for child in self.tree.children[name])
        if name == self.tree.root:
            return Terms(nominal)
        most = self.most[name]
        borrowing = most - self.granted[name] if most is not None and most <= self._offered(name) else None
        keeps = self.kept[name] > self.kept_below[name] and self.leaves[name] < self.leaves[self.tree.root]
        return Terms(nominal, borrowing, self.granted[name] - self.kept[name] if keeps else None)

    def unreachable(self) -> Iterator[UnreachableLimit]:
        for name in self.tree.order[1:]:
            most, offered = self.most[name], self._offered(name)
            if most is not None and most > offered:
                yield UnreachableLimit(name, self.resource, most, offered)

    def lenders(self) -> Iterator[str]:
        lending: set[str] = set()
        for name in self.tree.order[1:]:
            if self.granted[name] > self.kept[name] or self.tree.parent(name) in lending:
                lending.add(name)
                yield name

    # -- promises, from the leaves up -------------------------------------------------------------------------------

    def _add_up(self) -> None:
        """Compute G and H of each queue: at least the sums of its children, and at most its limit."""
        for name in reversed(self.tree.order):
            queue = self.tree.queues[name]
            kept = max(queue.guarantee.get(self.resource, 0), self._kept_below(name))
            granted = max(queue.deserved.get(self.resource, 0), kept, self._granted_below(name))
            most = self.most[name]
            if name == self.tree.root and self.total is not None:
                granted = self.total
            elif most is not None and most < granted:
                self._cut(name, granted, most)
                granted = most
            self.kept[name], self.granted[name] = min(kept, granted), granted

    def _kept_below(self, name: str) -> int:
        return sum(self.kept[child] for child in self.tree.children[name])

    def _granted_below(self, name: str) -> int:
        return sum(self.granted[child] for child in self.tree.children[name])

    # -- cuts, from the root down -----------------------------------------------------------------------------------

    def _share_out(self, name: str) -> None:
        """Cut the children to the quota of the queue, in proportion; guarantees only if the rest is not enough."""
        children, room = self.tree.children[name], self.granted[name]
        kept, granted = self._kept_below(name), self._granted_below(name)
        if granted <= room:
            return
        for child in children:
            wanted, own = self.granted[child], self.kept[child]
            beyond = (wanted - own) * (room - kept) // (granted - kept) if kept <= room else 0
            now = own + beyond if kept <= room else own * room // kept
            self.kept[child], self.granted[child] = min(own, now), now
            if now < wanted:
                self._cut(child, wanted, now)

    def _cut(self, name: str, wanted: int, granted: int) -> None:
        before = self.cuts.get(name)
        self.cuts[name] = Cut(name, self.resource, before.wanted if before else wanted, granted)

    # -- reach ------------------------------------------------------------------------------------------------------

    def _count_leaves(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for name in reversed(self.tree.order):
            below = sum(found[child] for child in self.tree.children[name])
            found[name] = below + self.tree.is_leaf(name)
        return found

    def _compute_reach(self) -> None:
        """Compute the most that each subtree could use if all others were idle."""
        for name in self.tree.order[1:]:
            most, offered = self.most[name], self._offered(name)
            self.reach[name] = offered if most is None else min(most, offered)

    def _offered(self, name: str) -> int:
        """The most that the parent could give: its reach without the guaranteed amounts of the siblings."""
        parent = self.tree.parent(name)
        return self.reach[parent] - self.kept_below[parent] + self.kept[name]
