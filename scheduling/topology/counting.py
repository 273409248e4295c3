"""Counts how many pods and slices each domain has room for.

The counts of a kind of pods are kept between placements. Only domains whose room changed, and their ancestors, are
counted again.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from scheduling.objects.amounts import add_to
from scheduling.topology.assignment import DomainId
from scheduling.topology.domains import Domain, LowestDomain, RoomDomain, TopologyTree
from scheduling.topology.node_filter import NodeFilter

PODS = "pods"
UNBOUNDED = 2**31 - 1
"""The count for pods that request nothing."""

NO_ROOM = -1
"""In place of a number of slices: not even the short slice fits."""

_KEPT = 16
"""The number of kinds whose counts are kept for a flavor. With 5 000 nodes, each takes about a megabyte."""

PodRequest: TypeAlias = tuple[tuple[str, int], ...]
"""The requests of one pod, sorted by resource, with 1 of `pods`."""
Counts: TypeAlias = dict[Domain, int]
Assumed: TypeAlias = Mapping[DomainId, Mapping[str, int]]
"""Usage that the tree does not count yet, by domain and resource."""


def pod_request(requests: Mapping[str, int]) -> PodRequest:
    """The requests of one pod, with 1 of `pods` for the pod itself."""
    return tuple(sorted({**requests, PODS: requests.get(PODS, 0) + 1}.items()))


@dataclass(frozen=True, slots=True)
class PodKind:
    """The inputs of the counts, apart from the state of the cluster. Pods of equal kinds share their counts.

    worker: the requests of one pod.
    leader: the requests of the single pod in the smaller set of a group; None if there is none.
    filter: the nodes that may be used; None means all.
    slice_level: the level at which a slice has to stay in one domain.
    slice_size: the number of pods in a slice.
    sizes: for each level, the number of which the pods of a domain have to be a multiple; 1 for no restriction.
    empty: count as if no workload had places.
    short: the number of pods in the short slice; 0 if all slices are whole.
    leader_filter: the nodes that the leader may use. None: those of the workers, whatever its own template says.
    """

    worker: PodRequest
    leader: PodRequest | None
    filter: NodeFilter | None
    slice_level: int
    slice_size: int
    sizes: tuple[int, ...]
    empty: bool = False
    short: int = 0
    leader_filter: NodeFilter | None = None

    def beside_short(self, pods: int) -> int:
        """How many whole slices fit beside the short one in this room; NO_ROOM if the short one does not fit."""
        return (pods - self.short) // self.slice_size if pods >= self.short else NO_ROOM


class RoomLimit(NamedTuple):
    """The room of a domain by its own total. The usage of workloads there counts in the domain, not on its nodes.

    pods: the room without the leader.
    lead: 1 if the leader fits.
    led_pods: the room beside the leader, if the leader fits.
    """

    pods: int
    lead: int
    led_pods: int


@dataclass(slots=True)
class DomainCounts:
    """The room of each domain.

    pods, slices: the room without the leader. `slices` is 0 below the level of slices.
    led_pods, led_slices: the room beside the leader. Without a leader in the group they equal the two above.
    lead: 1 if the leader fits; empty without a leader in the group.
    short, led_short: the whole slices that fit beside the short one, without and with the leader; NO_ROOM if the short
        slice does not fit. Empty if there is no short slice, and below the level of slices.
    score: the weight of matching preferred terms; empty if they do not count.
    limits: the limits of the lowest domains that assignments name, if each of their nodes is a further domain.
    """

    kind: PodKind
    pods: Counts = field(default_factory=dict)
    slices: Counts = field(default_factory=dict)
    led_pods: Counts = field(default_factory=dict)
    led_slices: Counts = field(default_factory=dict)
    lead: Counts = field(default_factory=dict)
    score: Counts = field(default_factory=dict)
    short: Counts = field(default_factory=dict)
    led_short: Counts = field(default_factory=dict)
    limits: dict[Domain, RoomLimit] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        if self.kind.leader is None:
            self.led_pods, self.led_slices, self.led_short = self.pods, self.slices, self.short

    def copy(self) -> DomainCounts:
        return DomainCounts(self.kind, *(dict(each) for each in self._every()), limits=dict(self.limits))

    def _every(self) -> tuple[Counts, ...]:
        led = (self.led_pods, self.led_slices, self.lead)
        return self.pods, self.slices, *led, self.score, self.short, self.led_short

    # -- lowest domains ------------------------------------------------------------------------------------------------

    def count_lowest(self, domains: Iterable[LowestDomain], assumed: Assumed, within: Domain | None = None) -> None:
        """Count the lowest domains.

        assumed: further usage, which is subtracted.
        within: domains outside of this one count as full.
        """
        kind = self.kind
        usable, excluded = _split(domains, kind, within)
        free = _Columns(_rooms(usable, kind, assumed))
        pods = free.fitting(kind.worker)
        self.pods.update(dict.fromkeys(excluded, 0))
        self.pods.update(zip(usable, pods, strict=True))
        if kind.leader is not None:
            self._count_leader(usable, excluded, free, pods)
            self._count_leader_alone([each for each in excluded if within is None or each.is_within(within)], assumed)
        if kind.filter is not None and kind.filter.preferred:
            self.score.update(dict.fromkeys(excluded, 0))
            scores = kind.filter.scores([domain.node for domain in usable])
            self.score.update(zip(usable, scores, strict=True))
        size = kind.slice_size if kind.slice_level == len(kind.sizes) - 1 else 0
        for slices, of in self._pairs():
            slices.update(dict.fromkeys(excluded, 0))
            slices.update({domain: of[domain] // size for domain in usable} if size else dict.fromkeys(usable, 0))
        if kind.short and size:
            for domain in (*usable, *excluded):
                self._count_short_within(domain)

    def _count_leader(
        self, usable: list[LowestDomain], excluded: list[LowestDomain], free: _Columns, pods: list[int]
    ) -> None:
        leader = self.kind.leader or ()
        obstacles = _obstacles(self.kind.leader_filter, usable)
        hosts = [
            1 if fits and not obstacle else 0 for fits, obstacle in zip(free.fitting(leader), obstacles, strict=True)
        ]
        beside = free.fitting(self.kind.worker, dict(leader))
        for counts in (self.lead, self.led_pods):
            counts.update(dict.fromkeys(excluded, 0))
        self.lead.update(zip(usable, hosts, strict=True))
        both = zip(hosts, beside, pods, strict=True)
        self.led_pods.update(zip(usable, (led if host else alone for host, led, alone in both), strict=True))

    def _count_leader_alone(self, excluded: list[LowestDomain], assumed: Assumed) -> None:
        """Count the leader on nodes that the workers may not use."""
        asked = self.kind.leader_filter
        if asked is None:
            return
        usable = [
            domain for domain, obstacle in zip(excluded, _obstacles(asked, excluded), strict=True) if not obstacle
        ]
        rooms = _Columns(_rooms(usable, self.kind, assumed)).fitting(self.kind.leader or ())
        self.lead.update(zip(usable, (1 if room else 0 for room in rooms), strict=True))

    # -- domains with children -----------------------------------------------------------------------------------------

    def count_above(self, domain: Domain, *, rounded: bool = True) -> None:
        """Count a domain from its children. rounded: whether their pods are rounded down to the sizes of layers."""
        kind, below = self.kind, domain.children
        size = kind.sizes[domain.level + 1] if rounded else 1
        pods = _rounded(self.pods, below, size)
        self.pods[domain] = total = sum(pods)
        self.slices[domain] = slices = sum(map(self.slices.__getitem__, below))
        if self.score:
            self.score[domain] = sum(map(self.score.__getitem__, below))
        if kind.leader is not None:
            self._count_led(domain, pods, _rounded(self.led_pods, below, size), total, slices)
        if domain in self.limits:
            self._limit(domain, self.limits[domain])
        if domain.level == kind.slice_level:
            for found, of in self._pairs():
                found[domain] = of[domain] // kind.slice_size
        if kind.short and domain.level == kind.slice_level:
            self._count_short_within(domain)
        elif kind.short and domain.level < kind.slice_level:
            self._count_short_below(domain)

    def _limit(self, domain: Domain, limit: RoomLimit) -> None:
        self.pods[domain] = min(self.pods[domain], limit.pods)
        if self.kind.leader is not None:
            self.lead[domain] = min(self.lead[domain], limit.lead)
            self.led_pods[domain] = min(max(0, self.led_pods[domain]), limit.led_pods)

    def _count_limits(self, domains: Iterable[Domain], assumed: Assumed) -> None:
        """Store the limits of those of these domains that have room of their own."""
        named = [domain for domain in domains if isinstance(domain, RoomDomain)]
        free = _Columns(_rooms(named, self.kind, assumed))
        pods = free.fitting(self.kind.worker)
        leader = self.kind.leader
        lead = [min(1, room) for room in free.fitting(leader)] if leader is not None else [0] * len(named)
        beside = free.fitting(self.kind.worker, dict(leader)) if leader is not None else pods
        for domain, alone, hosts, led in zip(named, pods, lead, beside, strict=True):
            self.limits[domain] = RoomLimit(alone, hosts, led if hosts else alone)

    def _count_led(self, domain: Domain, pods: list[int], led: list[int], total: int, slices: int) -> None:
        """Count the room beside the leader, which goes into the child that loses least."""
        hosts = [at for at, child in enumerate(domain.children) if self.lead[child]]
        self.lead[domain] = 1 if hosts else 0
        if not hosts:
            self.led_pods[domain] = self.led_slices[domain] = 0
            return
        children = domain.children
        self.led_pods[domain] = total - min(pods[at] - led[at] for at in hosts)
        lost = (self.slices[children[at]] - self.led_slices[children[at]] for at in hosts)
        self.led_slices[domain] = slices - min(lost)

    def _count_short_within(self, domain: Domain) -> None:
        """Count the room beside the short slice at the level of slices, where the slice stays in this domain."""
        self.short[domain] = self.kind.beside_short(self.pods[domain])
        if self.kind.leader is not None:
            self.led_short[domain] = self.kind.beside_short(self.led_pods[domain])

    def _count_short_below(self, domain: Domain) -> None:
        """Count the room beside the short slice, which goes into the child that loses least.

        The leader goes into the same child or into another one, whichever costs less.
        """
        slices, total = self.slices, self.slices[domain]
        lost = [(slices[child] - self.short[child], child) for child in domain.children if self.short[child] >= 0]
        self.short[domain] = total - min(cost for cost, _ in lost) if lost else NO_ROOM
        if self.kind.leader is None:
            return
        hosts = [child for child in domain.children if self.lead[child]]
        led = [(slices[child] - self.led_slices[child], child) for child in hosts]
        both = [slices[child] - self.led_short[child] for child in hosts if self.led_short[child] >= 0]
        both += apart(led, lost)
        self.led_short[domain] = total - min(both) if both else NO_ROOM

    def _pairs(self) -> list[tuple[Counts, Counts]]:
        pairs = [(self.slices, self.pods)]
        return pairs if self.kind.leader is None else [*pairs, (self.led_slices, self.led_pods)]

    def count_all(self, tree: TopologyTree, assumed: Assumed, within: Domain | None = None) -> None:
        self.count_lowest(tree.lowest(), assumed, within)
        if tree.nodes_below:
            self._count_limits(tree.at_level(tree.lowest_level - 1), assumed)
        for level in range(tree.lowest_level - 1, -1, -1):
            for domain in tree.at_level(level):
                self.count_above(domain)

    def count_again(self, tree: TopologyTree, changed: Iterable[RoomDomain], assumed: Assumed) -> None:
        """Count these domains and their ancestors. Forget those that are no longer in the tree."""
        present = []
        above: list[set[Domain]] = [set() for _ in range(tree.lowest_level)]
        for domain in changed:
            for each in domain.ancestors():
                above[each.level].add(each)
            if not isinstance(domain, LowestDomain):
                above[domain.level].add(domain)
            elif tree.holds(domain):
                present.append(domain)
            else:
                self._forget(domain)
        self.count_lowest(present, assumed)
        if tree.nodes_below:
            self._count_limits(filter(tree.holds, above[-1]), assumed)
        for domains in reversed(above):
            for each in domains:
                if tree.holds(each):
                    self.count_above(each)
                else:
                    self._forget(each)

    def _forget(self, domain: Domain) -> None:
        for counts in self._every():
            counts.pop(domain, None)
        self.limits.pop(domain, None)


class KeptCounts:
    """The counts of the most recently used kinds of pods, updated with the tree."""

    def __init__(self, tree: TopologyTree) -> None:
        self._tree = tree
        self._counts: OrderedDict[PodKind, DomainCounts] = OrderedDict()  # counts by kind, the most recently used last
        self._changed: dict[PodKind, set[RoomDomain]] = {}  # by kind: domains to count again
        tree.listeners.append(self._note)

    def of(self, kind: PodKind, assumed: Assumed, within: Domain | None = None) -> DomainCounts:
        """The counts of this kind. The caller must not change them.

        assumed: further usage, by domain.
        within: domains outside of this one count as full. Such counts are not kept.
        """
        if within is not None:
            counts = DomainCounts(kind)
            counts.count_all(self._tree, assumed, within)
            return counts
        kept = self._kept(kind)
        touched = [domain for domain in map(self._tree.with_room, assumed) if domain is not None]
        if touched:
            kept = kept.copy()
            kept.count_again(self._tree, touched, assumed)
        return kept

    def _kept(self, kind: PodKind) -> DomainCounts:
        found = self._counts.get(kind)
        if found is None:
            found = self._counts[kind] = DomainCounts(kind)
            found.count_all(self._tree, {})
            self._changed[kind] = set()
            if len(self._counts) > _KEPT:
                oldest, _ = self._counts.popitem(last=False)
                del self._changed[oldest]
            return found
        self._counts.move_to_end(kind)
        changed = self._changed[kind]
        if changed:
            found.count_again(self._tree, changed, {})
            changed.clear()
        return found

    def _note(self, domain: RoomDomain) -> None:
        """Mark the domain to be counted again. A kind for which most domains are marked is forgotten.

        So a kind that no longer occurs does not keep the domains of all nodes that have gone since.
        """
        for kind, changed in [*self._changed.items()]:
            changed.add(domain)
            if len(changed) > self._tree.size:
                del self._counts[kind], self._changed[kind]


def cheapest(costs: Iterable[tuple[int, Domain]]) -> list[tuple[int, Domain]]:
    """The two domains with the lowest costs."""
    return nsmallest(2, costs, key=itemgetter(0))


def apart(one: Iterable[tuple[int, Domain]], other: Iterable[tuple[int, Domain]]) -> list[int]:
    """The total costs of placing two items in two different domains, lowest first; empty if there is no such pair.

    one, other: the costs of each item by domain. The two cheapest domains of each are enough.
    """
    theirs = cheapest(other)
    return sorted(cost + more for cost, domain in cheapest(one) for more, another in theirs if domain is not another)


def exclusions(tree: TopologyTree, kind: PodKind, assumed: Assumed, within: Domain | None) -> Counter[str]:
    """The number of lowest domains without room, by the reason in Kueue's words."""
    domains = [*tree.lowest()]
    obstacles = _obstacles(kind.filter, domains)
    found = Counter(
        obstacle or _exclusion(domain, kind, assumed, within)
        for domain, obstacle in zip(domains, obstacles, strict=True)
    )
    del found[""]
    return found


def _exclusion(domain: LowestDomain, kind: PodKind, assumed: Assumed, within: Domain | None) -> str:
    if within is not None and not domain.is_within(within):
        return "topologyDomain"
    short = shortest(room(domain, kind, assumed), kind.worker)
    return f'resource "{short}"' if short else ""


def shortest(rest: Mapping[str, int], request: PodRequest) -> str:
    """The first resource by name that is short for one pod; empty if none is."""
    return next((resource for resource, amount in request if amount > max(0, rest.get(resource, 0))), "")


def room(domain: RoomDomain, kind: PodKind, assumed: Assumed) -> Mapping[str, int]:
    rest = domain.free if kind.empty else domain.remain
    if domain.id in assumed:
        rest = dict(rest)
        add_to(rest, assumed[domain.id], -1)
    return rest


def _split(
    domains: Iterable[LowestDomain], kind: PodKind, within: Domain | None
) -> tuple[list[LowestDomain], list[LowestDomain]]:
    """The domains that pods of this kind may use, and the others."""
    usable: list[LowestDomain] = []
    excluded: list[LowestDomain] = []
    domains = [*domains]
    for domain, obstacle in zip(domains, _obstacles(kind.filter, domains), strict=True):
        fits = not obstacle and (within is None or domain.is_within(within))
        (usable if fits else excluded).append(domain)
    return usable, excluded


def _obstacles(asked: NodeFilter | None, domains: Sequence[LowestDomain]) -> list[str]:
    """Why each of the domains may not be used; empty if it may."""
    return asked.obstacles([domain.node for domain in domains]) if asked is not None else [""] * len(domains)


def _rooms(domains: Sequence[RoomDomain], kind: PodKind, assumed: Assumed) -> list[Mapping[str, int]]:
    if assumed:
        return [room(domain, kind, assumed) for domain in domains]
    return [domain.free for domain in domains] if kind.empty else [domain.remain for domain in domains]


class _Columns:
    """The room of many domains by resource. Counting by resource is several times faster than by domain."""

    def __init__(self, rooms: list[Mapping[str, int]]) -> None:
        self._rooms = rooms
        self._columns: dict[str, list[int]] = {}

    def fitting(self, request: PodRequest, beside: Mapping[str, int] | None = None) -> list[int]:
        """The number of pods that fit into each domain, beside the amounts `beside`."""
        counts = []
        for resource, amount in request:
            if amount:
                taken, column = beside.get(resource, 0) if beside else 0, self._column(resource)
                fitting = {free: (free - taken) // amount for free in set(column)}  # many nodes have equal amounts
                counts.append(list(map(fitting.__getitem__, column)))
        least = counts[0] if len(counts) == 1 else list(map(min, *counts))
        if min(least, default=0) < 0 or max(least, default=0) > UNBOUNDED:
            return [max(0, min(count, UNBOUNDED)) for count in least]
        return least

    def _column(self, resource: str) -> list[int]:
        found = self._columns.get(resource)
        if found is None:
            try:
                found = list(map(itemgetter(resource), self._rooms))
            except KeyError:  # zero amounts are not stored
                found = [rest.get(resource, 0) for rest in self._rooms]
            self._columns[resource] = found
        return found


def _rounded(counts: Counts, domains: list[Domain], size: int) -> list[int]:
    found = list(map(counts.__getitem__, domains))
    return found if size == 1 else [count - count % size for count in found]
