"""Texts about pending and running workloads, the same for a simulation and a cluster."""

from __future__ import annotations

from collections.abc import Iterator

from cli.input.snapshot import Names
from policies.model.printing import plain
from scheduling.flavors.messages import written
from scheduling.objects.workload import CheckState, Workload
from scheduling.visibility.explanation import BORROWING_LIMIT, Explanation, Holder, Lack, Obstacle
from scheduling.visibility.pod_sets import AdmittedPodSet
from scheduling.visibility.workloads import Running, Waiting


def waiting_lines(names: Names, each: Waiting) -> Iterator[str]:
    """Which workload waits where and why, and indented what it lacks."""
    found = each.explanation
    where = f" in {found.queue}, number {found.position}" if found is not None and found.queue else ""
    yield plain(f"{names.job(each.workload)}{where}: {each.reason}: {each.message}")
    if each.not_before:
        yield f"    not before {names.time(each.not_before)}"
    if each.behind:
        yield plain(
            f"    behind {names.job(each.behind)}, which no workload may overtake: the ClusterQueue is StrictFIFO"
        )
    if found is None:
        return
    for lack in found.lacks:
        yield from (f"    {plain(line)}" for line in _lack_lines(lack))
    yield from (f"    {plain(line)}" for line in _leaving(names, found))


def _lack_lines(lack: Lack) -> Iterator[str]:
    def amount(number: int) -> str:
        return written(lack.pair.resource, number)

    available = (
        f"{amount(lack.free)} free" if lack.ever else f"no more than {amount(lack.free)} even if nothing were in use"
    )
    yield f"{lack.pair}: pod set {lack.pod_set} needs {amount(lack.wanted)}, {available}"
    if lack.obstacle is not None:
        yield f"  {_way_out(lack, lack.obstacle)}"
    if lack.kept:
        kept = ", ".join(f"{_kind(each.is_queue)} {each.node} {amount(each.amount)}" for each in lack.kept)
        yield f"  kept back by lendingLimit: {kept}"
    if lack.holders:
        yield f"  in use by {', '.join(_holder(lack, holder) for holder in lack.holders)}"


def _way_out(lack: Lack, obstacle: Obstacle) -> str:
    kind = _kind(obstacle.is_queue)
    missing = written(lack.pair.resource, obstacle.lacking)
    if obstacle.limit == BORROWING_LIMIT:
        return f"{missing} short at {kind} {obstacle.node}: its borrowingLimit would have to be {missing} higher"
    tree = f"the tree of {kind} {obstacle.node}" if not obstacle.is_queue else f"{kind} {obstacle.node}"
    released = f", or other work must release {missing}" if lack.ever else ""
    return f"{missing} short at {kind} {obstacle.node}: {tree} needs {missing} more usable nominalQuota{released}"


def _kind(is_queue: bool) -> str:
    return "ClusterQueue" if is_queue else "Cohort"


def _holder(lack: Lack, holder: Holder) -> str:
    borrowed = f" ({written(lack.pair.resource, holder.borrowed)} borrowed)" if holder.borrowed else ""
    return f"{holder.queue} {written(lack.pair.resource, holder.used)}{borrowed}"


def _leaving(names: Names, found: Explanation) -> Iterator[str]:
    if found.victims:
        yield f"waits until these have stopped: {', '.join(names.job(key) for key in found.victims)}"


def running_text(names: Names, each: Running) -> str:
    """The quota of a workload that does not wait."""
    quota = "; ".join(map(placed_text, each.pod_sets))
    state = "is admitted" if each.admitted else f"waits for AdmissionCheck {', '.join(each.checks)}"
    return plain(f"{names.job(each.workload)} {state} in {each.queue}: {quota}")


def elsewhere_lines(workload: Workload, check: CheckState | None) -> Iterator[str]:
    """Where MultiKueue runs it; `check` is its AdmissionCheck for MultiKueue, None for work that stays here."""
    if check is None or workload.finished:
        return
    if workload.cluster:
        where = f"its worker cluster is {workload.cluster}"
    elif workload.nominated:
        where = f"nominated for {', '.join(workload.nominated)}"
    else:
        where = "nominated for no worker cluster yet"
    why = f" ({check.message})" if check.message else ""
    yield plain(f"    {where}; AdmissionCheck {check.name} is {check.state}{why}")


def placed_text(placed: AdmittedPodSet) -> str:
    """A pod set with its quota, flavor by flavor."""
    by_flavor: dict[str, list[str]] = {}
    for resource, flavor in sorted(placed.flavors.items()):
        amount = f"{resource}={written(resource, placed.usage.get(resource, 0))}"
        by_flavor.setdefault(flavor, []).append(amount)
    quota = ", ".join(f"{' '.join(amounts)} of {flavor}" for flavor, amounts in by_flavor.items()) or "nothing"
    count = str(placed.count) if placed.count == placed.asked else f"{placed.count} of {placed.asked}"
    return f"{placed.name} x{count} {quota}"
