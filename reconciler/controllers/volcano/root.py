"""Sets `deserved` and `capability` of the queue root to the sum of the ready Nodes.

In Volcano's design the scheduler does that in each session, but Volcano's scheduler does not implement it. A field that
another client has set is not written. While no Node is ready, the amounts are not changed.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any

from cluster.actions import Action, Create
from policies.dialects.volcano import AMOUNTS_FROM_NODES
from reconciler.controllers.volcano.kinds import NODE_AMOUNTS, QUEUES
from reconciler.controllers.volcano.queue_writers import AMOUNTS, FIELD_MANAGER, QueueWriters
from reconciler.controllers.volcano.queue_writes import patch, quantity
from reconciler.objects.observed import Observed
from reconciler.objects.stored import Stored
from scheduling.objects.times import SECOND
from scheduling.volcano_queues.queue_object import TOP, QueueObject
from scheduling.volcano_queues.vcctl import new_queue

log = logging.getLogger(__name__)
ROOT_PERIOD = 10 * SECOND
"""The shortest time in nanoseconds between two writes of root's amounts."""


class RootAmounts:
    """The sum of the Nodes, and which amounts of root other clients have set."""

    def __init__(self) -> None:
        self._nodes: dict[str, tuple[tuple[str, int], ...]] = {}
        self._total: Counter[str] = Counter()
        self._others: Mapping[str, str] = {}
        self._reported: Mapping[str, str] = {}

    def observe_node(self, observed: Observed[object]) -> None:
        name, amounts = observed.key[1], NODE_AMOUNTS.value(observed) or ()
        for resource, nano in self._nodes.pop(name, ()):
            self._total[resource] -= nano
            if not self._total[resource]:
                del self._total[resource]
        if amounts:
            self._nodes[name] = amounts
            self._total.update(dict(amounts))

    def observe_writers(self, writers: QueueWriters | None) -> None:
        """Remember which amounts of root other clients have set."""
        self._others = writers.amounts if writers is not None else {}

    def write(self, queue: QueueObject | None, stored: Stored | None) -> Action | None:
        """The write that creates root or updates its amounts; None if nothing has to change."""
        if queue is None or stored is None:
            return Create(QUEUES, self._new(), FIELD_MANAGER)
        others, self._reported = self._others.items() - self._reported.items(), self._others
        for field, manager in sorted(others):
            log.warning("spec.%s of queue root was set by %s, so it does not follow the Nodes", field, manager)
        if not self._nodes or queue.deleting:
            return None
        ours = [field for field in AMOUNTS if field not in self._others]
        held = queue.quota
        spec: dict[str, Any] = {}
        for field in ours:
            before = {resource: amount.nano for resource, amount in held.get(field, {}).items()}
            if before != self._total:
                spec[field] = {**dict.fromkeys(before), **self._written()}
        body: dict[str, Any] = {"spec": spec} if spec else {}
        followed = ",".join(ours)
        if stored.annotations.get(AMOUNTS_FROM_NODES, "") != followed:
            body["metadata"] = {"annotations": {AMOUNTS_FROM_NODES: followed or None}}
        return patch(TOP, body, stored.version) if body else None

    def _new(self) -> Mapping[str, Any]:
        """A new root as Volcano's scheduler would create it, with the amounts added."""
        made = new_queue(TOP, 1, "")
        amounts = dict.fromkeys(AMOUNTS, self._written()) if self._nodes else {}
        notes = {"annotations": {AMOUNTS_FROM_NODES: ",".join(AMOUNTS)}} if amounts else {}
        return {
            **made,
            "metadata": {**made["metadata"], **notes},
            "spec": {**made["spec"], "reclaimable": False, **amounts},
        }

    def _written(self) -> dict[str, str]:
        return {resource: str(quantity(resource, nano)) for resource, nano in sorted(self._total.items())}
