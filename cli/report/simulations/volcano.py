"""The outcome of a simulation of Volcano's queues: as text, and as JSON with amounts as in a Queue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cli.output import some
from cli.report.elapsed import elapsed
from cli.report.simulations.layout import outcome_text, tree
from policies.model.printing import plain
from scheduling.objects.times import SECOND
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


def as_text(simulation: VolcanoSimulation) -> str:
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


def as_json(simulation: VolcanoSimulation) -> dict[str, Any]:
    world = simulation.engine.world
    phases = phases_by_queue(world)
    return {
        "settled": not simulation.unsettled,
        "assumptions": list(assumptions(simulation)),
        "happened": [_happening(simulation, each) for each in simulation.trace],
        "running": _running(simulation, sorted(world.jobs.values(), key=lambda job: job.name)),
        "waiting": waiting_json(simulation, waiting(simulation)),
        "queues": [
            _queue(simulation, node, phases.get(node.name, {})) for node in sorted(world.queues, key=lambda n: n.name)
        ],
    }


def why_json(simulation: VolcanoSimulation, name: str) -> dict[str, Any]:
    """What runs and what waits of a Job, a PodGroup or a Pod; both empty if this name is unknown."""
    job = job_of(simulation, name)
    running = _running(simulation, [job]) if job is not None else []
    return {"running": running, "waiting": waiting_json(simulation, found(simulation, name))}


def waiting_json(simulation: VolcanoSimulation, every: Iterable[WaitingPodGroup]) -> list[dict[str, Any]]:
    holders = Holders(simulation)
    return [
        {
            "podGroup": each.group,
            "for": each.shown,
            "queue": each.queue,
            "phase": each.phase,
            "waiting": each.waits,
            "pods": each.pods,
            "reasons": [_reason_json(simulation, holders, reason) for reason in each.reasons],
        }
        for each in every
    ]


def _reason_json(simulation: VolcanoSimulation, holders: Holders, reason: WaitingReason) -> dict[str, Any]:
    lacks = [_lack(simulation, holders, each) for each in reason.refusal.shortages]
    return {"message": reason.refusal.reason, "pods": reason.pods, "lacks": lacks}


def _lack(simulation: VolcanoSimulation, holders: Holders, lack: Shortage) -> dict[str, Any]:
    amounts = {"asked": lack.requested, "used": lack.used, "limit": lack.limit, "short": lack.short}
    return {
        "queue": lack.queue,
        "resource": lack.resource,
        **{word: written(lack.resource, amount) for word, amount in amounts.items()},
        "limitedBy": limited_by(simulation.engine.world.queues, lack),
        "usedBy": [{"for": name, "amount": written(lack.resource, amount)} for name, amount in holders.of(lack)],
    }


def _running(simulation: VolcanoSimulation, jobs: Iterable[GangJob]) -> list[dict[str, Any]]:
    return [
        {
            "podGroup": job.name,
            "for": group_name(simulation, job.name),
            "queue": job.group.queue,
            "pods": running,
            "amounts": _amounts_json(job.allocated),
        }
        for job in jobs
        if (running := job.count(Status.RUNNING))
    ]


def _happening(simulation: VolcanoSimulation, each: Trace) -> dict[str, Any]:
    event: dict[str, Any] = {"what": _WORDS[type(each)], "at": (each.at - simulation.start) // SECOND}
    match each:
        case VolcanoInput():
            return {**event, "event": each.event}
        case PodGroupEnded():
            return {**event, "name": each.name}
        case Enqueued() | PodsRan() | PodsEvicted():
            event |= {"podGroup": each.group, "for": group_name(simulation, each.group), "queue": each.queue}
    if isinstance(each, PodsRan | PodsEvicted):
        event["pods"] = list(each.pods)
    if isinstance(each, PodsEvicted):
        event["preemptors"] = list(each.preemptors)
    return event


_WORDS = {VolcanoInput: "played", Enqueued: "enqueued", PodsRan: "runs", PodsEvicted: "evicted", PodGroupEnded: "ended"}


def _queue(simulation: VolcanoSimulation, node: Node, phases: Mapping[str, int]) -> dict[str, Any]:
    return {
        "name": node.name,
        "parent": node.parent.name if node.parent is not None else None,
        "state": node.settings.state,
        **amounts(simulation.engine.world.queues, node),
        "podGroups": dict(sorted(phases.items())),
    }


def _amounts_json(amounts: Mapping[str, float]) -> dict[str, str]:
    return {name: written(name, amount) for name, amount in sorted(amounts.items()) if name != PODS}
