"""The outcome of a simulation as text: what happened, what waits and why, and the trees with their usage."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cli.report.drawing import glyphs, lines
from cli.report.elapsed import elapsed
from cli.report.simulations.layout import outcome_text
from cli.report.simulations.usage import QuotasInUse
from cli.report.simulations.waiting_text import explained_lines, placed_text, waiting_lines
from cli.report.trees import walk
from policies.dialects import kueue
from policies.model.forest import Forest
from policies.model.printing import plain
from scheduling.flavors.messages import written
from scheduling.simulation.simulation import KueueSimulation
from scheduling.simulation.trace import Admitted, Evicted, Loan, PlayedEvent, Preempted, Reserved, TraceEvent
from scheduling.visibility.as_json import waiting_json
from scheduling.visibility.explained import explained
from scheduling.visibility.sentence import sentence
from scheduling.visibility.workloads import waiting


def simulation_text(simulation: KueueSimulation, forest: Forest) -> str:
    state, cohorts = simulation.world.state, simulation.world.state.tree.cohorts.values()
    explicit = sum(cohort.explicit for cohort in cohorts)
    shares = "; fair sharing" if simulation.settings.options.fair_sharing else ""
    return outcome_text(
        "",
        ((len(state.queues), "ClusterQueue"), (explicit, "Cohort"), (len(simulation.world.workloads), "workload")),
        simulation.intake.assumptions(),
        (f"{elapsed(simulation.start, each.at):<6} {_event(each, simulation)}" for each in simulation.trace),
        _waiting(simulation),
        _tree(simulation, forest),
        (f"{each.name}: {each.reason}" for each in simulation.left_out.values()),
        shares,
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
    return f"{resource}={written(resource, loan.amount)} of {flavor} from Cohort {loan.lender}"


# --- what waits


def _waiting(simulation: KueueSimulation) -> Iterator[str]:
    moment = partial(elapsed, simulation.start)
    for each in waiting(simulation.world, simulation.now):
        text = sentence(simulation.world, each, moment).text
        yield from waiting_lines(waiting_json(each, text, partial(_job, simulation), moment))


def why_text(simulation: KueueSimulation, name: str) -> str:
    """One workload: why it waits, or its quota. Raises UnknownWorkload."""
    if (left := simulation.left_out_of(name)) is not None:
        return plain(f"{left.name} is in no queue: {left.reason}")
    key, moment = simulation.key_of(name), partial(elapsed, simulation.start)
    return "\n".join(
        explained_lines(explained(simulation.world, key, simulation.now, partial(_job, simulation), moment))
    )


def _job(simulation: KueueSimulation, key: str) -> dict[str, str]:
    return simulation.names[key]._asdict()


# --- the trees


def _tree(simulation: KueueSimulation, forest: Forest) -> Iterator[str]:
    drawn = [each for each in walk(forest) if each.ref.group == kueue.GROUP]
    quotas, shapes = QuotasInUse(forest, [each.ref for each in drawn], simulation.world), glyphs()
    for each in drawn:
        yield from lines(forest, quotas, each, shapes)
