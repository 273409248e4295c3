"""Renders a simulation of Volcano's queues as text, and as JSON with amounts as in a Queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.trees.usage import phase_notes
from analysis.why import running_groups, waiting_groups
from cli.output import some
from cli.report.drawing import queue_rows, tree
from cli.report.explanations import group_lines
from cli.report.simulations.layout import outcome_text
from scheduling.objects.times import SECOND, elapsed
from scheduling.queue_tree.simulated import PlayedEvent
from scheduling.volcano.play.simulation import Enqueued, PodGroupEnded, PodsEvicted, PodsRan, Trace, VolcanoSimulation
from scheduling.volcano.play.usage import amounts, phases_by_queue
from scheduling.volcano.play.waiting import waiting
from scheduling.volcano.queues import ROOT, Node
from scheduling.volcano.scheduler_conf import SETTLED_CONF, VOLCANO_CONF


def as_text(simulation: VolcanoSimulation) -> str:
    world = simulation.engine.world
    return outcome_text(
        " in Volcano",
        ((len([*world.queues]), "queue"), (len(world.jobs), "PodGroup"), (len(world.tasks), "Pod")),
        assumptions(simulation),
        (f"{elapsed(simulation.start, each.at):<6} {_event(simulation, each)}" for each in simulation.trace),
        group_lines(waiting_groups(simulation, waiting(simulation))),
        _trees(simulation),
    )


def assumptions(simulation: VolcanoSimulation) -> Iterator[str]:
    """Sentences about what the simulation assumes because the files do not say it."""
    conf = simulation.conf
    actions = f"the actions {', '.join(conf.actions)}"
    if conf.tiers in (SETTLED_CONF.tiers, VOLCANO_CONF.tiers):
        yield f"Volcano runs the plugin capacity with hierarchy, and {actions}"
    else:
        yield f"Volcano runs the plugins {', '.join(conf.plugins)}, and {actions}"
    if conf.left_out:
        yield f"of its configuration these are not simulated: {', '.join(conf.left_out)}"
    if conf.settled:
        yield "nothing is reclaimed that its queue could reclaim back, which Volcano itself allows (--law volcano)"
    if simulation.intake.stateless:
        yield "queues without a state are Open: Volcano's scheduler only uses a queue once a controller has opened it"
    if not simulation.intake.has_nodes:
        yield "there are no Nodes: the cluster has room for all that the queues allow"
    elif len(simulation.engine.world.rooms) > 1:
        yield "of equally good Nodes the first by name is taken; Volcano itself takes any"


def _event(simulation: VolcanoSimulation, each: Trace) -> str:
    match each:
        case PlayedEvent():
            return each.event
        case Enqueued():
            return f"enqueued   {simulation.display_name(each.group)} in {each.queue}"
        case PodsRan():
            return f"runs       {some(len(each.pods), 'Pod')} of {simulation.display_name(each.group)} in {each.queue}"
        case PodsEvicted():
            takers = ", ".join(simulation.display_name(group) for group in each.preemptors)
            evicted = f"{some(len(each.pods), 'Pod')} of {simulation.display_name(each.group)} in {each.queue}"
            return f"evicted    {evicted} for {takers}"
        case PodGroupEnded():
            return f"ended      {each.name}"


# --- what is in use


def _trees(simulation: VolcanoSimulation) -> Iterator[str]:
    """The lines of all trees of queues: first the tree of root, then those that are not connected to it."""
    queues = simulation.engine.world.queues
    phases = phases_by_queue(simulation.engine.world)
    tops = [node for node in queues if node.parent is None]
    for top in sorted(tops, key=lambda node: (node.name != ROOT, node.name)):
        yield from tree(top, lambda node: _rows(simulation, node, phases))


def _rows(simulation: VolcanoSimulation, node: Node, phases: Mapping[str, Mapping[str, int]]) -> tuple[str, list[str]]:
    own = node.settings
    notes = [] if own.is_open else [own.state]
    notes += phase_notes(phases.get(node.name, {}))
    columns = {
        word: texts for word, texts in amounts(simulation.engine.world.queues, node).items() if word != "capability"
    }
    names = sorted({name for texts in columns.values() for name in texts})
    by_resource = ((name, {word: texts[name] for word, texts in columns.items() if name in texts}) for name in names)
    return queue_rows(node.name, notes, by_resource)


def as_json(simulation: VolcanoSimulation) -> dict[str, Any]:
    world = simulation.engine.world
    phases = phases_by_queue(world)
    return {
        "settled": not simulation.unsettled,
        "assumptions": list(assumptions(simulation)),
        "happened": [_event_json(simulation, each) for each in simulation.trace],
        "running": running_groups(simulation, sorted(world.jobs.values(), key=lambda job: job.name)),
        "waiting": waiting_groups(simulation, waiting(simulation)),
        "queues": [
            {
                "name": node.name,
                "parent": node.parent.name if node.parent is not None else None,
                "state": node.settings.state,
                **amounts(simulation.engine.world.queues, node),
                "podGroups": dict(sorted(phases.get(node.name, {}).items())),
            }
            for node in sorted(world.queues, key=lambda n: n.name)
        ],
    }


def _event_json(simulation: VolcanoSimulation, each: Trace) -> dict[str, Any]:
    event: dict[str, Any] = {"what": _WORDS[type(each)], "at": (each.at - simulation.start) // SECOND}
    match each:
        case PlayedEvent():
            return {**event, "event": each.event}
        case PodGroupEnded():
            return {**event, "name": each.name}
        case Enqueued() | PodsRan() | PodsEvicted():
            event |= {"podGroup": each.group, "for": simulation.display_name(each.group), "queue": each.queue}
    if isinstance(each, PodsRan | PodsEvicted):
        event["pods"] = list(each.pods)
    if isinstance(each, PodsEvicted):
        event["preemptors"] = list(each.preemptors)
    return event


_WORDS = {PlayedEvent: "played", Enqueued: "enqueued", PodsRan: "runs", PodsEvicted: "evicted", PodGroupEnded: "ended"}
