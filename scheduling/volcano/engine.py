"""Runs consecutive sessions over one world. The cost of a session depends on the changes since the last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from scheduling.volcano.actions import run
from scheduling.volcano.objects import Status
from scheduling.volcano.refusal import obstacles
from scheduling.volcano.session import SchedulingSession, SessionOutcome, Tiers
from scheduling.volcano.world import SessionWorld


class PluginEngine:
    """The world, and the plugins that decide about it, by tier."""

    def __init__(self, world: SessionWorld, tiers: Tiers) -> None:
        self.world = world
        self._tiers = tiers
        self._actions: tuple[str, ...] = ()

    def session(self) -> SchedulingSession:
        return SchedulingSession(self.world, self._tiers)

    def decide(self, actions: Sequence[str]) -> SessionOutcome:
        """Run the actions, and store the nodes and phases that they chose in the world.

        A caller that cannot carry out a decision puts the pod or the PodGroup back into the world. Evictions count
        only when the caller puts the pods with the status RELEASING. The outcome has phases and refusals only of
        PodGroups that were not parked. Raises KeyError for an unknown action.
        """
        if self._actions != (*actions,):
            self._actions = (*actions,)
            self.world.parked.none_parked = True
        session, outcome = self._run_session(actions)
        self._park_refused(session, outcome)
        self._carry_out(outcome)
        return outcome

    def consider(self, actions: Sequence[str]) -> SessionOutcome:
        """What the actions would decide about all PodGroups, parked ones included, if all Jobs had their pods.

        The world does not change.
        """
        self.world.parked.none_parked = True
        _, outcome = self._run_session(actions, with_all_pods=True)
        self.world.parked.none_parked = True
        return outcome

    def _run_session(
        self, actions: Sequence[str], *, with_all_pods: bool = False
    ) -> tuple[SchedulingSession, SessionOutcome]:
        session = self.session()
        session.with_all_pods = with_all_pods
        try:
            return session, run(session, actions)
        finally:
            session.close()

    def _park_refused(self, session: SchedulingSession, outcome: SessionOutcome) -> None:
        parked, lasting = self.world.parked, all(plugin.lasting for plugin in session.plugins())
        in_flux = bool(outcome.evicted or outcome.pipelined)
        self.world.moved = in_flux
        if in_flux or not lasting or not _reserves_first(self._actions):
            return
        parked.none_parked = False
        for job in session.awake:
            if job.claiming:
                parked.wake(job.name)
            else:
                refusals = (outcome.refusals.get(name, ()) for name in (job.name, *job.placeable))
                parked.park(job.name, obstacles(chain.from_iterable(refusals)))

    def _carry_out(self, outcome: SessionOutcome) -> None:
        world = self.world
        for name, phase in outcome.phases.items():
            group = world.jobs[name].group
            if group.phase != phase:
                world.put_group(replace(group, phase=phase, lacks_pods=False))
        for name, node in outcome.binds.items():
            world.put_task(replace(world.tasks[name], status=Status.ALLOCATED, node=node))


def _reserves_first(actions: Sequence[str]) -> bool:
    """Whether `enqueue` runs before `allocate`, if both run.

    In the other order, a refusal may come from amounts that count twice: as allocated, then as reserved.
    """
    return "enqueue" not in actions or "allocate" not in actions or actions.index("enqueue") < actions.index("allocate")
