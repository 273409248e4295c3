"""Session after session over one world: each costs what has changed since the last one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from scheduling.volcano.actions import run
from scheduling.volcano.jobs import GangJob
from scheduling.volcano.objects import Status
from scheduling.volcano.obstacles import obstacles
from scheduling.volcano.refusal import QueueRefusal
from scheduling.volcano.session import SchedulingSession, SessionOutcome, Tiers
from scheduling.volcano.world import SessionWorld


class PluginEngine:
    """The world, and the plugins that are asked about it."""

    def __init__(self, world: SessionWorld, tiers: Tiers) -> None:
        self.world = world
        self._tiers = tiers
        self._actions: tuple[str, ...] = ()

    def session(self) -> SchedulingSession:
        return SchedulingSession(self.world, self._tiers)

    def decide(self, actions: Sequence[str]) -> SessionOutcome:
        """What the actions decide now. Raises KeyError for an action that is not known.

        Nodes and phases that PodGroups get count from here on; a caller that cannot carry that out puts the pod or the
        PodGroup back into the world as it is. Evictions count once the pods are put as leaving. The outcome has phases
        and refusals of the PodGroups that were looked at.
        """
        if self._actions != (*actions,):
            self._actions = (*actions,)
            self.world.parked.nobody = True
        session, outcome = self._held(actions)
        self._let_rest(session, outcome)
        self._carry_out(outcome)
        return outcome

    def consider(self, actions: Sequence[str]) -> SessionOutcome:
        """What the actions would decide about everybody now. The world stays as it is."""
        self.world.parked.nobody = True
        _, outcome = self._held(actions)
        self.world.parked.nobody = True
        return outcome

    def _held(self, actions: Sequence[str]) -> tuple[SchedulingSession, SessionOutcome]:
        session = self.session()
        try:
            return session, run(session, actions)
        finally:
            session.close()

    def _let_rest(self, session: SchedulingSession, outcome: SessionOutcome) -> None:
        parked, lasting = self.world.parked, all(plugin.lasting for plugin in session.plugins())
        in_flux = bool(outcome.evicted or outcome.pipelined)
        self.world.moved = in_flux
        if in_flux or not lasting or not _reserves_first(self._actions):
            return
        parked.nobody = False
        for job in session.awake:
            if job.claiming:
                parked.wake(job.name)
            else:
                parked.park(job.name, obstacles(_refusals(job, outcome)))

    def _carry_out(self, outcome: SessionOutcome) -> None:
        world = self.world
        for name, phase in outcome.phases.items():
            group = world.jobs[name].group
            if group.phase != phase:
                world.put_group(replace(group, phase=phase))
        for name, node in outcome.binds.items():
            world.put_task(replace(world.tasks[name], status=Status.ALLOCATED, node=node))


def _refusals(job: GangJob, outcome: SessionOutcome) -> Iterator[QueueRefusal]:
    return chain.from_iterable(outcome.refusals.get(name, ()) for name in (job.name, *job.placeable))


def _reserves_first(actions: Sequence[str]) -> bool:
    """Whether nothing is refused for what is counted twice: as reserved, and as allocated in the same session."""
    return "enqueue" not in actions or "allocate" not in actions or actions.index("enqueue") < actions.index("allocate")
