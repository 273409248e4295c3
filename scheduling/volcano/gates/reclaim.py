"""The Pods that are reclaimed at the gate, so that a queue gets what it deserves.

A queue may reclaim a resource only while it stays within its deserved amount. If it deserves none of the resource, the
nearest ancestor that does counts instead. Victims are outside of that queue, those of the nearest relatives first. No
queue that has victims, but not the reclaiming Pod, falls below its deserved amount. So every reclaim brings a queue
nearer to what it deserves, and no queue of that depth or deeper further away: queues never reclaim in turns.

Freed quota is reserved for the Pods for which it was freed. Pods that are being deleted anyway count as victims, so a
new process continues where the last one stopped.
Source: Volcano v1.16, plugins/capacity; unlike there, a victim's queue has what it deserves afterwards as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cmp_to_key
from typing import NamedTuple

from scheduling.objects.amounts import add_to
from scheduling.objects.times import SECOND
from scheduling.queue_tree.amounts import Amounts, total
from scheduling.volcano.gates.gang import GangWish, GatedGang
from scheduling.volcano.gates.gate_queues import QUOTA, GateQueues
from scheduling.volcano.gates.gated_pod import Need, VolcanoGatedPod
from scheduling.volcano.queue_order import common_depth
from scheduling.volcano.queues import ALLOCATED, ROOT, Node
from scheduling.volcano.resources import shortages

PATIENCE = 600 * SECOND
"""How long anything waits for a Pod to end, in nanoseconds: a lost node must not keep quota indefinitely."""
_SPARED = 60 * SECOND
"""How long a Pod is left alone that could not be evicted."""
_PERIOD = SECOND
"""The least time between two searches."""
_MOST_LOOKED_AT = 50_000
"""How many Pods, or PodGroups as a whole, one search looks at. The next one goes on with the next queue."""
_UNSET = 0

Unit = tuple[VolcanoGatedPod, ...]
"""Pods that are reclaimed together, or not at all."""
Excess = dict[str, set[str]]


class _Promise(NamedTuple):
    """A wish for which Pods are reclaimed, until that moment at most."""

    wish: GangWish
    until: int


class GateReclaim:
    """`victims`: the Pods that are to end, each with the PodGroup for which it goes.

    `gangs` are those of the keeper, by PodGroup, `granted` the Pods whose passing is not stored yet.
    """

    def __init__(self, queues: GateQueues, gangs: Mapping[str, GatedGang], granted: Mapping[str, object]) -> None:
        self.victims: dict[str, str] = {}
        self._queues = queues
        self._gangs = gangs
        self._granted = granted
        self._held: dict[str, dict[str, dict[str, VolcanoGatedPod]]] = {}
        self._places: dict[str, tuple[str, VolcanoGatedPod]] = {}
        self._leaving: dict[str, int] = {}
        self._spared: dict[str, int] = {}
        self._promises: dict[str, _Promise] = {}
        self._balance: dict[str, dict[str, int]] = {}
        self._again = 0
        self._last = ""
        self._changed = False

    # --- what is observed

    def count(self, pod: VolcanoGatedPod, queue: str, times: int) -> None:
        """The Pod counts in the queue; with times -1 no longer."""
        self._changed = True
        group = self._held.setdefault(queue, {}).setdefault(pod.group, {})
        if times > 0:
            group[pod.key] = pod
            self._places[pod.key] = queue, pod
            return
        group.pop(pod.key, None)
        self._places.pop(pod.key, None)
        if not group:
            del self._held[queue][pod.group]
        if not self._held[queue]:
            del self._held[queue]

    def put_pod(self, key: str, before: VolcanoGatedPod | None, pod: VolcanoGatedPod | None) -> None:
        """The Pod as it is stored now; None: it is gone."""
        if pod is None or pod.ended or (before is not None and before.uid != pod.uid):
            for each in (self.victims, self._leaving, self._spared):
                each.pop(key, None)
        elif pod.deleting:
            self._leaving.setdefault(key, _UNSET)

    def changed(self) -> None:
        """Queues or PodGroups have changed."""
        self._changed = True

    def refused(self, key: str) -> None:
        """The Pod could not be deleted."""
        if self.victims.pop(key, None) is not None:
            self._leaving.pop(key, None)
            self._spared[key] = _UNSET
            self._changed = True

    # --- what follows

    def begin(self, now: int) -> None:
        """Forget what has lasted too long, and promises that cannot be kept."""
        for moments, patience in ((self._leaving, PATIENCE), (self._spared, _SPARED)):
            for key, until in [*moments.items()]:
                if until == _UNSET:
                    moments[key] = now + patience
        for key in [key for key, until in self._spared.items() if until <= now]:
            del self._spared[key]
            self._changed = True
        self._count(now)
        for leaf, promise in [*self._promises.items()]:
            if promise.until <= now or not self._is_current(promise.wish) or self._is_vain(leaf, promise.wish):
                self._drop(leaf)
                self._count(now)
        self._reserve()

    def due(self) -> Iterator[GangWish]:
        """The wishes for which there is room now. They come before all others."""
        for leaf, promise in [*self._promises.items()]:
            if not self._is_current(promise.wish):
                continue
            self._take_back(leaf, promise.wish)
            if self._queues.refusal(leaf, promise.wish.need) is None:
                del self._promises[leaf]
                yield promise.wish
            else:
                self._put_back(leaf, promise.wish)

    def choose(self, wishes: Iterable[GangWish], now: int) -> None:
        """Choose the victims, for one wish of each queue at a time."""
        if not self._changed or now < self._again:
            return
        self._changed, self._again = False, now + _PERIOD
        order = self._queues.order
        found: dict[str, list[GangWish]] = {}
        for wish in wishes:
            if wish.queue not in self._promises:
                found.setdefault(wish.queue, []).append(wish)
        open_ones = [name for name in found if self._queues.shut(name) is None]
        ordered = sorted(sorted(open_ones), key=cmp_to_key(order.compare))
        if self._last in ordered:  # the last search ended there, since it had looked at too many
            start = ordered.index(self._last)
            ordered = ordered[start:] + ordered[:start]
        self._last = ""
        candidates = _Candidates(self._last_served_first() if ordered else [], self._units)
        for name in ordered:
            if candidates.looked_at > _MOST_LOOKED_AT:
                self._last, self._changed = name, True
                return
            for wish in sorted(found[name]):
                units = self._units_for(wish, candidates)
                if units is not None:
                    self._promise(wish, units, now)
                    candidates.forget(self._places[pod.key][0] for unit in units for pod in unit)
                    break

    def next(self, now: int) -> int | None:
        """When to look again though nothing changes (nanoseconds)."""
        moments = [*(p.until for p in self._promises.values()), *self._spared.values()]
        if self._promises:
            moments += self._leaving.values()
        if self._changed:
            moments.append(max(self._again, now + 1))
        return min((moment for moment in moments if moment > now), default=None)

    def victims_for(self, group: str, queue: str, need: Need) -> list[str] | None:
        """The Pods for which those of the PodGroup wait; None if nothing is reclaimed for them."""
        promise = self._promises.get(queue)
        if promise is None or (promise.wish.group, promise.wish.need) != (group, need):
            return None
        return sorted(key for key, whose in self.victims.items() if whose == group)

    # --- promises

    def _is_current(self, wish: GangWish) -> bool:
        gang = self._gangs.get(wish.group)
        found = gang.wishes.get(wish.need) if gang is not None else None
        return found is not None and found.queue == wish.queue

    def _promise(self, wish: GangWish, units: list[Unit], now: int) -> None:
        self._promises[wish.queue] = _Promise(wish, now + PATIENCE)
        self._put_back(wish.queue, wish)
        for pod in (pod for unit in units for pod in unit):
            self.victims[pod.key] = wish.group
            self._leaving[pod.key] = now + PATIENCE
            queue, _ = self._places[pod.key]
            self._add(queue, pod.need, -1)
            self._reserve_on(queue)

    def _drop(self, leaf: str) -> None:
        """Forget the promise. Pods that are not being deleted yet may stay."""
        group = self._promises.pop(leaf).wish.group
        self._changed = True
        for key in [key for key, whose in self.victims.items() if whose == group]:
            del self.victims[key]
            place = self._places.get(key)
            if place is None or not place[1].deleting:
                self._leaving.pop(key, None)

    def _count(self, now: int) -> None:
        """Count what is promised, less what will be free once Pods have ended, by queue.

        All of it is counted once for each decision. What one promise changes, changes its path alone.
        """
        self._balance = {}
        for leaf, promise in self._promises.items():
            self._add(leaf, promise.wish.need, 1)
        for key, until in self._leaving.items():
            if key in self._places and until > now:
                queue, pod = self._places[key]
                self._add(queue, pod.need, -1)

    def _add(self, queue: str, need: Need, times: int) -> None:
        for here in self._queues.counting(queue).up():
            add_to(self._balance.setdefault(here.name, {}), dict(need.amounts), times)

    def _take_back(self, leaf: str, wish: GangWish) -> None:
        self._add(leaf, wish.need, -1)
        self._reserve_on(leaf)

    def _put_back(self, leaf: str, wish: GangWish) -> None:
        self._add(leaf, wish.need, 1)
        self._reserve_on(leaf)

    def _reserve(self) -> None:
        self._queues.reserved = {}
        for leaf in self._promises:
            self._reserve_on(leaf)

    def _reserve_on(self, queue: str) -> None:
        """Reserve what is promised in the queue and above. If nothing is promised, nothing is reserved."""
        for here in self._queues.counting(queue).up():
            kept = {name: amount for name, amount in self._balance.get(here.name, {}).items() if amount > 0}
            if kept:
                self._queues.reserved[here.name] = kept
            else:
                self._queues.reserved.pop(here.name, None)

    # --- victims

    def _is_vain(self, leaf: str, wish: GangWish) -> bool:
        """Whether the wish does not fit even once all that leave have left."""
        self._add(leaf, wish.need, -1)
        excess = _Search(self._queues, self._balance, wish).excess
        self._add(leaf, wish.need, 1)
        return bool(excess)

    def _units_for(self, wish: GangWish, candidates: _Candidates) -> list[Unit] | None:
        """Choose the victims of the wish: empty if enough Pods are ending already; None if it has to wait."""
        refusal = self._queues.refusal(wish.queue, wish.need)
        if refusal is None or refusal.reason != QUOTA or not wish.reclaims:
            return None
        search = _Search(self._queues, self._balance, wish)
        claims = search.claims()
        if not claims:
            return None
        chosen: list[tuple[Node, Unit]] = []
        for leaf in self._nearest(search.leaf, candidates.queues):
            wanted = search.wanted(leaf, claims)
            for unit in candidates.units(leaf.name) if wanted else ():
                if not wanted.isdisjoint(_freed(unit)):
                    if not search.take(leaf, unit):
                        break
                    chosen.append((leaf, unit))
                    wanted = search.wanted(leaf, claims)
                if not wanted:
                    break
        if search.excess:
            return None
        return [unit for leaf, unit in chosen if not search.may_stay(leaf, unit)]

    def _last_served_first(self) -> list[Node]:
        """The queues with Pods that may be reclaimed, in the reverse order of service: once for all wishes."""
        order = self._queues.order

        def compare(a: Node, b: Node) -> int:
            return order.compare(b.name, a.name)

        nodes = (self._queues.queues.get(name) for name in sorted(self._held))
        found = [node for node in nodes if node and node.settings.reclaimable and not node.detached]
        return sorted(found, key=cmp_to_key(compare))

    def _nearest(self, mine: Node, last_served: Iterable[Node]) -> list[Node]:
        """The other queues, by the deepest common ancestor first; of equally near ones the order stays."""
        above = self._queues.order.above
        path = above(mine)
        others = (node for node in last_served if node is not mine)
        return sorted(others, key=lambda node: -common_depth(above(node), path))

    def _units(self, queue: str) -> Iterator[Unit]:
        """Yield Pods that may be reclaimed: last served first, those beyond a minimum before the whole PodGroup."""
        for name in sorted(self._held[queue], key=self._rank, reverse=True):
            pods = [pod for key, pod in self._held[queue][name].items() if key not in self._leaving]
            pods.sort(key=lambda pod: (-pod.priority, pod.created, pod.key), reverse=True)
            gang = self._gangs.get(name)
            least = gang.least if gang is not None and name else 0
            spare = len(pods) - least if least > 1 else len(pods)
            going = pods[: max(0, spare)]
            yield from ((pod,) for pod in going if self._may_go(pod))
            rest = tuple(pods[len(going) :])
            if rest and all(map(self._may_go, rest)):
                yield rest

    def _rank(self, group: str) -> tuple[int, int, str]:
        found = self._gangs.get(group)
        of = found.group if found is not None else None
        return (-of.priority, of.created, group) if of is not None else (0, 0, group)

    def _may_go(self, pod: VolcanoGatedPod) -> bool:
        return not (pod.stays or pod.gated or pod.deleting or pod.key in self._spared or pod.key in self._granted)


class _Candidates:
    """The units that may be reclaimed, read once for all wishes of one search. `looked_at` counts those asked for."""

    def __init__(self, queues: Sequence[Node], units: Callable[[str], Iterable[Unit]]) -> None:
        self.queues = queues
        self.looked_at = 0
        self._read = units
        self._units: dict[str, list[Unit]] = {}

    def units(self, queue: str) -> Iterator[Unit]:
        """Yield them in their order."""
        found = self._units.get(queue)
        if found is None:
            found = self._units[queue] = [*self._read(queue)]
        self.looked_at += 1
        for unit in found:
            self.looked_at += 1
            yield unit

    def forget(self, queues: Iterable[str]) -> None:
        """Pods of these queues leave."""
        for queue in queues:
            self._units.pop(queue, None)


class _Search:
    """The queues as if those that leave had left, and what is promised were taken. `excess`: where the wish does not
    fit then, the resources by queue."""

    def __init__(self, queues: GateQueues, balance: Mapping[str, Amounts], wish: GangWish) -> None:
        self.leaf = queues.queues.tree.nodes[wish.queue]
        self._queues = queues
        self._balance = balance
        self._need = dict(wish.need.amounts)
        self._path = [*self.leaf.up()]
        self._used: dict[str, dict[str, int]] = {}
        self.excess = self._now()

    def claims(self) -> dict[str, Node]:
        """The resources that may be reclaimed, each with the queue that deserves them."""
        short = {resource for resources in self.excess.values() for resource in resources}
        if not short:  # enough are leaving; it may wait for them if it might have reclaimed them
            short = set(self._need)
        found = {resource: self._deserving(resource) for resource in sorted(short)}
        return {resource: node for resource, node in found.items() if node is not None}

    def _deserving(self, resource: str) -> Node | None:
        """The nearest queue that names the resource, if it stays within what it deserves of it."""
        for node in self._path:
            deserved = self._queues.queues.deserved(node)
            if node.name != ROOT and resource in deserved:
                return node if self._at(node).get(resource, 0) + self._need[resource] <= deserved[resource] else None
        return None

    def wanted(self, leaf: Node, claims: Mapping[str, Node]) -> set[str]:
        """The resources that help if Pods of this queue free some; empty if nobody there needs to be looked at."""
        above = {node.name for node in leaf.up()} if self.excess else set()
        return {
            resource
            for name, resources in self.excess.items()
            if name in above
            for resource in resources
            if resource in claims and claims[resource].name not in above
        }

    def take(self, leaf: Node, unit: Unit) -> bool:
        """Take the Pods away, unless a queue that only they are in had less than it deserves then."""
        freed = _sum(unit)
        for node in leaf.up():
            if node in self._path:
                break
            deserved, used = self._queues.queues.deserved(node), self._at(node)
            if any(used.get(r, 0) - a < min(deserved.get(r, 0), used.get(r, 0)) for r, a in freed.items()):
                return False
        self._move(leaf, freed, -1)
        return True

    def may_stay(self, leaf: Node, unit: Unit) -> bool:
        """Put the Pods back if the wish fits all the same."""
        self._move(leaf, _sum(unit), 1)
        if self.excess:
            self._move(leaf, _sum(unit), -1)
            return False
        return True

    def _move(self, leaf: Node, amounts: Amounts, times: int) -> None:
        for node in leaf.up():
            add_to(self._at(node), amounts, times)
        self.excess = self._now()

    def _at(self, node: Node) -> dict[str, int]:
        if node.name not in self._used:
            self._used[node.name] = total(node.amounts(ALLOCATED), self._balance.get(node.name, {}))
        return self._used[node.name]

    def _now(self) -> Excess:
        found: Excess = {}
        for node in self._path:
            limit, unnamed = self._queues.queues.limit(node), self._queues.queues.unnamed
            lacks = shortages(node.name, self._at(node), self._need, limit, unnamed)
            if short := {lack.resource for lack in lacks}:
                found[node.name] = short
        return found


def _freed(unit: Unit) -> set[str]:
    return {resource for pod in unit for resource, amount in pod.need.amounts if amount > 0}


def _sum(unit: Unit) -> dict[str, int]:
    return total(*(dict(pod.need.amounts) for pod in unit))
