"""Renders a simulation of Kueue's queues as text, and as JSON with times in seconds since its start."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

from analysis.simulation import SimulatedFiles
from analysis.trees.as_json import node_entry
from analysis.trees.usage import QuotasWithUsage
from analysis.trees.walk import cycles, walk
from analysis.why import API_VERSION, job_json, seconds, waiting_workloads
from cli.report.drawing import glyphs, lines
from cli.report.explanations import placed_text, waiting_lines
from cli.report.reports import unreadable_json
from cli.report.simulations.layout import outcome_text
from policies.dialects import kueue
from policies.model.forest import Forest
from scheduling.flavors.messages import amount_text
from scheduling.objects import times
from scheduling.objects.times import elapsed
from scheduling.queue_tree.simulated import PlayedEvent
from scheduling.simulation.simulation import KueueSimulation
from scheduling.simulation.trace import Admitted, Evicted, Loan, Preempted, Reserved, TraceEvent
from scheduling.visibility.as_json import pair_json, pod_set_json, running_json
from scheduling.visibility.workloads import running


def as_text(simulation: KueueSimulation, forest: Forest) -> str:
    state, cohorts = simulation.world.state, simulation.world.state.tree.cohorts.values()
    explicit = sum(cohort.explicit for cohort in cohorts)

    return outcome_text(
        "",
        ((len(state.queues), "ClusterQueue"), (explicit, "Cohort"), (len(simulation.world.workloads), "workload")),
        simulation.intake.assumptions(),
        (f"{elapsed(simulation.start, each.at):<6} {_event(each, simulation)}" for each in simulation.trace),
        chain.from_iterable(map(waiting_lines, waiting_workloads(simulation))),
        _tree(simulation, forest),
        (f"{each.name}: {each.reason}" for each in simulation.left_out.values()),
        "; fair sharing" if simulation.settings.options.fair_sharing else "",
    )


def _event(each: TraceEvent, simulation: KueueSimulation) -> str:
    if isinstance(each, PlayedEvent):
        return each.event
    name = simulation.names[each.workload]
    if isinstance(each, Reserved):
        return _reserved(each, str(name))
    if isinstance(each, Admitted):
        return f"admitted   {name} in {each.queue}: its checks are Ready"
    if isinstance(each, Preempted):
        preemptor = f"{simulation.names[each.preemptor]} in {each.preemptor_queue}"
        return f"preempted  {name} in {each.queue} for {preemptor}: {each.reason}"
    if isinstance(each, Evicted):
        return f"evicted    {name} in {each.queue}: {each.message}"
    return f"finished   {name}"


def _reserved(each: Reserved, name: str) -> str:
    placed = "; ".join(map(placed_text, each.pod_sets))
    loans = "".join(f", borrows {loan_text(loan)}" for loan in each.loans)
    if each.admitted:
        return f"admitted   {name} in {each.queue}: {placed}{loans}"
    return f"reserved   {name} in {each.queue}: {placed}{loans}; waits for AdmissionCheck {', '.join(each.checks)}"


def loan_text(loan: Loan) -> str:
    flavor, resource = loan.pair
    return f"{resource}={amount_text(resource, loan.amount)} of {flavor} from Cohort {loan.lender}"


# --- the trees


def _tree(simulation: KueueSimulation, forest: Forest) -> Iterator[str]:
    drawn = [each for each in walk(forest) if each.ref.group == kueue.GROUP]
    quotas, shapes = QuotasWithUsage(forest, [each.ref for each in drawn], simulation.world), glyphs()
    for each in drawn:
        yield from lines(forest, quotas, each, shapes)


def as_json(simulation: KueueSimulation, files: SimulatedFiles) -> dict[str, Any]:
    job = partial(job_json, simulation)
    finished = sorted(key for key, workload in simulation.world.workloads.items() if workload.finished)
    return {
        "apiVersion": API_VERSION,
        "kind": "Simulation",
        "start": times.rfc3339(simulation.start),
        "seconds": seconds(simulation, simulation.now),
        "settled": not simulation.unsettled,
        "fairSharing": simulation.settings.options.fair_sharing,
        "assumptions": [*simulation.intake.assumptions(), *files.assumptions()],
        "happened": [_event_json(simulation, each) for each in simulation.trace],
        "running": [running_json(each, job) for each in running(simulation.world)],
        "waiting": waiting_workloads(simulation),
        "finished": [job_json(simulation, key) for key in finished],
        "inNoQueue": [{**each.name._asdict(), "reason": each.reason} for each in simulation.left_out.values()],
        "nodes": _nodes(simulation, files.forest),
        "cycles": [[ref.name for ref in cycle] for cycle in cycles(files.forest)],
        "unreadable": list(map(unreadable_json, files.left_out)),
    }


def _event_json(simulation: KueueSimulation, each: TraceEvent) -> dict[str, Any]:
    event: dict[str, Any] = {"what": _event_text(each), "at": seconds(simulation, each.at)}
    if isinstance(each, PlayedEvent):
        return {**event, "event": each.event}
    event["job"] = job_json(simulation, each.workload)
    if isinstance(each, Preempted):
        preemptor = {"for": job_json(simulation, each.preemptor), "forQueue": each.preemptor_queue}
        return {**event, "clusterQueue": each.queue, "reason": each.reason, "message": each.message, **preemptor}
    if isinstance(each, Evicted):
        return {**event, "clusterQueue": each.queue, "reason": each.reason, "message": each.message}
    if isinstance(each, Reserved):
        held = {"podSets": list(map(pod_set_json, each.pod_sets)), "borrowed": list(map(_loan, each.loans))}
        return {**event, "clusterQueue": each.queue, **held, "waitsForChecks": list(each.checks)}
    return event


def _event_text(each: TraceEvent) -> str:
    return Admitted.what if isinstance(each, Reserved) and each.admitted else each.what


def _loan(loan: Loan) -> dict[str, str]:
    return {**pair_json(loan.pair), "amount": amount_text(loan.pair.resource, loan.amount), "from": loan.lender}


def _nodes(simulation: KueueSimulation, forest: Forest) -> list[dict[str, Any]]:
    drawn = [each for each in walk(forest) if each.ref.group == kueue.GROUP]
    quotas = QuotasWithUsage(forest, [each.ref for each in drawn], simulation.world)
    return [node_entry(forest, quotas, each) for each in drawn]
