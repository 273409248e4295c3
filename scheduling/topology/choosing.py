"""Which domains take the pods: the search for domains with room, and the way down from them to the lowest.

Orders and ties are Kueue's. Every list that is sorted here is in path order first, and sorts are stable, so equal
domains stay in path order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scheduling.topology.counting import Counts, DomainCounts
from scheduling.topology.domains import Domain, TopologyTree


class Share(NamedTuple):
    """The pods that a domain takes; `lead` is 1 if the leader is among them, beyond `pods`."""

    domain: Domain
    pods: int
    lead: int


class DomainShortage(NamedTuple):
    """No domains were found: room for `fitting` of the slices. `level`: where the search ended; None: no domains."""

    fitting: int
    level: int | None


@dataclass(frozen=True, slots=True)
class Rooms:
    """Room in one unit, slices or pods, by domain. `led` is beside the leader."""

    alone: Mapping[Domain, int]
    led: Mapping[Domain, int]
    lead: Mapping[Domain, int]

    def with_leader(self, leaders: int) -> Mapping[Domain, int]:
        return self.led if leaders else self.alone

    def hosts(self, domain: Domain) -> int:
        """1 if the domain has room for the leader."""
        return self.lead.get(domain, 0)


@dataclass(frozen=True, slots=True)
class DomainSearch:
    """How the pods of one pod set, or of a group, are to be placed.

    slices: how many whole slices there are. leaders: 1 for a group, else 0. level: the requested level.
    least_free: the smallest domains are filled first. Otherwise the largest, and the last one as tightly as possible.
    required: one domain of the level has to hold all. climbing: if none does, one of a higher level may.
    """

    tree: TopologyTree
    counts: DomainCounts
    slices: int
    leaders: int
    level: int
    least_free: bool
    required: bool
    climbing: bool

    # -- orders --------------------------------------------------------------------------------------------------------

    def sorted_with_leader(self, domains: Sequence[Domain]) -> list[Domain]:
        """Put domains with room for the leader first."""
        if not self.leaders:
            return self.sorted_alone(domains)
        counts, sign = self.counts, 1 if self.least_free else -1
        score, led, pods, lead = counts.score, counts.led_slices, counts.led_pods, counts.lead
        return sorted(domains, key=lambda each: (-lead[each], -score.get(each, 0), sign * led[each], pods[each]))

    def sorted_alone(self, domains: Sequence[Domain]) -> list[Domain]:
        """Put the largest first, or the smallest if the smallest are to be filled first."""
        counts, sign = self.counts, 1 if self.least_free else -1
        score, slices, pods = counts.score, counts.slices, counts.pods
        if score:
            return sorted(domains, key=lambda each: (-score[each], sign * slices[each], pods[each]))
        return sorted(domains, key=lambda each: (sign * slices[each], pods[each]))

    def best_fit(self, domains: Sequence[Domain], rooms: Rooms, need: int, leaders: int) -> Domain:
        """The first of the smallest domains that hold all; of preferred nodes only those of the first one's weight."""
        score, room = self.counts.score, rooms.with_leader(leaders)
        best = domains[0]
        for domain in domains:
            if score and score[domain] != score[domains[0]]:
                break
            if rooms.hosts(domain) < leaders or room[domain] < need:
                continue
            if room[best] < need or rooms.hosts(best) < leaders or room[domain] < room[best]:
                best = domain
        return best

    # -- the search ----------------------------------------------------------------------------------------------------

    @property
    def slice_rooms(self) -> Rooms:
        counts = self.counts
        return Rooms(counts.slices, counts.led_slices, counts.lead)

    def select(self) -> list[Domain] | DomainShortage:
        """The domains, all of one level, that together hold all slices and the leader."""
        for level in range(self.level, -1, -1):
            domains = self.tree.at_level(level)
            if not domains:
                return DomainShortage(0, None)
            ordered = self.sorted_with_leader(domains)
            single = self._single(ordered)
            if single is not None:
                return [single]
            if self.required:
                return self._other_score(ordered) or DomainShortage(self.counts.slices[ordered[0]], level)
            if not self.climbing or level == 0:
                return self._several(ordered, level)
        raise AssertionError("a search ends at the highest level")

    def _single(self, ordered: list[Domain]) -> Domain | None:
        """The one domain that holds all, if there is one that Kueue's order finds."""
        if self.least_free:
            return next(self._holding_all(ordered), None)
        if next(self._holding_all(ordered[:1]), None):
            return self.best_fit(ordered, self.slice_rooms, self.slices, self.leaders)
        return None

    def _holding_all(self, domains: Iterable[Domain]) -> Iterator[Domain]:
        counts, need = self.counts, self.slices
        room = counts.led_slices if self.leaders else counts.slices
        holding = (domain for domain in domains if room[domain] >= need)
        return (domain for domain in holding if counts.lead[domain]) if self.leaders else holding

    def _other_score(self, ordered: list[Domain]) -> list[Domain]:
        """A required domain among those with less preferred nodes, if the most preferred do not hold all."""
        first = next(self._holding_all(ordered), None) if self.counts.score else None
        if first is None:
            return []
        return [self.best_fit(ordered[ordered.index(first) :], self.slice_rooms, self.slices, self.leaders)]

    def _several(self, ordered: list[Domain], level: int) -> list[Domain] | DomainShortage:
        rooms, rest, left, chosen = self.slice_rooms, self.slices, self.leaders, []
        waiting = leader_first(ordered, rooms, rest, left)
        if left:
            first = waiting[0]
            if not rooms.hosts(first):
                return DomainShortage(0, level)
            if not self.least_free and rooms.led[first] >= rest:
                first = self.best_fit(waiting, rooms, rest, left)
            chosen.append(first)
            rest -= rooms.led[first]
            waiting = self.sorted_alone(_in_path_order(each for each in waiting if each is not first))
        for at, domain in enumerate(waiting):
            if rest <= 0:
                break
            if not self.least_free and rooms.alone[domain] >= rest:
                domain = self.best_fit(waiting[at:], rooms, rest, 0)
            chosen.append(domain)
            rest -= rooms.alone[domain]
        return DomainShortage(self.slices - rest, level) if rest > 0 else chosen

    # -- the way down --------------------------------------------------------------------------------------------------

    def minimise(self, domains: Sequence[Domain], rooms: Rooms, need: int, leaders: int, unit: int = 1) -> list[Share]:
        """Give `need` units, of `unit` pods each, and the leader to the first domains that hold them."""
        found: list[Share] = []
        waiting = leader_first(domains, rooms, need, leaders)
        for at, domain in enumerate(waiting):
            room = rooms.with_leader(leaders)
            if not self.least_free and room[domain] >= need and rooms.hosts(domain) >= leaders:
                domain = self.best_fit(waiting[at:], rooms, need, leaders)
            lead = min(rooms.hosts(domain), leaders)
            given = min(room[domain], need)
            found.append(Share(domain, given * unit, lead))
            if given == need and lead == leaders:
                break
            need -= given
            leaders -= lead
        return found

    def spread(self, chosen: Sequence[Domain], size: int) -> list[Share]:
        """From the chosen domains down to the lowest: the pods of each.

        Down to the level of slices the domains below all chosen ones are one pool: a domain may get more or less than
        it was chosen for. From there on each keeps its share.
        """
        shares = self.minimise(chosen, self.slice_rooms, self.slices, self.leaders, size)
        level = chosen[0].level
        for _ in range(level, self.counts.kind.slice_level):
            pool = _below(share.domain for share in shares)
            shares = self.minimise(self.sorted_alone(pool), self.slice_rooms, self.slices, self.leaders, size)
        return self.spread_within(shares)

    def spread_within(self, shares: Sequence[Share]) -> list[Share]:
        """From domains of the level of slices, or below, down to the lowest; each domain's pods stay inside it."""
        counts = self.counts
        while shares and shares[0].domain.children:
            below: list[Share] = []
            unit = counts.kind.sizes[shares[0].domain.level + 1]
            for domain, pods, lead in shares:
                children = self.sorted_alone(domain.children)
                rooms = Rooms(_by(counts.pods, children, unit), _by(counts.led_pods, children, unit), counts.lead)
                below.extend(self.minimise(children, rooms, pods // unit, lead, unit))
            shares = below
        return list(shares)


def leader_first(domains: Sequence[Domain], rooms: Rooms, need: int, leaders: int) -> list[Domain]:
    """Move the first domain to the front in which the leader takes so little that the rest still holds all."""
    found = list(domains)
    if not leaders or len(found) < 2:
        return found
    total = sum(rooms.alone[domain] for domain in found)
    for at, domain in enumerate(found):
        lost = rooms.alone[domain] - rooms.led[domain]
        if rooms.hosts(domain) >= leaders and total - lost >= need:
            return [domain, *found[:at], *found[at + 1 :]]
    return found


def _in_path_order(domains: Iterable[Domain]) -> list[Domain]:
    return sorted(domains, key=lambda domain: domain.values)


def _below(domains: Iterable[Domain]) -> list[Domain]:
    return [child for domain in _in_path_order(domains) for child in domain.children]


def _by(counts: Counts, domains: Sequence[Domain], unit: int) -> Counts:
    return {domain: counts[domain] // unit for domain in domains}
