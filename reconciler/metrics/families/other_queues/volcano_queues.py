"""The contents of Volcano's queues. Source: Volcano v1.16, metrics of its scheduler and controllers, queue.go."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from cluster.metrics import Family, Sample, Stability
from policies.dialects.volcano_resources import BASIC
from reconciler.metrics.source import source
from scheduling.volcano.resources import CPU, MEMORY, PODS
from scheduling.volcano_queues.tree import Sums, VolcanoQueueTree
from scheduling.volcano_queues.vcctl import PHASES

_QUEUE = "queue_name"


def _gauge(name: str, help: str, *labels: str) -> Family:
    return Family(f"volcano_queue_{name}", help, (_QUEUE, *labels), stability=Stability.VOLCANO)


_HELD = "of Pods on nodes, in the queue and its descendants"
MILLI_CPU = _gauge("allocated_milli_cpu", f"CPU requests {_HELD}, in thousandths.")
MEMORY_BYTES = _gauge("allocated_memory_bytes", f"Memory requests {_HELD}.")
SCALARS = _gauge(
    "allocated_scalar_resources", f"Other requests {_HELD}: whole Pods, thousandths of all else.", "resource"
)
GROUPS = {
    phase: _gauge(f"pod_group_{phase.lower()}_count", f"PodGroups of the queue itself that are {phase}.")
    for phase in PHASES
}
QUOTA = Family(
    "quotree_volcano_queue_quota",
    "Amounts in the spec of the Queue; the field is capability, deserved or guarantee.",
    (_QUEUE, "field", "resource"),
)


@source(VolcanoQueueTree, MILLI_CPU, MEMORY_BYTES, SCALARS, *GROUPS.values(), QUOTA)
def queues(tree: VolcanoQueueTree) -> Iterator[Sample]:
    """The queues. Only resources that a Queue names have series, because any user can name new ones in a Pod."""
    every = tree.queues
    named = {name for queue in every.values() for amounts in queue.quota.values() for name in amounts}
    for name, queue in every.items():
        yield from _allocated(name, tree.sums(name), named)
        own = tree.own(name)
        for phase, family in GROUPS.items():
            yield family.sample(own["phase", phase], name)
        for field, amounts in queue.quota.items():
            for resource, quantity in amounts.items():
                yield QUOTA.sample(quotient(quantity.nano, 10**9), name, field, resource)


def _allocated(name: str, sums: Sums, named: set[str]) -> Iterator[Sample]:
    yield MILLI_CPU.sample(quotient(sums["amount", CPU], 10**6), name)
    yield MEMORY_BYTES.sample(quotient(sums["amount", MEMORY], 10**9), name)
    for resource in sorted({*named, PODS} - {*BASIC}):
        unit = 10**9 if resource == PODS else 10**6
        yield SCALARS.sample(quotient(sums["amount", resource], unit), name, resource)


def quotient(nano: int, unit: int) -> float:
    """The quotient as a float; infinity if it is too large for a float, because a Queue may name such an amount."""
    try:
        return nano / unit
    except OverflowError:
        return inf
