"""Why a Pod of YuniKorn waits: which queue, which resource, and how much is short."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scheduling.queue_tree.pod_at_gate import HAS_ROOM, HAS_ROOM_MESSAGE
from scheduling.yunikorn.application import Application, Ask
from scheduling.yunikorn.queue import QueueLack
from scheduling.yunikorn.scheduler import Scheduler
from scheduling.yunikorn.simulation import YuniKornSimulation

QUEUE_QUOTA = "NotEnoughQueueQuota"
USER_QUOTA = "NotEnoughUserQuota"
APPLICATIONS = "MaxApplications"
GANG = "WaitsForGang"


@dataclass(frozen=True, slots=True)
class WaitingAllocation:
    """A waiting ask with the reason.

    YuniKorn itself writes the reason ApplicationRejected and those about quota on the Pod, but not what is short.

    key: the Pod, or the placeholders of a gang.
    queue: empty if the application is not in any queue.
    """

    key: str
    application: str
    queue: str
    reason: str
    message: str = ""
    lacks: tuple[QueueLack, ...] = ()

    @property
    def has_room(self) -> bool:
        """Whether the ask fits and only waits for its turn."""
        return self.reason == HAS_ROOM


def waiting(simulation: YuniKornSimulation) -> Iterator[WaitingAllocation]:
    """Yield all waiting asks: by queue, in the order in which they are tried. Rejected Pods come last."""
    scheduler = simulation.scheduler
    for application in sorted(scheduler.applications.values(), key=_place):
        for ask in application.waiting():
            yield waits(scheduler, application, ask)
    for key, refusal in sorted(simulation.refused.items()):
        yield WaitingAllocation(key, simulation.intake.pods[key].application, "", *refusal)


def found(simulation: YuniKornSimulation, name: str) -> list[WaitingAllocation]:
    """The waiting asks of the Pod `namespace/name`, or of the application of this name."""
    return [each for each in waiting(simulation) if name in (each.key, each.application)]


def _place(application: Application) -> tuple[str, int, int, str]:
    priority = -application.priority if application.pending else 0
    return application.leaf.path, priority, application.submitted, application.name


def waits(scheduler: Scheduler, application: Application, ask: Ask) -> WaitingAllocation:
    name, queue = application.name, application.leaf.path
    if ask.key in application.kept:
        return WaitingAllocation(ask.key, name, queue, GANG, "its gang has no room yet for all its placeholders")
    if not scheduler.may_run(application):
        return WaitingAllocation(ask.key, name, queue, APPLICATIONS, _full(scheduler, application))
    lacks = tuple(scheduler.lacks(application, ask))
    if not lacks:
        return WaitingAllocation(ask.key, name, queue, HAS_ROOM, HAS_ROOM_MESSAGE)
    reason = QUEUE_QUOTA if any(not lack.whose for lack in lacks) else USER_QUOTA
    return WaitingAllocation(ask.key, name, queue, reason, lacks=lacks)


def _full(scheduler: Scheduler, application: Application) -> str:
    full = application.leaf.full()
    if full is not None:
        return f"{full.path} runs {full.running} applications, and {full.settings.max_applications} is its limit"
    bound = scheduler.limits.full(application)
    if bound is None:
        return ""
    who, where = (bound.key[0], "") if bound.of_namespace else (bound.whose, f" in {bound.key[0]}")
    return f"{who} may run {bound.applications} applications{where}"
