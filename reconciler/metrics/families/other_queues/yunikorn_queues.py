"""The usage and the limits of YuniKorn's queues. Source: YuniKorn core after 1.9, pkg/metrics/queue.go and callers."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Family, Sample, Stability
from policies.dialects.yunikorn import VCORE
from reconciler.metrics.source import source
from scheduling.yunikorn.gates.gatekeeper import YuniKornGatekeeper
from scheduling.yunikorn.queue import YuniKornQueue
from scheduling.yunikorn.usage import amounts, applications_below

RESOURCE = Family(
    "yunikorn_queue_resource",
    "Amounts of the queue with its descendants; the state is max, guaranteed, allocated or pending.",
    ("queue", "state", "resource"),
    stability=Stability.YUNIKORN,
)
APPLICATIONS = Family(
    "yunikorn_queue_app",
    "Applications of a leaf queue; the state is accepted or running.",
    ("queue", "state"),
    stability=Stability.YUNIKORN,
)
_ALWAYS = (VCORE, "memory", "pods")
_STATES = {"max": "max", "guaranteed": "guaranteed", "used": "allocated", "pending": "pending"}


@source(YuniKornGatekeeper, RESOURCE, APPLICATIONS)
def queues(keeper: YuniKornGatekeeper) -> Iterator[Sample]:
    """The queues.

    Only resources in a limit or guarantee of a queue have series, because any user can name new ones in a Pod.
    """
    every = [*keeper.scheduler.tree.root.walk()]
    named = {*_ALWAYS, *(name for queue in every for name in _limited(queue))}
    counts = applications_below(keeper.scheduler)
    for queue in every:
        for word, found in amounts(queue).items():
            for name, amount in (found or {}).items():
                if name in named:
                    yield RESOURCE.sample(amount, queue.path, _STATES[word], name)
        if queue.is_leaf:
            yield APPLICATIONS.sample(counts[queue].waiting, queue.path, "accepted")
            yield APPLICATIONS.sample(counts[queue].running, queue.path, "running")


def _limited(queue: YuniKornQueue) -> Iterator[str]:
    yield from queue.settings.maximum or ()
    yield from queue.settings.guaranteed or ()
