"""The outcome of a simulation as JSON. Times are seconds since its start; amounts are written as Kubernetes does."""

from __future__ import annotations

from functools import partial
from typing import Any

from analysis.simulation import SimulatedFiles
from cli.report.as_json import place_json
from cli.report.elapsed import elapsed
from cli.report.simulations.usage import QuotasInUse
from cli.report.tree_json import node_entry
from cli.report.trees import cycles, walk
from policies.dialects import kueue
from policies.model.forest import Forest
from policies.model.objects import parted
from scheduling.flavors.messages import written
from scheduling.objects import times
from scheduling.simulation.simulation import KueueSimulation
from scheduling.simulation.trace import Admitted, Evicted, Loan, PlayedEvent, Preempted, Reserved, TraceEvent
from scheduling.visibility.as_json import pair_json, pod_set_json, running_json, waiting_json
from scheduling.visibility.explained import explained
from scheduling.visibility.sentence import sentence
from scheduling.visibility.workloads import running, waiting

API_VERSION = "quotree.dev/v1alpha1"


def simulation_json(simulation: KueueSimulation, files: SimulatedFiles) -> dict[str, Any]:
    job, seconds = partial(_job, simulation), partial(_seconds, simulation)
    finished = sorted(key for key, workload in simulation.world.workloads.items() if workload.finished)
    return {
        "apiVersion": API_VERSION,
        "kind": "Simulation",
        "start": times.written(simulation.start),
        "seconds": _seconds(simulation, simulation.now),
        "settled": not simulation.unsettled,
        "fairSharing": simulation.settings.options.fair_sharing,
        "assumptions": [*simulation.intake.assumptions(), *files.assumptions()],
        "happened": [_happening(simulation, each) for each in simulation.trace],
        "running": [running_json(each, job) for each in running(simulation.world)],
        "waiting": [
            waiting_json(each, sentence(simulation.world, each, partial(elapsed, simulation.start)).text, job, seconds)
            for each in waiting(simulation.world, simulation.now)
        ],
        "finished": [_job(simulation, key) for key in finished],
        "inNoQueue": [{**each.name._asdict(), "reason": each.reason} for each in simulation.left_out.values()],
        "nodes": _nodes(simulation, files.forest),
        "cycles": [[ref.name for ref in cycle] for cycle in cycles(files.forest)],
        "unreadable": [{**place_json(item.place), "message": item.message} for item in files.left_out],
    }


def why_json(simulation: KueueSimulation, name: str) -> dict[str, Any]:
    """One workload: `state` is waiting, running, finished or inNoQueue. Raises UnknownWorkload."""
    head = {"apiVersion": API_VERSION, "kind": "Explanation"}
    if (left := simulation.left_out_of(name)) is not None:
        return {**head, "state": "inNoQueue", "job": left.name._asdict(), "reason": left.reason}
    key, words = simulation.key_of(name), partial(elapsed, simulation.start)
    job, seconds = partial(_job, simulation), partial(_seconds, simulation)
    return {**head, **explained(simulation.world, key, simulation.now, job, seconds, words=words)}


def _seconds(simulation: KueueSimulation, time: int) -> int:
    return max(0, time - simulation.start) // times.SECOND


def _job(simulation: KueueSimulation, key: str) -> dict[str, str]:
    """The job as the files name it, with the name of its Workload."""
    return {**simulation.names[key]._asdict(), "workload": parted(key)[1]}


def _happening(simulation: KueueSimulation, each: TraceEvent) -> dict[str, Any]:
    event: dict[str, Any] = {"what": _what(each), "at": _seconds(simulation, each.at)}
    if isinstance(each, PlayedEvent):
        return {**event, "event": each.event}
    event["job"] = _job(simulation, each.workload)
    if isinstance(each, Preempted):
        preemptor = {"for": _job(simulation, each.preemptor), "forQueue": each.preemptor_queue}
        return {**event, "clusterQueue": each.queue, "reason": each.reason, "message": each.message, **preemptor}
    if isinstance(each, Evicted):
        return {**event, "clusterQueue": each.queue, "reason": each.reason, "message": each.message}
    if isinstance(each, Reserved):
        held = {"podSets": list(map(pod_set_json, each.pod_sets)), "borrowed": list(map(_loan, each.loans))}
        return {**event, "clusterQueue": each.queue, **held, "waitsForChecks": list(each.checks)}
    return event


def _what(each: TraceEvent) -> str:
    return Admitted.what if isinstance(each, Reserved) and each.admitted else each.what


def _loan(loan: Loan) -> dict[str, str]:
    return {**pair_json(loan.pair), "amount": written(loan.pair.resource, loan.amount), "from": loan.lender}


def _nodes(simulation: KueueSimulation, forest: Forest) -> list[dict[str, Any]]:
    drawn = [each for each in walk(forest) if each.ref.group == kueue.GROUP]
    quotas = QuotasInUse(forest, [each.ref for each in drawn], simulation.world)
    return [node_entry(forest, quotas, each) for each in drawn]
