"""Balanced placement: maximizes the smallest number of slices in a domain. Kueue's gate TASBalancedPlacement.

For 4 slices in racks with room for 3, 3 and 2, the ordinary search takes 3 and 1. Two racks suffice, so the threshold
is 4 / 2 = 2: each gets 2. The racks with room for 3 and 2 are chosen, since they have the least spare room.

It is tried only for preferred levels. If it finds nothing, the ordinary search follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log2
from typing import NamedTuple

from scheduling.topology.choosing import DomainSearch, Rooms, Share
from scheduling.topology.counting import DomainCounts
from scheduling.topology.domains import Domain


class _Greedy(NamedTuple):
    """The result of taking the largest domains first.

    used: how many domains hold all pods.
    with_leader: the domain that gets the leader; None without a leader.
    alone: the last domain taken without a leader; None if there is none.
    """

    used: int
    with_leader: Domain | None
    alone: Domain | None


class _Candidates(NamedTuple):
    """Domains of the requested level that may be balanced.

    threshold: the slices that each domain gets at least.
    used: how many of the domains are needed.
    search: the search with counts in which domains that hold less than the threshold have no room.
    """

    threshold: int
    used: int
    search: DomainSearch
    domains: list[Domain]


def balanced(search: DomainSearch, size: int) -> list[Share] | None:
    """The balanced placement in the lowest domains, for slices of `size` pods; None if there is none."""
    best = _best_candidates(search) if search.slices else None
    if best is None:
        return None
    pruned, domains = best.search, best.domains
    if _above_slices(pruned):
        ordered = sorted(domains, key=lambda domain: by_entropy(pruned.counts, domain))
        chosen = optimal_subset(pruned, ordered, size)
        domains = sorted((child for each in chosen for child in each.children), key=lambda domain: domain.values)
    given = distribution(pruned, domains, best.threshold, size)
    spread = _spread(pruned, given, size) if given else []
    return spread if sum(share.pods for share in spread) == search.slices * size else None


def _above_slices(search: DomainSearch) -> bool:
    """Whether the requested level is above the level of slices. Then the children of its domains are balanced."""
    return search.level < search.counts.kind.slice_level


# -- the threshold -----------------------------------------------------------------------------------------------------


def _best_candidates(search: DomainSearch) -> _Candidates | None:
    tree, level = search.tree, search.level
    sets = [parent.children for parent in tree.at_level(level - 1)] if level else [tree.roots]
    best: _Candidates | None = None
    for domains in sets:
        found = _candidates(search, domains, best.threshold if best else 0)
        if found and (best is None or (-found.threshold, found.used) < (-best.threshold, best.used)):
            best = found
    return best


def _candidates(search: DomainSearch, domains: list[Domain], least: int) -> _Candidates | None:
    """The domains with their threshold; None if it is less than `least` or 0."""
    low = [child for each in domains for child in each.children] if _above_slices(search) else domains
    greedy = _greedy(search, low)
    if greedy is None:
        return None
    counts, (used, with_leader, alone) = search.counts, greedy
    limits = [search.slices // used]
    limits += [counts.led_slices[with_leader]] if with_leader else []
    limits += [counts.slices[alone]] if alone else []
    threshold = min(limits)
    lower = min(threshold, counts.led_slices[alone]) if search.leaders and alone else threshold
    for tried in dict.fromkeys((threshold, lower)):
        if tried <= 0 or tried < least:
            return None
        pruned = replace(search, counts=_pruned(search, domains, tried))
        after = _greedy(pruned, domains)
        if after is not None:
            return _Candidates(tried, after.used, pruned, domains)
    return None


def _greedy(search: DomainSearch, domains: Sequence[Domain]) -> _Greedy | None:
    """Take whole domains, the largest first. None if all together do not hold the slices and the leader."""
    counts, rest, used = search.counts, search.slices, 0
    with_leader = alone = None
    waiting = list(domains)
    if search.leaders:
        ordered = search.sorted_with_leader(domains)
        if not ordered or not counts.lead[ordered[0]]:
            return None
        with_leader, used = ordered[0], 1
        rest -= counts.led_slices[with_leader]
        waiting.remove(with_leader)
    for domain in search.sorted_alone(waiting):
        if rest <= 0 or counts.slices[domain] <= 0:
            break
        alone, used = domain, used + 1
        rest -= counts.slices[domain]
    return _Greedy(used, with_leader, alone) if rest <= 0 else None


def _pruned(search: DomainSearch, domains: Sequence[Domain], threshold: int) -> DomainCounts:
    """The counts, with no room in domains that hold fewer slices than the threshold.

    Domains below the level of slices have 0 slices. So if they are children of the requested level, no domain keeps its
    room, and nothing is balanced. As in Kueue, the rest is counted again without the layers of slices. So a domain may
    be given more than its layers hold.
    """
    counts = search.counts.copy()
    for domain in domains:
        for child in domain.children:
            _count_without_layers(counts, child)
            _prune(counts, child, threshold, search.counts)
        if domain.children:
            counts.count_above(domain, rounded=False)
        _prune(counts, domain, threshold, counts)
    return counts


def _count_without_layers(counts: DomainCounts, domain: Domain) -> None:
    if domain.children:
        for child in domain.children:
            _count_without_layers(counts, child)
        counts.count_above(domain, rounded=False)


def _prune(counts: DomainCounts, domain: Domain, threshold: int, held: DomainCounts) -> None:
    """Take the room of a domain that holds fewer slices than the threshold, or the leader's room if only it does."""
    if held.slices[domain] < threshold:
        counts.pods[domain] = counts.slices[domain] = 0
    elif held.led_slices[domain] >= threshold:
        return
    counts.led_pods[domain] = counts.led_slices[domain] = 0
    if counts.lead:
        counts.lead[domain] = 0


# -- which domains -----------------------------------------------------------------------------------------------------


def optimal_subset(search: DomainSearch, domains: Sequence[Domain], size: int) -> list[Domain]:
    """The smallest set of domains that holds all pods, with the least spare room; empty if all domains are too small.

    Of two sets with equal room, the first one in the order of the domains is chosen.
    """
    greedy = _greedy(search, domains)
    if greedy is None:
        return []
    counts = search.counts
    reached: list[dict[tuple[int, int], list[Domain]]] = [{} for _ in range(greedy.used + 1)]
    reached[0][search.leaders, search.slices * size] = []
    for domain in domains:
        for used in range(greedy.used, 0, -1):
            for (leaders, pods), chosen in sorted(reached[used - 1].items(), key=lambda state: state[0]):
                if leaders <= 0 and pods <= 0:
                    continue
                with_it = [*chosen, domain]
                if leaders > 0 and counts.lead[domain] > 0:
                    reached[used].setdefault((leaders - 1, pods - counts.led_pods[domain]), with_it)
                if counts.slices[domain] > 0:
                    reached[used].setdefault((leaders, pods - counts.pods[domain]), with_it)
    whole = [pods for leaders, pods in reached[greedy.used] if leaders == 0 and pods <= 0]
    return reached[greedy.used][0, max(whole)] if whole else []


def by_entropy(counts: DomainCounts, domain: Domain) -> tuple[int, int, float, tuple[str, ...]]:
    """The sort key of domains: by room with the leader, then those whose room is spread most evenly over children."""
    pods = [counts.pods[child] for child in domain.children if counts.pods[child] > 0]
    total = sum(pods)
    entropy = -sum(each / total * log2(each / total) for each in pods)
    return -counts.lead.get(domain, 0), -counts.led_slices[domain], -entropy, domain.values


def distribution(search: DomainSearch, domains: Sequence[Domain], threshold: int, size: int) -> list[Share]:
    """Give the threshold to each domain of the optimal subset, and the rest to the first ones. Empty if that fails."""
    chosen = search.sorted_with_leader(optimal_subset(search, domains, size))
    extra = search.slices - threshold * len(chosen)
    if not chosen or extra < 0:
        return []
    counts, shares = search.counts, []
    for at, domain in enumerate(chosen):
        room = counts.slices if at else counts.led_slices
        more = max(0, min(extra, room[domain] - threshold))
        extra -= more
        shares.append(Share(domain, (threshold + more) * size, 0 if at else search.leaders))
    return [] if extra else shares


def _spread(search: DomainSearch, shares: list[Share], size: int) -> list[Share]:
    """Distribute the share of each domain among its descendants, down to the lowest domains."""
    counts = search.counts
    while shares[0].domain.level < counts.kind.slice_level:
        below: list[Share] = []
        for domain, pods, lead in shares:
            children = search.sorted_alone(domain.children)
            alone = {child: counts.pods[child] // size for child in children}
            led = {child: counts.led_pods[child] // size for child in children}
            below.extend(search.minimise(children, Rooms(alone, led, counts.lead), pods // size, lead, size))
        shares = below
    return search.spread_within(shares)
