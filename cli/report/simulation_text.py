"""What came of a simulation, for people: what happened, who waits and why, and the trees with what is in use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cli.drawing import glyphs, lines
from cli.output import plain
from cli.report.usage import QuotasInUse
from cli.trees import walk
from policies.dialects import kueue
from policies.forest import Forest
from scheduling.cycle.explanation import BORROWING_LIMIT, Explanation, Holder, Lack, Obstacle
from scheduling.flavors.messages import written
from scheduling.objects.times import SECOND
from scheduling.simulation.happening import (
    Admitted,
    Evicted,
    Happening,
    Loan,
    Placed,
    Played,
    Preempted,
    Reserved,
)
from scheduling.simulation.simulation import Simulation
from scheduling.simulation.standing import Waiting, running, waiting, waits

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def simulation_text(simulation: Simulation, forest: Forest) -> str:
    return "\n".join(
        [
            plain(_head(simulation)),
            *(f"taken for granted: {plain(each)}" for each in simulation.intake.assumptions()),
            *_section("what happened", _happened(simulation)),
            *_section("who waits", _all_waiting(simulation)),
            *_section("in no queue", (plain(f"{each.name}: {each.reason}") for each in simulation.left_out.values())),
            *_section("what is in use", _tree(simulation, forest), indent=""),
        ]
    )


def _head(simulation: Simulation) -> str:
    world = simulation.world
    counts = (
        (len(world.state.queues), "ClusterQueue"),
        (sum(cohort.explicit for cohort in world.state.tree.cohorts.values()), "Cohort"),
        (len(world.workloads), "workload"),
    )
    shares = "; fair sharing" if simulation.settings.options.fair_sharing else ""
    return f"simulated: {', '.join(_some(*count) for count in counts)}{shares}"


def _some(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _section(heading: str, content: Iterable[str], indent: str = "  ") -> Iterator[str]:
    found = list(content)
    if found:
        yield ""
        yield f"{heading}:"
        yield from (f"{indent}{line}" for line in found)


# --- what happened


def _happened(simulation: Simulation) -> Iterator[str]:
    for each in simulation.happened:
        yield plain(f"{after(simulation, each.at):<6} {_told(each, simulation)}")


def after(simulation: Simulation, moment: int) -> str:
    """The time since the start, such as +1h30m."""
    rest, told = max(0, moment - simulation.start) // SECOND, ""
    for seconds, unit in _UNITS:
        count, rest = divmod(rest, seconds)
        told += f"{count}{unit}" if count else ""
    return f"+{told or '0s'}"


def _told(each: Happening, simulation: Simulation) -> str:
    if isinstance(each, Played):
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
    placed = "; ".join(map(placed_text, each.placed))
    loans = "".join(f", borrows {loan_text(loan)}" for loan in each.loans)
    if each.admitted:
        return f"admitted   {name} in {each.queue}: {placed}{loans}"
    return f"reserved   {name} in {each.queue}: {placed}{loans}; waits for AdmissionCheck {', '.join(each.checks)}"


def placed_text(placed: Placed) -> str:
    """A pod set with what it holds, flavor by flavor."""
    by_flavor: dict[str, list[str]] = {}
    for resource, flavor in sorted(placed.flavors.items()):
        amount = f"{resource}={written(resource, placed.usage.get(resource, 0))}"
        by_flavor.setdefault(flavor, []).append(amount)
    held = ", ".join(f"{' '.join(amounts)} of {flavor}" for flavor, amounts in by_flavor.items()) or "nothing"
    count = str(placed.count) if placed.count == placed.asked else f"{placed.count} of {placed.asked}"
    return f"{placed.name} x{count} {held}"


def loan_text(loan: Loan) -> str:
    flavor, resource = loan.pair
    return f"{resource}={written(resource, loan.amount)} of {flavor} from Cohort {loan.lender}"


# --- who waits


def _all_waiting(simulation: Simulation) -> Iterator[str]:
    for each in waiting(simulation):
        yield from waiting_lines(simulation, each)


def waiting_lines(simulation: Simulation, each: Waiting) -> Iterator[str]:
    """Who waits where and why, and below what would have to give."""
    found = each.explanation
    where = f" in {found.queue}, number {found.position}" if found is not None and found.queue else ""
    yield plain(f"{simulation.names[each.workload]}{where}: {each.reason}: {each.message}")
    if each.not_before:
        yield f"    not before {after(simulation, each.not_before)}"
    if each.behind:
        yield plain(f"    behind {simulation.names[each.behind]}, which nobody passes: the ClusterQueue is StrictFIFO")
    if found is None:
        return
    for lack in found.lacks:
        yield from (f"    {plain(line)}" for line in _lack_lines(lack))
    yield from (f"    {plain(line)}" for line in _leaving(simulation, found))


def _lack_lines(lack: Lack) -> Iterator[str]:
    def amount(number: int) -> str:
        return written(lack.pair.resource, number)

    there = (
        f"{amount(lack.free)} free" if lack.ever else f"no more than {amount(lack.free)} even if nothing were in use"
    )
    yield f"{lack.pair}: pod set {lack.pod_set} needs {amount(lack.wanted)}, {there}"
    if lack.obstacle is not None:
        yield f"  {_cure(lack, lack.obstacle)}"
    if lack.kept:
        kept = ", ".join(f"{_kind(each.is_queue)} {each.node} {amount(each.amount)}" for each in lack.kept)
        yield f"  kept back by lendingLimit: {kept}"
    if lack.holders:
        yield f"  in use by {', '.join(_holder(lack, holder) for holder in lack.holders)}"


def _cure(lack: Lack, obstacle: Obstacle) -> str:
    kind = _kind(obstacle.is_queue)
    missing = written(lack.pair.resource, obstacle.lacking)
    if obstacle.limit == BORROWING_LIMIT:
        return (
            f"{missing} short at {kind} {obstacle.node}: by its borrowingLimit, which would have to be {missing} more"
        )
    tree = f"the tree of {kind} {obstacle.node}" if not obstacle.is_queue else f"{kind} {obstacle.node}"
    back = f", or {missing} given back" if lack.ever else ""
    return f"{missing} short at {kind} {obstacle.node}: {tree} needs {missing} more nominalQuota that may be used{back}"


def _kind(is_queue: bool) -> str:
    return "ClusterQueue" if is_queue else "Cohort"


def _holder(lack: Lack, holder: Holder) -> str:
    borrowed = f" ({written(lack.pair.resource, holder.borrowed)} borrowed)" if holder.borrowed else ""
    return f"{holder.queue} {written(lack.pair.resource, holder.used)}{borrowed}"


def _leaving(simulation: Simulation, found: Explanation) -> Iterator[str]:
    if found.victims:
        yield f"waits until these have left: {', '.join(str(simulation.names[key]) for key in found.victims)}"


def why_text(simulation: Simulation, called: str) -> str:
    """One workload: why it waits, or what it holds. Raises UnknownWorkload."""
    if (left := simulation.left_out_of(called)) is not None:
        return plain(f"{left.name} is in no queue: {left.reason}")
    key = simulation.key_of(called)
    waiting_one = waits(simulation, key)
    if waiting_one is not None:
        return "\n".join(waiting_lines(simulation, waiting_one))
    name = simulation.names[key]
    for each in running(simulation):
        if each.workload == key:
            placed = "; ".join(map(placed_text, each.placed))
            state = "is admitted" if each.admitted else f"waits for AdmissionCheck {', '.join(each.checks)}"
            return plain(f"{name} {state} in {each.queue}: {placed}")
    return plain(f"{name} is finished")


# --- the trees


def _tree(simulation: Simulation, forest: Forest) -> Iterator[str]:
    spots = [spot for spot in walk(forest) if spot.ref.group == kueue.GROUP]
    quotas, shapes = QuotasInUse(forest, [spot.ref for spot in spots], simulation), glyphs()
    for spot in spots:
        yield from lines(forest, quotas, spot, shapes)
