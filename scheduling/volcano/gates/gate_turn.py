"""One round of decisions at the gate, in Volcano's order, until nothing more fits.

A *line* is a list of equal batches (`lines.py`). Lines that are parked because of the same queue, and need the same
amounts, form one contest: they compete for the free quota of that queue. Once these amounts no longer fit there, none
of the lines is tried any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from scheduling.volcano.gates.gang import PodBatch
from scheduling.volcano.gates.gate_queues import QUOTA, GateQueues
from scheduling.volcano.gates.gated_pod import Need
from scheduling.volcano.gates.lines import GateLines, LineKey
from scheduling.volcano.order import PriorityQueue


class _Contest:
    """Lines that compete, in their order.

    Serving a queue lowers its rank. A line whose queue was served after the line was put in is therefore put in again.

    head: the first line, which is not in the priority queue.
    place: the queue that was short, and what all lines need there; None for lines that may wait for any queue.
    """

    def __init__(self, round_: DecisionRound, keys: Iterable[LineKey], place: tuple[str, Need] | None = None) -> None:
        self.place = place
        self.head: LineKey | None = None
        self._round = round_
        self._since: dict[LineKey, int] = {}  # by line: how often its queue had been served when the line was put in
        self._line: PriorityQueue[LineKey] = PriorityQueue(round_.compare)  # the other lines
        for key in keys:
            self.put(key)
        self.advance()

    def put(self, key: LineKey) -> None:
        self._since[key] = self._round.served[key[0]]
        self._line.put(key)

    def advance(self) -> None:
        """Remove the head, and take the next line as the head."""
        self.head = None
        while self._line and self.head is None:
            key = self._line.pop()
            if self._since[key] != self._round.served[key[0]]:
                self.put(key)
            elif self._round.lines.first(key) is not None:
                self.head = key

    def outdated(self) -> bool:
        return self.head is not None and self._since[self.head] != self._round.served[self.head[0]]


class DecisionRound:
    """A round. `grant` lets the Pods of a batch pass, and adds the batches that may follow to the lines."""

    def __init__(self, lines: GateLines, queues: GateQueues, grant: Callable[[PodBatch], None]) -> None:
        self.lines = lines
        self.served: Counter[str] = Counter()  # how many batches of each queue have passed in this round
        self._queues = queues
        self._grant = grant
        self._order = queues.order
        self._contests: PriorityQueue[_Contest] = PriorityQueue(lambda a, b: self.compare(a.head, b.head))

    def run(self) -> None:
        self._order.begin()
        self._begin()
        while self._contests:
            contest = self._contests.pop()
            if contest.outdated() and contest.head is not None:
                contest.put(contest.head)
                contest.advance()
            elif contest.place is None or self._queues.fits_at(*contest.place):
                self._serve(contest)
            else:
                continue
            if contest.head is not None:
                self._contests.put(contest)

    def _begin(self) -> None:
        released, self.lines.released = self.lines.released, {}
        for name in released:
            for need, keys in self.lines.behind(name):
                if self._queues.fits_at(name, need):
                    self._enter(_Contest(self, keys, (name, need)))
        self._take()

    def _take(self) -> None:
        """Add the lines that were woken since the last call as one contest."""
        if not self.lines.awake:
            return
        awake, self.lines.awake = self.lines.awake, {}
        # a round only takes quota, so refused lines stay refused: they are parked without being sorted
        self._enter(_Contest(self, [key for key in awake if not self._refused(key)]))

    def _enter(self, contest: _Contest) -> None:
        if contest.head is not None:
            self._contests.put(contest)

    def _serve(self, contest: _Contest) -> None:
        key = contest.head
        batch = self.lines.first(key) if key is not None else None
        if key is not None and batch is not None and self._passes(key, batch):
            contest.put(key)
        contest.advance()
        self._take()

    def _passes(self, key: LineKey, batch: PodBatch) -> bool:
        """Let the first batch of the line pass, if it fits. Returns whether the line has another batch to try."""
        if self._refused(key):
            return False
        self._order.counts(self._queues.queues.tree.nodes[key[0]])
        self.served[key[0]] += 1
        self._grant(batch)
        return self.lines.first(key) is not None and key not in self.lines.awake

    def _refused(self, key: LineKey) -> bool:
        """Whether the line does not fit now. Then it is parked."""
        refusal = self._queues.refusal(*key)
        if refusal is not None:
            self.lines.park(key, refusal.queue if refusal.reason == QUOTA else "")
        return refusal is not None

    def compare(self, a: LineKey | None, b: LineKey | None) -> int:
        """Below 0: `a` is served first.

        Pods that complete a gang come before all others, in every queue. Otherwise other Pods could take the room that
        the gang counts on.
        """
        first, second = (self.lines.first(key) if key is not None else None for key in (a, b))
        if first is None or second is None or a is None or b is None:
            return (first is None) - (second is None)
        if first.order[0] != second.order[0]:
            return -1 if second.order[0] else 1
        if a[0] != b[0]:
            return self._order.compare(a[0], b[0]) or self._by_age(a[0], b[0])
        return -1 if first.order < second.order else 1

    def _by_age(self, a: str, b: str) -> int:
        nodes = self._queues.queues.tree.nodes
        return -1 if (nodes[a].settings.created, a) < (nodes[b].settings.created, b) else 1
