"""Places the pod sets of a workload in the topology of one flavor.

The result depends only on the tree, the usage and the pod sets. Equal domains are taken in path order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise

from policies.dialects.taints import Toleration
from scheduling.objects.amounts import add_to
from scheduling.topology.assignment import HOSTNAME, AssignedDomain, DomainId, TopologyAssignment, merged
from scheduling.topology.balanced import balanced
from scheduling.topology.choosing import DomainSearch, DomainShortage, Share
from scheduling.topology.counting import Assumed, DomainCounts, KeptCounts, PodKind, exclusions, pod_request
from scheduling.topology.domains import Domain, TopologyTree
from scheduling.topology.node_filter import ANY_NODE, NodeFilter
from scheduling.topology.refusals import fits_only, group_fault, layers_fit_only, request_fault, selector_fault
from scheduling.topology.request import TopologyRequest
from scheduling.topology.short_slice import short_last, short_slice, slices_whole
from scheduling.topology.shortage import ShortDomain, short_domain


@dataclass(frozen=True, slots=True)
class TopologyGates:
    """Kueue's feature gates that change a placement.

    mixed: TASProfileMixed.
    balanced: TASBalancedPlacement.
    preferred: TASRespectNodeAffinityPreferred.
    overlapping: TASHandleOverlappingFlavors.
    short_slices: TASPartialSlices, of Kueue 0.20.
    leader_filter: TASLeaderPodSetFeasibility, of Kueue 0.20.
    each_node: TASNodeFeasibilityForAllLevels, of Kueue 0.20.
    """

    mixed: bool = True
    balanced: bool = False
    preferred: bool = False
    overlapping: bool = True
    short_slices: bool = False
    leader_filter: bool = False
    each_node: bool = False


DEFAULT_GATES = TopologyGates()


@dataclass(frozen=True, slots=True)
class PlacedPods:
    """A pod set to place.

    requests: of one pod, in base units, without the pod itself.
    filter: the nodes that its template allows, with the tolerations of the flavor.
    previous: for a slice of an elastic job, the places of the slice from which it takes over; else None.
    conflict: why an update of its Ready checks contradicts its template; empty if none does.
    """

    name: str
    count: int
    requests: Mapping[str, int]
    request: TopologyRequest
    filter: NodeFilter = ANY_NODE
    previous: TopologyAssignment | None = None
    conflict: str = ""


@dataclass(slots=True)
class Placements:
    """The result by pod set. `refused`: why a pod set has no place. The pod sets after it were not tried."""

    assigned: dict[str, TopologyAssignment] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class FlavorTopology:
    """The topology of a flavor. `name`: of the Topology, for messages. `tolerations`: of the flavor."""

    name: str
    tree: TopologyTree
    tolerations: tuple[Toleration, ...] = ()
    gates: TopologyGates = DEFAULT_GATES
    _kept: KeptCounts = field(init=False)

    def __post_init__(self) -> None:
        self._kept = KeptCounts(self.tree)

    @property
    def assigned_levels(self) -> tuple[str, ...]:
        return (HOSTNAME,) if self.tree.by_host else self.tree.levels

    def place(
        self,
        pod_sets: Sequence[PlacedPods],
        used: dict[DomainId, dict[str, int]],
        *,
        empty: bool = False,
        previous_counts: bool = False,
    ) -> Placements:
        """Place the pod sets in their order, members of a group together.

        used: the usage of this workload in other flavors, by domain. Its usage in this flavor is added.
        empty: place as if no workload had places.
        previous_counts: whether the tree already counts the previous places. Kueue 0.19 counts them twice.
        """
        placements = Placements()
        for group in groups(pod_sets):
            if all(member.previous is not None for member in group):
                found = self._follow(group, used, empty=empty, previous_counts=previous_counts)
            else:
                found = self.place_group(group, used, empty=empty)
            if isinstance(found, str):
                placements.refused.update((pod_set.name, found) for pod_set in group)
                break
            for pod_set, assignment in zip(group, found, strict=True):
                placements.assigned[pod_set.name] = assignment
                use(used, pod_set, assignment)
                if previous_counts and pod_set.previous is not None:
                    use(used, pod_set, pod_set.previous, -1)
        return placements

    def _follow(
        self, group: Sequence[PlacedPods], used: Assumed, *, empty: bool, previous_counts: bool
    ) -> list[TopologyAssignment] | str:
        """Place a slice that takes over from another one: existing places stay, and only new pods are placed."""
        workers, _ = _roles(group)
        present = [member.previous for member in group if member.previous is not None]
        if any(stale_domain(self.tree, each) is not None for each in present):
            return self.place_group(group, used, empty=empty)
        previous = present[group.index(workers)]
        grown = previous.first(workers.count)
        more = workers.count - previous.pods
        if more > 0:
            together = {key: dict(amounts) for key, amounts in used.items()}
            for member, each in zip(group, present, strict=True):
                if not previous_counts or empty:
                    use(together, member, each)
            found = self.place_group([replace(workers, count=more)], together, empty=empty)
            if isinstance(found, str):
                return found
            grown = merged(previous, found[0], self.tree.paths(previous.domains + found[0].domains))
        if self.gates.short_slices:
            grown = short_last(self.tree, workers.request, grown)
            if not slices_whole(self.tree, workers.request, grown):
                free = {key: dict(amounts) for key, amounts in used.items()}
                for member, each in zip(group, present, strict=True) if previous_counts and not empty else ():
                    use(free, member, each, -1)
                return self.place_group(group, free, empty=empty)
        return [grown if member is workers else each for member, each in zip(group, present, strict=True)]

    def place_group(
        self, group: Sequence[PlacedPods], used: Assumed, *, empty: bool = False, within: Domain | None = None
    ) -> list[TopologyAssignment] | str:
        """Place one pod set, or a leader with its workers.

        Returns an assignment for each member, or why there is none. within: only descendants of this domain are used.
        """
        workers, leader = _roles(group)
        fault = self._fault(group)
        if fault:
            return fault
        kind = self._kind(workers, leader, empty)
        counts = self._kept.of(kind, used, within)
        search = self._search(workers, leader, counts)
        if self.gates.balanced and not (workers.request.required or workers.request.unconstrained or kind.short):
            shares = balanced(search, kind.slice_size)
            if shares is not None:
                return self._assignments(group, workers, shares)
        chosen = search.select()
        if isinstance(chosen, DomainShortage):
            return self._refusal(chosen, workers, counts, used, within)
        shares = search.spread(chosen, kind.slice_size)
        if kind.short and sum(share.pods for share in shares) < workers.count:
            return f"cannot place the partial slice of PodSet {workers.name} in a single topology domain"
        return self._assignments(group, workers, shares)

    def shortage(self, group: Sequence[PlacedPods], used: Assumed, *, empty: bool = False) -> ShortDomain | None:
        """The domain that is short for pod sets that `place_group` refuses; None if no room would help."""
        workers, leader = _roles(group)
        request, levels = workers.request, self.tree.levels
        if self._fault(group):
            return None
        counts = self._kept.of(self._kind(workers, leader, empty), used)
        level = levels.index(request.level(levels))
        return short_domain(self.tree, counts, workers.count, level, required=bool(request.required))

    # -- inside --------------------------------------------------------------------------------------------------------

    def _fault(self, group: Sequence[PlacedPods]) -> str:
        """Why the group can have no place, even in empty domains; empty if it may have one."""
        workers, leader = _roles(group)
        asked = [workers, leader] if leader and self.gates.leader_filter else [workers]
        faults = chain(
            [group_fault([pod_set.count for pod_set in group]), workers.conflict],
            [request_fault(workers.request, self.tree.levels)],
            *([pods.conflict, selector_fault(pods.filter) if self.tree.by_node else ""] for pods in asked),
        )
        return next(filter(None, faults), "")

    def _kind(self, workers: PlacedPods, leader: PlacedPods | None, empty: bool) -> PodKind:
        levels, layers = self.tree.levels, workers.request.layers
        sizes = [1] * (self.tree.lowest_level + 1)
        for before, layer in pairwise(layers):
            for level in range(levels.index(before.topology) + 1, levels.index(layer.topology) + 1):
                sizes[level] = layer.size
        return PodKind(
            worker=pod_request(workers.requests),
            leader=pod_request(leader.requests) if leader else None,
            filter=self._filter(workers),
            slice_level=levels.index(layers[0].topology) if layers else len(levels) - 1,
            slice_size=layers[0].size if layers else 1,
            sizes=tuple(sizes),
            empty=empty,
            short=short_slice(workers.request, workers.count) if self.gates.short_slices else 0,
            leader_filter=self._filter(leader) if leader and self.gates.leader_filter else None,
        )

    def _filter(self, pods: PlacedPods) -> NodeFilter | None:
        """The filter; None if domains are not single nodes, since Kueue then does not filter nodes."""
        if not self.tree.by_node:
            return None
        return pods.filter if self.gates.preferred else replace(pods.filter, preferred=())

    def _search(self, workers: PlacedPods, leader: PlacedPods | None, counts: DomainCounts) -> DomainSearch:
        request, levels = workers.request, self.tree.levels
        return DomainSearch(
            tree=self.tree,
            counts=counts,
            slices=workers.count // counts.kind.slice_size,
            leaders=1 if leader else 0,
            level=levels.index(request.level(levels)),
            least_free=request.unconstrained and self.gates.mixed,
            required=bool(request.required),
            climbing=not request.unconstrained,
        )

    def _assignments(
        self, group: Sequence[PlacedPods], workers: PlacedPods, shares: Sequence[Share]
    ) -> list[TopologyAssignment]:
        ordered = sorted(shares, key=lambda share: share.domain.values)
        of_workers = self._assignment((share.domain, share.pods) for share in ordered)
        of_leader = self._assignment((share.domain, share.lead) for share in ordered)
        if self.gates.short_slices:
            of_workers = short_last(self.tree, workers.request, of_workers)
        return [of_workers if member is workers else of_leader for member in group]

    def _assignment(self, counts: Iterable[tuple[Domain, int]]) -> TopologyAssignment:
        taken = [AssignedDomain(domain.values, count) for domain, count in counts if count > 0]
        named: Counter[DomainId] = Counter()
        for values, count in taken:
            named[values[-1:] if self.tree.by_host else values[: len(self.tree.levels)]] += count
        domains = tuple(AssignedDomain(*item) for item in named.items())
        return TopologyAssignment(self.assigned_levels, domains, tuple(taken) if self.tree.nodes_below else ())

    def _refusal(
        self, shortage: DomainShortage, workers: PlacedPods, counts: DomainCounts, used: Assumed, within: Domain | None
    ) -> str:
        kind, layers = counts.kind, workers.request.layers
        if shortage.level is None:
            levels = self.tree.levels
            return f"no topology domains at level: {workers.request.level(levels)}"
        excluded = exclusions(self.tree, kind, used, within)
        if len(layers) > 1:
            return layers_fit_only(self.name, self.tree, counts, shortage.level, workers.count, layers, excluded)
        slices = workers.count // kind.slice_size + (1 if kind.short else 0)
        unit = "pod" if kind.slice_size == 1 else "slice"
        return fits_only(self.name, shortage.fitting, slices, unit, self.tree.size, excluded)


def groups(pod_sets: Sequence[PlacedPods]) -> list[list[PlacedPods]]:
    """The pod sets in their order, as lists. Members of a group are together, at the position of the first one."""
    found: dict[str, list[PlacedPods]] = {}
    for position, pod_set in enumerate(pod_sets):
        name = pod_set.request.group
        found.setdefault(f"group {name}" if name else f"set {position}", []).append(pod_set)
    return list(found.values())


def use(
    used: dict[DomainId, dict[str, int]], pod_set: PlacedPods, assignment: TopologyAssignment, times: int = 1
) -> None:
    """Add the usage of the assigned pods to `used`; with `times` -1, subtract it."""
    single = dict(pod_request(pod_set.requests))
    for domain, pods in (*assignment.counts().items(), *assignment.nodes):
        add_to(used.setdefault(domain, {}), single, pods * times)


def stale_domain(tree: TopologyTree, assignment: TopologyAssignment) -> str | None:
    """The first value of the first assigned domain that no longer exists; None if all exist. A value may be empty."""
    for values, _ in assignment.domains:
        if tree.find(values[-1:] if tree.by_host else values) is None:
            return values[0]
    return None


def _roles(group: Sequence[PlacedPods]) -> tuple[PlacedPods, PlacedPods | None]:
    """The workers, and the leader if there is one. Of two pod sets with equal size, the first one has the workers."""
    if len(group) == 1:
        return group[0], None
    first, second = group[:2]
    return (second, first) if second.count > first.count else (first, second)
