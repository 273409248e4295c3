"""The outcome of a simulation of Volcano's queues as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cli.output import some
from cli.report.elapsed import elapsed
from cli.report.simulations.layout import outcome_text, tree
from policies.model.printing import plain
from scheduling.queue_tree.shortage import Shortage
from scheduling.volcano.jobs import GangJob
from scheduling.volcano.objects import Status
from scheduling.volcano.play.simulation import (
    Enqueued,
    PodGroupEnded,
    PodsEvicted,
    PodsRan,
    Trace,
    VolcanoInput,
    VolcanoSimulation,
)
from scheduling.volcano.play.usage import amounts, phases_by_queue
from scheduling.volcano.play.waiting import Holders, WaitingPodGroup, WaitingReason, found, limited_by, waiting
from scheduling.volcano.queues import ROOT, Node
from scheduling.volcano.resources import PODS, written


def volcano_text(simulation: VolcanoSimulation) -> str:
    world = simulation.engine.world
    return outcome_text(
        " in Volcano",
        ((len([*world.queues]), "queue"), (len(world.jobs), "PodGroup"), (len(world.tasks), "Pod")),
        assumptions(simulation),
        (f"{elapsed(simulation.start, each.at):<6} {_event(simulation, each)}" for each in simulation.trace),
        waiting_lines(simulation, waiting(simulation)),
        _trees(simulation),
    )


def assumptions(simulation: VolcanoSimulation) -> Iterator[str]:
    """What the files leave open."""
    yield "Volcano runs the plugin capacity with hierarchy, and the actions enqueue, allocate, reclaim"
    if not simulation.intake.has_nodes:
        yield "there are no Nodes: the cluster has room for all that the queues allow"


def _event(simulation: VolcanoSimulation, each: Trace) -> str:
    match each:
        case VolcanoInput():
            return each.event
        case Enqueued():
            return f"enqueued   {group_name(simulation, each.group)} in {each.queue}"
        case PodsRan():
            return f"runs       {some(len(each.pods), 'Pod')} of {group_name(simulation, each.group)} in {each.queue}"
        case PodsEvicted():
            takers = ", ".join(group_name(simulation, group) for group in each.preemptors)
            evicted = f"{some(len(each.pods), 'Pod')} of {group_name(simulation, each.group)} in {each.queue}"
            return f"evicted    {evicted} for {takers}"
        case PodGroupEnded():
            return f"ended      {each.name}"


def group_name(simulation: VolcanoSimulation, group: str) -> str:
    """The name of the PodGroup for users: that of its Job, if it has one."""
    return simulation.intake.shown.get(group, group)


# --- what waits


def why_text(simulation: VolcanoSimulation, name: str) -> str:
    """A Job, a PodGroup or a Pod; empty if this name is unknown."""
    return "\n".join([*_holding(simulation, name), *waiting_lines(simulation, found(simulation, name))])


def _holding(simulation: VolcanoSimulation, name: str) -> Iterator[str]:
    job = job_of(simulation, name)
    running = job.count(Status.RUNNING) if job is not None else 0
    if job is not None and running:
        pods = f"{some(running, 'Pod')} of {group_name(simulation, job.name)}"
        yield plain(f"{pods} in {job.group.queue}: {_amounts(job.allocated)} in use")


def job_of(simulation: VolcanoSimulation, name: str) -> GangJob | None:
    """The PodGroup of the Job, the PodGroup or the Pod of this name."""
    world = simulation.engine.world
    task = world.tasks.get(name)
    group = task.group if task is not None else simulation.intake.job_named(name)
    return world.jobs.get(group or "")


def waiting_lines(simulation: VolcanoSimulation, every: Iterable[WaitingPodGroup]) -> Iterator[str]:
    holders = Holders(simulation)
    for each in every:
        where = f" in {each.queue} ({each.phase})" if each.queue else ""
        yield plain(f"{each.shown}{where}: {_count(each)}")
        for reason in each.reasons:
            yield from (f"    {plain(line)}" for line in _reason(simulation, holders, each, reason))


def _count(each: WaitingPodGroup) -> str:
    if not each.pods:
        return "has no Pods yet"
    return "waits" if each.pods == 1 else f"{each.waits} of {each.pods} Pods wait"


def _reason(
    simulation: VolcanoSimulation, holders: Holders, each: WaitingPodGroup, reason: WaitingReason
) -> Iterator[str]:
    of_pods = f" ({some(reason.pods, 'Pod')})" if reason.pods and each.pods > 1 else ""
    yield f"{reason.refusal}{of_pods}"
    for shortage in reason.refusal.shortages:
        yield from _limit(simulation, holders, shortage)


def _limit(simulation: VolcanoSimulation, holders: Holders, shortage: Shortage) -> Iterator[str]:
    resource = shortage.resource
    if using := holders.of(shortage):
        held = ", ".join(f"{name} {written(resource, amount)}" for name, amount in using)
        yield f"  {resource} of {shortage.queue} is used by {held}"
    if source := limited_by(simulation.engine.world.queues, shortage):
        yield f"  the limit is {source}"


# --- what is in use


def _trees(simulation: VolcanoSimulation) -> Iterator[str]:
    """The trees of queues: that of root, then those that are not connected to it."""
    queues = simulation.engine.world.queues
    phases = phases_by_queue(simulation.engine.world)
    tops = [node for node in queues if node.parent is None]
    for top in sorted(tops, key=lambda node: (node.name != ROOT, node.name)):
        yield from tree(top, lambda node: _rows(simulation, node, phases))


def _rows(simulation: VolcanoSimulation, node: Node, phases: Mapping[str, Mapping[str, int]]) -> tuple[str, list[str]]:
    """The name of a queue and a line for each resource."""
    own = node.settings
    notes = [] if own.is_open else [own.state]
    notes += phase_notes(phases.get(node.name, {}))
    columns = {
        word: texts for word, texts in amounts(simulation.engine.world.queues, node).items() if word != "capability"
    }
    lines = []
    for name in sorted({name for texts in columns.values() for name in texts}):
        values = (f"{word} {texts[name]}" for word, texts in columns.items() if name in texts)
        lines.append(plain(f"{name}: {', '.join(values)}"))
    return plain(node.name + (f" ({', '.join(notes)})" if notes else "")), lines


def phase_notes(phases: Mapping[str, int]) -> list[str]:
    return [f"{phase}: {count}" for phase, count in sorted(phases.items())]


def _amounts(amounts: Mapping[str, int]) -> str:
    return " ".join(f"{name}={written(name, amount)}" for name, amount in sorted(amounts.items()) if name != PODS)
