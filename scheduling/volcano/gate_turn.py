"""One round of decisions at the gate: what is awake is tried in Volcano's order, until nothing more fits."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from scheduling.volcano.gang import Order, Wish
from scheduling.volcano.gate_queues import QUOTA, GateQueues
from scheduling.volcano.gated_pod import Need
from scheduling.volcano.lines import LineKey, Lines
from scheduling.volcano.order import Line
from scheduling.volcano.queue_order import QueueOrder


class Turn:
    """`grant` carries out that the Pods of a wish pass, and puts into the lines what they make possible."""

    def __init__(self, lines: Lines, queues: GateQueues, grant: Callable[[Wish], None]) -> None:
        self._lines = lines
        self._queues = queues
        self._grant = grant
        self._order = QueueOrder(queues.queues)
        self._heads: dict[str, list[tuple[Order, Need]]] = {}
        self._lined_up: set[LineKey] = set()

    def run(self) -> None:
        """Who completes a gang comes first, wherever: else another could take the room that its gang has got."""
        self._take()
        for queue in [name for name in self._heads if self._queues.shut(name)]:
            for _, need in self._heads.pop(queue):
                self._lines.rests.rest((queue, need), frozenset())  # until any queue changes
        for queue in sorted(self._heads):
            while self._heads[queue] and self._completes(queue):
                self._serve(queue)
        turns = Line(self._compare, [queue for queue in sorted(self._heads) if self._heads[queue]])
        while turns:
            queue = turns.pop()
            self._serve(queue)
            if self._heads[queue]:
                turns.put(queue)

    def _take(self) -> None:
        """What is awake by now, and was not when it was taken last."""
        for queue, need in self._lines.rests.take():
            self._line_up(queue, need)

    def _line_up(self, queue: str, need: Need) -> None:
        first = self._lines.first(queue, need)
        if first is not None and (queue, need) not in self._lined_up:
            self._lined_up.add((queue, need))
            heappush(self._heads.setdefault(queue, []), (first.order, need))

    def _completes(self, queue: str) -> bool:
        return not self._heads[queue][0][0][0]

    def _compare(self, a: str, b: str) -> int:
        nodes = self._queues.queues.tree.nodes
        places = [(nodes[name].settings.created, name) for name in (a, b)]
        return self._order.compare(a, b) or (-1 if places[0] < places[1] else 1)

    def _serve(self, queue: str) -> None:
        """Try what comes first in the queue."""
        order, need = heappop(self._heads[queue])
        self._lined_up.discard((queue, need))
        wish = self._lines.first(queue, need)
        if wish is None or wish.order != order:  # another one has taken its place, or left it
            self._line_up(queue, need)
            return
        refusal = self._queues.refusal(queue, need)
        if refusal is not None:
            short = [refusal.queue] if refusal.reason == QUOTA else []
            self._lines.rests.rest((queue, need), frozenset(short))
            return
        self._order.counts(self._queues.queues.tree.nodes[queue])
        self._grant(wish)
        self._take()
        self._line_up(queue, need)
