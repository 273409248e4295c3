"""Events for ClusterQueues and Cohorts that stop or resume admission. Source: Kueue v0.19; KEP-79 for cycles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reconciler.controllers.queue_status import cohort_readiness, readiness_of
from reconciler.core.records import Records
from reconciler.objects.activity import ActiveCondition
from reconciler.objects.wanted import KUEUE_VERSION, WantedWrite, refer_to
from scheduling.quota.touched import CLUSTER_QUEUE, COHORT, Touch
from scheduling.world.world import World


class QueueEvents:
    """Makes the Events. It remembers why each queue stopped, because not every Cohort has a status for that.

    `records`: the stored queues.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._stopped: dict[Touch, str] = {}

    def of(self, world: World, touched: Iterable[Touch]) -> Iterator[WantedWrite]:
        for touch in touched:
            ready = _readiness(world, touch)
            if ready is None:
                self._stopped.pop(touch, None)
            elif ready.holds and self._stopped.pop(touch, None) is not None:
                yield self._event(touch, ready)
            elif not ready.holds and self._stopped.get(touch) != ready.message:
                self._stopped[touch] = ready.message
                yield self._event(touch, ready)

    def _event(self, touch: Touch, ready: ActiveCondition) -> WantedWrite:
        """An Event about the object. An implicit Cohort has no object, and gets no Event."""
        about = refer_to(KUEUE_VERSION, *touch, self._records.detail(touch))
        return WantedWrite(touch, None, about, ready.reason, ready.message, warning=not ready.holds)


def _readiness(world: World, touch: Touch) -> ActiveCondition | None:
    """The readiness of the object; None if it is gone, or its kind has no readiness."""
    kind, name = touch
    if kind == CLUSTER_QUEUE and name in world.state.queues:
        return readiness_of(world, name)
    if kind == COHORT and name in world.state.tree.cohorts:
        return cohort_readiness(world, world.state.tree.cohorts[name])
    return None
