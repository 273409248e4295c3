"""Chooses the domains for pods: finds domains with room, then distributes the pods down to the lowest level.

The largest domains are filled first, and the rest goes to the smallest one that holds it: 10 pods on hosts with room
for 6, 5 and 4 are placed as 6 and 4.

The orders are Kueue's. Lists are in path order before they are sorted, and sorts are stable, so equal domains stay in
path order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from scheduling.topology.counting import Counts, DomainCounts, apart, cheapest
from scheduling.topology.domains import Domain, TopologyTree


class Share(NamedTuple):
    """The pods that a domain takes. `lead`: 1 if it takes the leader as well, which `pods` does not count."""

    domain: Domain
    pods: int
    lead: int


class DomainShortage(NamedTuple):
    """The domains do not suffice.

    fitting: how many of the slices fit.
    level: the level at which the search ended; None if there are no domains.
    """

    fitting: int
    level: int | None


@dataclass(frozen=True, slots=True)
class Rooms:
    """The room of domains, in slices or in pods.

    alone: the room without a leader.
    led: the room beside the leader.
    lead: 1 if the domain has room for the leader.
    short, led_short: the room beside the short slice, without and with the leader.
    """

    alone: Mapping[Domain, int]
    led: Mapping[Domain, int]
    lead: Mapping[Domain, int]
    short: Mapping[Domain, int] = field(default_factory=dict)
    led_short: Mapping[Domain, int] = field(default_factory=dict)

    def with_leader(self, leaders: int) -> Mapping[Domain, int]:
        return self.led if leaders else self.alone

    def with_short(self, leaders: int) -> Mapping[Domain, int]:
        return self.led_short if leaders else self.short

    def hosts(self, domain: Domain) -> int:
        """1 if the domain has room for the leader."""
        return self.lead.get(domain, 0)


@dataclass(frozen=True, slots=True)
class DomainSearch:
    """The search for domains for a pod set, or for a group of a leader and its workers.

    slices: the number of whole slices.
    leaders: 1 for a group, else 0.
    level: the requested level.
    least_free: the smallest domains are filled first. Otherwise the largest come first, but the last domain is the
        smallest one that suffices.
    required: one domain of the level has to hold all pods.
    climbing: if no domain of the level holds all, one of a higher level may.
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

    def best_fit(
        self, domains: Sequence[Domain], rooms: Rooms, need: int, leaders: int, *, short: bool = False
    ) -> Domain:
        """The smallest domain that holds `need` and the leaders; the first domain if none does.

        Only domains with the same weight of preferred nodes as the first one are considered. short: whether it also
        has to hold the short slice.
        """
        score, room = self.counts.score, rooms.with_leader(leaders)
        beside = rooms.with_short(leaders) if short else room
        best: Domain | None = None
        for domain in domains:
            if score and score[domain] != score[domains[0]]:
                break
            if beside[domain] < need or rooms.hosts(domain) < leaders:
                continue
            tight = best is not None and (beside[best], room[best]) <= (beside[domain], room[domain])
            best = best if tight else domain
        return best or domains[0]

    # -- the search ----------------------------------------------------------------------------------------------------

    @property
    def slice_rooms(self) -> Rooms:
        counts = self.counts
        return Rooms(counts.slices, counts.led_slices, counts.lead, counts.short, counts.led_short)

    @property
    def short(self) -> int:
        """The number of pods in the short slice, beside the whole slices; 0 if there is none."""
        return self.counts.kind.short

    def select(self) -> list[Domain] | DomainShortage:
        """Choose domains of one level that together hold all slices and the leader."""
        for level in range(self.level, -1, -1):
            domains = self.tree.at_level(level)
            if not domains:
                return DomainShortage(0, None)
            ordered = self.sorted_with_leader(domains)
            single = self._single(ordered)
            if single is not None:
                return [single]
            if self.required and self.least_free:  # the request is unconstrained, too; Kueue then counts pods
                return DomainShortage(self.counts.pods[ordered[-1]], level)
            if self.required:
                return self._other_score(ordered) or DomainShortage(self.counts.slices[ordered[0]], level)
            if not self.climbing or level == 0:
                return self._several(ordered, level)
        raise AssertionError("a search ends at the highest level")

    def _single(self, ordered: list[Domain]) -> Domain | None:
        """A single domain that holds all; None if Kueue's order finds none."""
        if self.least_free:
            return next(self._holding_all(ordered), None)
        if self.short:  # the largest domain may not be the one with most room beside the short slice
            return next(self._holding_all([self._best_for_all(ordered)]), None)
        return self._best_for_all(ordered) if next(self._holding_all(ordered[:1]), None) else None

    def _best_for_all(self, domains: Sequence[Domain]) -> Domain:
        return self.best_fit(domains, self.slice_rooms, self.slices, self.leaders, short=bool(self.short))

    def _holding_all(self, domains: Iterable[Domain]) -> Iterator[Domain]:
        counts, need, rooms = self.counts, self.slices, self.slice_rooms
        room = rooms.with_short(self.leaders) if self.short else rooms.with_leader(self.leaders)
        holding = (domain for domain in domains if room[domain] >= need)
        return (domain for domain in holding if counts.lead[domain]) if self.leaders else holding

    def _other_score(self, ordered: list[Domain]) -> list[Domain]:
        """A single domain among those with less preferred nodes, if the most preferred ones do not hold all."""
        first = next(self._holding_all(ordered), None) if self.counts.score else None
        if first is None:
            return []
        return [self._best_for_all(ordered[ordered.index(first) :])]

    def _several(self, ordered: list[Domain], level: int) -> list[Domain] | DomainShortage:
        rooms, rest, left = self.slice_rooms, self.slices, self.leaders
        chosen: list[Share] = []
        waiting = leader_first(ordered, rooms, rest, left, short=bool(self.short))
        if left:
            first = waiting[0]
            if not rooms.hosts(first):
                return DomainShortage(0, level)
            if not self.least_free and rooms.led[first] >= rest:
                first = self.best_fit(waiting, rooms, rest, left)
            chosen.append(Share(first, min(rooms.led[first], rest), left))
            rest -= rooms.led[first]
            waiting = self.sorted_alone(_in_path_order(each for each in waiting if each is not first))
        for at, domain in enumerate(waiting):
            if rest <= 0:
                break
            if not self.least_free and rooms.alone[domain] >= rest:
                domain = self.best_fit(waiting[at:], rooms, rest, 0)
            chosen.append(Share(domain, min(rooms.alone[domain], rest), 0))
            rest -= rooms.alone[domain]
        if rest > 0:
            return DomainShortage(self.slices - rest, level)
        domains = [share.domain for share in chosen]
        if self.short and not any(rooms.with_short(share.lead)[share.domain] >= share.pods for share in chosen):
            extra = _with_room_for_short(waiting, rooms, set(domains))
            return [*domains, extra] if extra else DomainShortage(self.slices, level)
        return domains

    # -- distribution --------------------------------------------------------------------------------------------------

    def minimise(
        self, domains: Sequence[Domain], rooms: Rooms, need: int, leaders: int, unit: int = 1, short: int = 0
    ) -> list[Share]:
        """Give `need` units of `unit` pods each, and the leaders, to the first domains that hold them.

        short: the number of pods in the short slice. It goes into a domain that gets other slices, if one has room.
        """
        found: list[Share] = []
        waiting = leader_first(domains, rooms, need, leaders, short=bool(short))
        housed = not short
        for at, domain in enumerate(waiting):
            last = None if housed else self._last_with_short(waiting[at:], rooms, need, leaders)
            if last is not None:
                return [*found, Share(last, need * unit + short, leaders)]
            room = rooms.with_leader(leaders)
            if not self.least_free and room[domain] >= need and rooms.hosts(domain) >= leaders:
                domain = self.best_fit(waiting[at:], rooms, need, leaders)
            lead = min(rooms.hosts(domain), leaders)
            given = min(room[domain], need)
            found.append(Share(domain, given * unit, lead))
            housed = housed or rooms.with_short(lead)[domain] >= given
            if given == need and lead == leaders:
                break
            need -= given
            leaders -= lead
        return _with_short(found, waiting, rooms, unit, short) if short else found

    def _last_with_short(self, waiting: Sequence[Domain], rooms: Rooms, need: int, leaders: int) -> Domain | None:
        """The domain that takes all remaining slices and the short one; None if no domain has room for them.

        Also None if a smaller domain has room for the remaining slices without the short one.
        """
        first, room, beside = waiting[0], rooms.with_leader(leaders), rooms.with_short(leaders)
        if room[first] < need or rooms.hosts(first) < leaders:
            return None
        best = whole = first
        if not self.least_free:
            best = self.best_fit(waiting, rooms, need, leaders, short=True)
            whole = self.best_fit(waiting, rooms, need, leaders)
        fits = beside[best] >= need and rooms.hosts(best) >= leaders
        return best if fits and room[best] <= room[whole] else None

    def spread(self, chosen: Sequence[Domain], size: int) -> list[Share]:
        """Distribute the pods from the chosen domains down to the lowest.

        Down to the level of slices, the children of all chosen domains are one pool, so a domain may get more or fewer
        pods than it was chosen for. Below that level, the share of each domain stays in its descendants.
        """
        rooms, short = self.slice_rooms, self.short
        shares = self.minimise(chosen, rooms, self.slices, self.leaders, size, short)
        level = chosen[0].level
        for _ in range(level, self.counts.kind.slice_level):
            pool = [child for domain in _in_path_order(share.domain for share in shares) for child in domain.children]
            shares = self.minimise(self.sorted_alone(pool), rooms, self.slices, self.leaders, size, short)
        return self.spread_within(shares)

    def spread_within(self, shares: Sequence[Share]) -> list[Share]:
        """Distribute the share of each domain among its descendants, down to the lowest.

        The domains are at the level of slices or below it.
        """
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


def leader_first(
    domains: Sequence[Domain], rooms: Rooms, need: int, leaders: int, *, short: bool = False
) -> list[Domain]:
    """Move a domain for the leader to the front: the first one with which all domains together still hold `need`.

    short: whether they also have to hold the short slice, in the same domain or in another one.
    """
    found = list(domains)
    if not leaders or len(found) < 2:
        return found
    alone, led = rooms.alone, rooms.led
    total = sum(alone[domain] for domain in found)
    taken = (
        cheapest((alone[each] - rooms.short[each], each) for each in found if rooms.short[each] >= 0) if short else []
    )
    for at, domain in enumerate(found):
        if rooms.hosts(domain) < leaders:
            continue
        lost = [alone[domain] - led[domain]]
        if short:
            lost = apart([(lost[0], domain)], taken)
            lost += [alone[domain] - rooms.led_short[domain]] if rooms.led_short[domain] >= 0 else []
        if lost and total - min(lost) >= need:
            return [domain, *found[:at], *found[at + 1 :]]
    return found


def _with_short(shares: Sequence[Share], domains: Iterable[Domain], rooms: Rooms, unit: int, short: int) -> list[Share]:
    """Add the short slice of `short` pods to the first share with room for it, else to another domain."""
    found = list(shares)
    for at, (domain, pods, lead) in enumerate(found):
        if rooms.with_short(lead)[domain] >= pods // unit:
            found[at] = Share(domain, pods + short, lead)
            return found
    extra = _with_room_for_short(domains, rooms, {share.domain for share in found})
    return [*found, Share(extra, short, 0)] if extra else found


def _with_room_for_short(domains: Iterable[Domain], rooms: Rooms, used: Set[Domain]) -> Domain | None:
    return next((each for each in domains if rooms.short[each] >= 0 and each not in used), None)


def _in_path_order(domains: Iterable[Domain]) -> list[Domain]:
    return sorted(domains, key=lambda domain: domain.values)


def _by(counts: Counts, domains: Sequence[Domain], unit: int) -> Counts:
    return {domain: counts[domain] // unit for domain in domains}
