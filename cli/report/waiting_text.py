"""Who waits and why, and who runs, in words: the same for a simulation and a live cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cli.report.output import plain
from scheduling.cycle.explanation import BORROWING_LIMIT, Explanation, Holder, Lack, Obstacle
from scheduling.cycle.placed import Placed
from scheduling.cycle.standing import Running, Waiting
from scheduling.flavors.messages import written
from scheduling.objects.workload import CheckState, Workload


@dataclass(frozen=True, slots=True)
class Words:
    """`job` names a workload (`namespace/name`) as its owner knows it, `moment` says when."""

    job: Callable[[str], str]
    moment: Callable[[int], str]


def waiting_lines(words: Words, each: Waiting) -> Iterator[str]:
    """Who waits where and why, and below what would have to give."""
    found = each.explanation
    where = f" in {found.queue}, number {found.position}" if found is not None and found.queue else ""
    yield plain(f"{words.job(each.workload)}{where}: {each.reason}: {each.message}")
    if each.not_before:
        yield f"    not before {words.moment(each.not_before)}"
    if each.behind:
        yield plain(f"    behind {words.job(each.behind)}, which nobody passes: the ClusterQueue is StrictFIFO")
    if found is None:
        return
    for lack in found.lacks:
        yield from (f"    {plain(line)}" for line in _lack_lines(lack))
    yield from (f"    {plain(line)}" for line in _leaving(words, found))


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


def _leaving(words: Words, found: Explanation) -> Iterator[str]:
    if found.victims:
        yield f"waits until these have left: {', '.join(words.job(key) for key in found.victims)}"


def running_text(words: Words, each: Running) -> str:
    """What one that does not wait holds."""
    held = "; ".join(map(placed_text, each.placed))
    state = "is admitted" if each.admitted else f"waits for AdmissionCheck {', '.join(each.checks)}"
    return plain(f"{words.job(each.workload)} {state} in {each.queue}: {held}")


def elsewhere_lines(workload: Workload, check: CheckState | None) -> Iterator[str]:
    """Where MultiKueue has it, by what is stored; `check` is its check there, None for work that stays here."""
    if check is None or workload.finished:
        return
    if workload.cluster:
        where = f"its worker is {workload.cluster}"
    elif workload.nominated:
        where = f"offered to {', '.join(workload.nominated)}"
    else:
        where = "offered to no worker yet"
    why = f" ({check.message})" if check.message else ""
    yield plain(f"    {where}; AdmissionCheck {check.name} is {check.state}{why}")


def placed_text(placed: Placed) -> str:
    """A pod set with what it holds, flavor by flavor."""
    by_flavor: dict[str, list[str]] = {}
    for resource, flavor in sorted(placed.flavors.items()):
        amount = f"{resource}={written(resource, placed.usage.get(resource, 0))}"
        by_flavor.setdefault(flavor, []).append(amount)
    held = ", ".join(f"{' '.join(amounts)} of {flavor}" for flavor, amounts in by_flavor.items()) or "nothing"
    count = str(placed.count) if placed.count == placed.asked else f"{placed.count} of {placed.asked}"
    return f"{placed.name} x{count} {held}"
