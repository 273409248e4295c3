"""Volcano's queues, as the reconciler uses them to decide which Pods lose their scheduling gate: usage, faults, and
whether a request fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from policies.dialects.volcano import BUILT_IN
from scheduling.objects.amounts import add_to
from scheduling.queue_tree.amounts import Amounts, Shortage, total
from scheduling.volcano.gates.gated_pod import GatedQueue, Need
from scheduling.volcano.objects import VolcanoQueueSettings
from scheduling.volcano.queue_order import QueueOrder
from scheduling.volcano.queues import ALLOCATED, ROOT, Node, QueueAccounts
from scheduling.volcano.resources import amount_text, shortages

QUOTA = "NotEnoughQueueQuota"
NOT_FOUND = "QueueNotFound"
NOT_OPEN = "QueueNotOpen"
NOT_A_LEAF = "QueueHasChildren"
UNREADABLE = "UnreadableQueue"
BROKEN_TREE = "BrokenQueueTree"
DEVICES = "DevicesNotCounted"
RECLAIM = "WaitsForReclaim"
_NOTHING: Mapping[str, int] = {}
REASONS = (QUOTA, NOT_FOUND, NOT_OPEN, NOT_A_LEAF, UNREADABLE, BROKEN_TREE, DEVICES, RECLAIM)


@dataclass(frozen=True, slots=True)
class PodWait:
    """Why a Pod waits.

    reason: one of REASONS, or of the reasons in `gatekeeper.py`.
    queue: the queue that blocks the Pod; empty if none does.
    lacks: the amounts that are short in that queue.
    """

    reason: str
    queue: str = ""
    message: str = ""
    lacks: tuple[Shortage, ...] = ()


class GateQueues:
    """Queues with their usage. The queues that Volcano creates at its start always exist.

    checks_sums: nothing enters any queue while the children of one queue are promised more than it has.
    root_from_nodes: the capability of root follows from the Nodes, and is not compared with those of its children.
    """

    def __init__(self, *, checks_sums: bool = False, root_from_nodes: bool = False) -> None:
        self._checks_sums = checks_sums
        self._root_from_nodes = root_from_nodes
        # the cached result of `broken_sum`, in a list; empty if outdated
        self._broken: list[tuple[str, str] | None] = []
        self.queues = QueueAccounts(nodes=False)
        self.order = QueueOrder(self.queues)
        self._flaws: dict[str, str] = {}  # why queues cannot be read, by queue
        self._own: dict[str, dict[str, int]] = {}  # the usage of each queue without its descendants
        self.reserved: dict[str, dict[str, int]] = {}
        """Free quota that is reserved, by queue: reclaimed Pods freed it for the batches with a promise."""
        for name in BUILT_IN:
            self.queues.put(VolcanoQueueSettings(name))

    def put(self, name: str, queue: GatedQueue | None) -> bool:
        """Store a queue; None removes it. Returns whether it changed."""
        node = self.queues.get(name)
        if queue is None and name in BUILT_IN:
            queue = GatedQueue(VolcanoQueueSettings(name))
        before = GatedQueue(node.settings, self._flaws.get(name, "")) if node is not None else None
        if before == queue:
            return False
        self._move(name, -1)
        if queue is None:
            self.queues.drop(name)
        else:
            self.queues.put(queue.settings)
        self._move(name, 1)
        self._broken.clear()
        self.order = QueueOrder(self.queues)
        self._flaws.pop(name, None)
        if queue is not None and queue.flaw:
            self._flaws[name] = queue.flaw
        return True

    def count(self, name: str, need: Need, times: int = 1) -> None:
        """Add the need to the usage of the queue and its ancestors; with `times` -1, remove it.

        The need of Pods whose queue was deleted counts in root.
        """
        amounts, own = dict(need.amounts), self._own.setdefault(name, {})
        add_to(own, amounts, times)
        if not own:
            del self._own[name]
        node = self.counting(name)
        node.add(ALLOCATED, amounts, times)
        self.order.changed(node)

    def is_over(self, lack: Shortage) -> bool:
        """Whether the queue uses more than the limit that was found short."""
        node = self.queues.get(lack.queue)
        return node is not None and node.amounts(ALLOCATED).get(lack.resource, 0) > lack.limit

    def counting(self, name: str) -> Node:
        """The queue of this name, or root if it was deleted: Pods admitted in a deleted queue count in root."""
        return self.queues.get(name) or self.queues.tree.nodes[ROOT]

    def refusal(self, name: str, need: Need, elastic: Iterable[tuple[str, Mapping[str, int]]] = ()) -> PodWait | None:
        """Why the need does not fit in the queue now; None if it fits.

        elastic: amounts by queue that do not count as used, in the queue and all its ancestors.
        """
        shut = self.shut(name)
        if shut is not None:
            return shut
        spared: dict[str, dict[str, int]] = {}
        for queue, amounts in elastic:
            for here in self.counting(queue).up():
                add_to(spared.setdefault(here.name, {}), amounts)
        for here in self.queues.tree.nodes[name].up():
            if need.claims and here.settings.devices:
                message = f"limits {', '.join(sorted(here.settings.devices))}, and claims of devices are not counted"
                return PodWait(DEVICES, here.name, message)
            if lacks := self._shortages(here, need, spared.get(here.name, {})):
                return PodWait(QUOTA, here.name, lacks=lacks)
        return None

    def fits_at(self, name: str, need: Need) -> bool:
        """Whether the need fits within the limit of this queue alone, without its ancestors and descendants."""
        node = self.queues.get(name)
        return node is None or not self._shortages(node, need)

    def shut(self, name: str) -> PodWait | None:
        """Why nothing may enter the queue, whatever its size; None if the queue is open."""
        node = self.queues.get(name)
        if node is None:
            return PodWait(NOT_FOUND, name, "does not exist")
        if node.children:
            return PodWait(NOT_A_LEAF, name, "has children; only a queue without children takes work")
        return next(self._faults(node), None)

    def _shortages(self, node: Node, need: Need, spared: Mapping[str, int] = _NOTHING) -> tuple[Shortage, ...]:
        limit, used = self.queues.limit(node), node.amounts(ALLOCATED)
        if kept := self.reserved.get(node.name):
            used = total(used, kept)
        if spared:
            used = {key: amount - spared.get(key, 0) for key, amount in used.items()}
        return (*shortages(node.name, used, dict(need.amounts), limit, self.queues.unnamed),)

    def _faults(self, node: Node) -> Iterator[PodWait]:
        for here in node.up():
            if flaw := self._flaws.get(here.name):
                yield PodWait(UNREADABLE, here.name, f"cannot be read: {flaw}")
            if not here.settings.is_open:
                yield PodWait(NOT_OPEN, here.name, f"is {here.settings.state}")
        if self._checks_sums:
            if not self._broken:
                self._broken.append(broken_sum(self.queues, root_from_nodes=self._root_from_nodes))
            if (broken := self._broken[0]) is not None:
                yield PodWait(BROKEN_TREE, *broken)
        stray = node.detached
        if stray is not None:
            wrong = "lies on a cycle" if stray.on_cycle else f"has the parent {stray.above}, which does not exist"
            yield PodWait(BROKEN_TREE, stray.name, wrong)

    def _move(self, name: str, times: int) -> None:
        """Add the usage of the queue to its place in the tree, or to root; with `times` -1, take it away."""
        if name in self._own:
            self.counting(name).add(ALLOCATED, self._own[name], times)


def broken_sum(queues: QueueAccounts, *, root_from_nodes: bool) -> tuple[str, str] | None:
    """The first queue by name that has less than its children are promised, with a message; None if there is none.

    The deserved and guaranteed amounts of root follow from its children, so only its capability is compared. With
    `root_from_nodes` its capability follows from the Nodes and is not compared: the loss of a Node must not stop all
    queues. Source: Volcano, docs/design/hierarchical-queue-on-capacity-plugin.md, OnSessionOpen.
    """
    for node in sorted(queues, key=lambda each: each.name):
        for message in _faults(node, root_from_nodes):
            return node.name, message
    return None


def _faults(node: Node, root_from_nodes: bool) -> Iterator[str]:
    children = [node.children[name] for name in sorted(node.children)]
    if node.name != ROOT:
        for verb, held, promised in (
            ("are guaranteed", node.settings.guarantee, [each.settings.guarantee for each in children]),
            ("deserve", node.settings.deserved, [each.settings.deserved for each in children]),
        ):
            for resource, amount, has in _exceeding(total(*promised), held):
                promise, share = amount_text(resource, amount), amount_text(resource, has)
                yield f"its children {verb} {resource}={promise}, it has {share}"
    for child in children:
        above: dict[str, int] = {}
        for here in reversed([*node.up()]):
            if here.name != ROOT or not root_from_nodes:
                above |= here.settings.capability or {}
        wanted = {key: amount for key, amount in (child.settings.capability or {}).items() if key in above}
        for resource, amount, has in _exceeding(wanted, above):
            limits = f"{resource}={amount_text(resource, amount)}, its own is {amount_text(resource, has)}"
            yield f"the capability of its child {child.name} is {limits}"


def _exceeding(amounts: Amounts, held: Amounts) -> Iterator[tuple[str, int, int]]:
    for resource, amount in sorted(amounts.items()):
        if amount > held.get(resource, 0):
            yield resource, amount, held.get(resource, 0)
