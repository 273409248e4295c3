"""The usage of YuniKorn's quota by queue and by Namespace, with the running and the waiting applications."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from policies.dialects.yunikorn_config.quotas import queue_amount
from policies.dialects.yunikorn_config.resources import YuniKornAmounts
from scheduling.yunikorn.queue import YuniKornQueue
from scheduling.yunikorn.scheduler import Scheduler
from scheduling.yunikorn.simulation import YuniKornSimulation


class Applications(NamedTuple):
    """How many applications run, and how many have nothing allocated yet."""

    running: int
    waiting: int


def applications_below(scheduler: Scheduler) -> dict[YuniKornQueue, Applications]:
    """The applications of each queue, descendants included."""
    counts: Counter[YuniKornQueue] = Counter()
    for leaf, applications in scheduler.work.items():
        for here in leaf.up() if applications else ():
            counts[here] += len(applications)
    return {
        queue: Applications(queue.running, counts[queue] - queue.running) for queue in scheduler.tree.queues.values()
    }


def amounts(queue: YuniKornQueue) -> Mapping[str, YuniKornAmounts | None]:
    """The amounts of a queue by their meaning, such as `max`; None means no limit."""
    own = queue.settings
    return {"max": own.maximum, "guaranteed": own.guaranteed, "used": queue.allocated, "pending": queue.pending}


def rows(queue: YuniKornQueue) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each resource with its amounts, written as in queues.yaml."""
    found = {word: each for word, each in amounts(queue).items() if each}
    for name in sorted({name for each in found.values() for name in each}):
        yield name, {word: queue_amount(name, each[name]) for word, each in found.items() if name in each}


def applications_by_namespace(simulation: YuniKornSimulation) -> dict[str, Applications]:
    """The applications by Namespace. An application counts in each Namespace with a Pod of it, even without a queue."""
    known: dict[str, set[str]] = {}
    running: dict[str, set[str]] = {}
    for key, request in simulation.intake.pods.items():
        space, application = request.pod.ref.namespace, simulation.scheduler.owners.get(key)
        known.setdefault(space, set()).add(request.application)
        if application is not None and key in application.allocations:
            running.setdefault(space, set()).add(request.application)
    counts = ((space, len(running.get(space, ())), len(every)) for space, every in known.items())
    return {space: Applications(runs, every - runs) for space, runs, every in counts}
