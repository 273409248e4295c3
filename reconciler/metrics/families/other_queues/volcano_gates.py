"""The usage and the limits of Volcano's queues, if their Pods wait at gates."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from cluster.metrics import Family, Sample
from policies.dialects.volcano_resources import BASIC
from reconciler.metrics.families.other_queues.volcano_queues import quotient
from reconciler.metrics.source import source
from scheduling.volcano.gates.gatekeeper import VolcanoGatekeeper
from scheduling.volcano.queues import ALLOCATED, Node, QueueAccounts
from scheduling.volcano.resources import PODS, nano

_LABELS = ("queue", "resource")
USAGE = Family(
    "quotree_gates_queue_usage",
    "Usage of the Volcano Queue and its subtree: Pods that passed the gate or ran before, on a node or not.",
    _LABELS,
)
LIMIT = Family(
    "quotree_gates_queue_limit", "The realCapability of the Volcano Queue; no series where it is unlimited.", _LABELS
)


@source(VolcanoGatekeeper, USAGE, LIMIT)
def queues(keeper: VolcanoGatekeeper) -> Iterator[Sample]:
    """The queues. Only resources that a Queue names have series, because any user can name new ones in a Pod. `pods` in
    Queues does not count.
    """
    every = keeper.queues.queues
    named = sorted({*BASIC, *(name for node in every for name in _named(node))} - {PODS})
    for node in every:
        yield from _samples(every, node, named)


def _samples(every: QueueAccounts, node: Node, named: list[str]) -> Iterator[Sample]:
    used, limits, unnamed = node.amounts(ALLOCATED), every.limit(node), every.unnamed
    for resource in named:
        amount, limit = used.get(resource, 0), limits.get(resource, unnamed)
        if amount or limit < inf or resource in BASIC:
            yield USAGE.sample(quotient(nano(resource, amount), 10**9), node.name, resource)
        if limit < inf:
            yield LIMIT.sample(quotient(nano(resource, limit), 10**9), node.name, resource)


def _named(node: Node) -> Iterator[str]:
    own = node.settings
    yield from own.capability or ()
    yield from own.guarantee
    yield from own.deserved
