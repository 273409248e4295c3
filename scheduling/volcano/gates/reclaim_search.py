"""Searches the Pods that have to be reclaimed for one batch: what it lacks, who may claim it, and what a Pod frees."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from scheduling.objects.amounts import add_to
from scheduling.queue_tree.amounts import Amounts, total
from scheduling.volcano.gates.gang import PodBatch
from scheduling.volcano.gates.gate_queues import GateQueues
from scheduling.volcano.gates.gated_pod import VolcanoGatedPod
from scheduling.volcano.queues import ALLOCATED, ROOT, Node
from scheduling.volcano.resources import shortages

MOST_LOOKED_AT = 50_000
"""How many Pods and queues one search looks at. The next search goes on with the queue after it."""

Unit = tuple[VolcanoGatedPod, ...]
"""Pods that are reclaimed together, or not at all."""
Excess = dict[str, set[str]]


class ReclaimCandidates:
    """The units that may be reclaimed, read once for all batches of a search.

    leaving: the Pods that leave, also those that this search has chosen.
    looked_at: the number of Pods and queues that were looked at.
    """

    def __init__(self, queues: Sequence[Node], units: Callable[[str], Iterable[Unit]], leaving: Container[str]) -> None:
        self.queues = queues
        self.looked_at = 0
        self._read = units
        self._leaving = leaving
        self._units: dict[str, list[Unit]] = {}

    @property
    def is_exhausted(self) -> bool:
        """Whether the search has reached its limit."""
        return self.looked_at > MOST_LOOKED_AT

    def units(self, queue: str) -> Iterator[Unit]:
        found = self._units.get(queue)
        if found is None:
            found = self._units[queue] = [*self._read(queue)]
        for unit in found:
            self.looked_at += len(unit)
            if unit[0].key not in self._leaving:
                yield unit


class ReclaimSearch:
    """The usage of queues after all leaving Pods have ended and all promised batches have passed.

    excess: the resources that the batch then still lacks, by queue.
    """

    def __init__(self, queues: GateQueues, balance: Mapping[str, Amounts], batch: PodBatch) -> None:
        self.leaf = queues.queues.tree.nodes[batch.queue]
        self._queues = queues
        self._balance = balance
        self._need = dict(batch.need.amounts)
        self._path = [*self.leaf.up()]
        self._used: dict[str, dict[str, int]] = {}
        self.excess = self._now()

    def claims(self) -> dict[str, Node]:
        """The resources that may be reclaimed, each with the queue that deserves them."""
        short = {resource for resources in self.excess.values() for resource in resources}
        if not short:  # enough Pods are leaving; a promise needs the same right as a reclaim
            short = set(self._need)
        found = {resource: self._deserving(resource) for resource in sorted(short)}
        return {resource: node for resource, node in found.items() if node is not None}

    def _deserving(self, resource: str) -> Node | None:
        """The nearest queue that names a deserved amount of the resource, if it stays within it; else None."""
        for node in self._path:
            deserved = self._queues.queues.deserved(node)
            if node.name != ROOT and resource in deserved:
                return node if self._at(node).get(resource, 0) + self._need[resource] <= deserved[resource] else None
        return None

    def wanted(self, leaf: Node, claims: Mapping[str, Node]) -> set[str]:
        """The resources that victims in this queue would have to free; empty if the queue cannot help."""
        above = {node.name for node in leaf.up()} if self.excess else set()
        return {
            resource
            for name, resources in self.excess.items()
            if name in above
            for resource in resources
            if resource in claims and claims[resource].name not in above
        }

    def take(self, leaf: Node, unit: Unit) -> bool:
        """Remove the Pods.

        Returns False, without removing them, if a queue outside of the path would get too little.
        """
        lost = _sum(unit)
        for node in leaf.up():
            if node in self._path:
                break
            deserved, used = self._queues.queues.deserved(node), self._at(node)
            if any(used.get(r, 0) - a < min(deserved.get(r, 0), used.get(r, 0)) for r, a in lost.items()):
                return False
        self._move(leaf, lost, -1)
        return True

    def may_stay(self, leaf: Node, unit: Unit) -> bool:
        """Put the Pods back if the batch fits without their room. Returns whether it does."""
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


def freed(unit: Unit) -> set[str]:
    """The resources that the Pods request."""
    return {resource for pod in unit for resource, amount in pod.need.amounts if amount > 0}


def _sum(unit: Unit) -> dict[str, int]:
    return total(*(dict(pod.need.amounts) for pod in unit))
