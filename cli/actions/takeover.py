"""Takes over a cluster from Kueue's manager, gives it back, or removes Quotree: prints the plan or carries it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from cli.exits import Exit
from cli.input.login import ClusterLogin
from cli.output import emit
from cli.report.formats.yaml import document
from cluster.client import ClusterClient
from cluster.removal import RemovalReader
from cluster.takeover import PlanReader
from cluster.takeover import carry_out as carry_out_plan
from policies.configuration.settings import Configuration
from policies.dialects.reading import Manifest
from policies.model.printing import plain
from policies.takeover import plan as plans
from policies.takeover.objects import FoundCluster, PlannedWrite, ReleaseNames, TakeoverPlan
from policies.takeover.removal import Wishes
from policies.takeover.removal import remove as planned_removal
from reconciler.configured import read_configured
from reconciler.jobs.kinds import frameworks_run_here

Planner: TypeAlias = Callable[[FoundCluster], TakeoverPlan]
_SHOWN = 10
"""The maximum number of writes that the plan of a removal lists for one step."""


def take_over(login: ClusterLogin, names: ReleaseNames, timeout: float, *, dry_run: bool) -> Exit:
    """Show the plan, or carry it out. `timeout`: seconds for one step. Raises OutOfReach."""

    def judge(manifest: Manifest, own: Configuration) -> object:
        return read_configured(manifest, own.reconciler.jobs, own.reconciler.multikueue, names.namespace, own=own)

    def planned(found: FoundCluster) -> TakeoverPlan:
        return plans.take_over(found, names, kinds, judge, document)

    kinds = frameworks_run_here()
    done = "Quotree has the cluster; quotree install take-over --undo gives it back"
    return _shown_or_done(login, names, timeout, planned, done, dry_run=dry_run)


def give_back(login: ClusterLogin, names: ReleaseNames, timeout: float, *, dry_run: bool) -> Exit:
    """Show the plan to give the cluster back to Kueue's manager, or carry it out; see `take_over`."""
    planned = partial(plans.give_back, names=names)
    return _shown_or_done(login, names, timeout, planned, "Kueue's manager has the cluster again", dry_run=dry_run)


def remove(
    login: ClusterLogin, names: ReleaseNames, timeout: float, wishes: Wishes, confirmed: Callable[[], bool]
) -> Exit:
    """Show the plan, and carry it out if `confirmed`. Raises OutOfReach."""
    planned = partial(planned_removal, names=names, wishes=wishes)
    with login.connected() as cluster:
        reader = RemovalReader(cluster, names)
        plan = planned(reader.read())
        emit("\n".join(_plan_lines(plan, _SHOWN)))
        if plan.steps and confirmed():
            plan = _carry_out(cluster, reader.read, planned, timeout)
            emit("\n".join(_plan_lines(plan)) if plan.refusals else "Quotree is removed")
    return _code(plan)


def _shown_or_done(
    login: ClusterLogin, names: ReleaseNames, timeout: float, planned: Planner, done: str, *, dry_run: bool
) -> Exit:
    with login.connected() as cluster:
        reader = PlanReader(cluster, names)
        plan = planned(reader.read())
        if plan.steps and not dry_run:
            plan = _carry_out(cluster, reader.read, planned, timeout)
            emit("\n".join(_outcome(plan, done)))
        else:
            emit("\n".join(_plan_lines(plan)))
    return _code(plan)


def _carry_out(
    cluster: ClusterClient, read: Callable[[], FoundCluster], planned: Planner, longest: float
) -> TakeoverPlan:
    """Carry out the plan, and print each step when it begins."""
    return carry_out_plan(cluster, read, planned, lambda step: emit(plain(f"{step.title} ...")), longest=longest)


def _code(plan: TakeoverPlan) -> Exit:
    return Exit.FINDINGS if plan.refusals else Exit.CLEAN


def _outcome(plan: TakeoverPlan, done: str) -> Iterator[str]:
    if plan.refusals:
        yield "stopped here; fix this, then run the same command again:"
        yield from _refusals(plan)
    else:
        yield done


def _plan_lines(plan: TakeoverPlan, most: int | None = None) -> Iterator[str]:
    """The plan as text. `most`: the maximum number of writes that are listed for a step; None means all."""
    yield from _refusals(plan)
    for number, step in enumerate(plan.steps, start=1):
        yield plain(f"{number}. {step.title}{' (done)' if step.done else ''}")
        yield from (f"     {plain(_write(write))}" for write in step.writes[:most])
        if most is not None and len(step.writes) > most:
            yield f"     and {len(step.writes) - most} more"
    yield from (plain(f"note: {note}") for note in plan.notes)


def _refusals(plan: TakeoverPlan) -> Iterator[str]:
    yield from (plain(f"refused: {refusal}") for refusal in plan.refusals)


def _write(write: PlannedWrite) -> str:
    if write.body is None:
        return f"delete {write.ref}"
    return f"{'change' if write.version else 'create'} {write.ref}"
