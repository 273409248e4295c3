"""Nominates workers for a workload: all at once, some more in each round, or those of an external dispatcher.

Source: Kueue v0.19, pkg/controller/workloaddispatcher and nomination in pkg/controller/admissionchecks/multikueue.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from scheduling.objects.workload import Workload
from scheduling.placement.decisions import Again, CreateClone, Decision, Nominate, SetCheck
from scheduling.placement.group import Group, Round, WorkerCluster, round_of
from scheduling.placement.leaving import remove
from scheduling.placement.refusals import refusal_text
from scheduling.placement.settings import ALL_AT_ONCE, AS_LISTED, INCREMENTAL, PACK, ROUND, WEIGHTED, PlacementRules
from scheduling.status.checks import PENDING, READY, REJECTED, nominated_elsewhere


class ClusterNomination(NamedTuple):
    """The nominated clusters.

    round: the number of a round that begins now, else 0.
    until: the end of the current round in nanoseconds, else 0.
    exhausted: the last round has ended without an admission.
    """

    clusters: tuple[str, ...]
    round: int = 0
    until: int = 0
    exhausted: bool = False


def dispatch(group: Group, local: Workload) -> list[Decision]:
    """Nominate workers, create copies on them, remove other copies, and explain why no worker admits the workload.

    Copies are created first on the workers with the least work: of equal workers, the first one with a copy admits it.
    """
    if nominated_elsewhere(group.check, local, elastic=group.elastic) or not _others_ready(group, local):
        return []
    blocked = _leftovers(group, local)
    if blocked is not None:
        return blocked
    nomination = nominate(group, local)
    if nomination.exhausted:
        return [SetCheck(REJECTED, _exhausted(group))]
    steps = _written(local, nomination)
    for worker in sorted(group.reachable(), key=lambda worker: worker.load + worker.asked):
        if worker.name not in nomination.clusters:
            steps += remove(worker)
        elif worker.workload is None and worker.namespace and not worker.rejection:
            steps.append(CreateClone(worker.name))
    return [*steps, *_explained(group, nomination), *([Again(nomination.until)] if nomination.until else [])]


def _others_ready(group: Group, local: Workload) -> bool:
    """Whether all other checks are Ready. Otherwise nothing is dispatched."""
    own = group.check.name if group.check is not None else ""
    return all(check.state == READY for check in local.checks if check.name != own)


def _leftovers(group: Group, local: Workload) -> list[Decision] | None:
    """Remove jobs of an earlier placement and copies that cannot be admitted any more; None if there are none."""
    if group.elastic and local.cluster:
        return None
    steps: list[Decision] = []
    waits = False
    for worker in group.reachable():
        useless = worker.workload is not None and not worker.workload.active
        if worker.job is not None or worker.spent or useless:
            waits = True
            steps += remove(worker)
        waits = waits or worker.uncertain
    until = group.barrier(local)
    if until:
        steps.append(Again(until))
    return steps if waits or until is not None else None


def nominate(group: Group, local: Workload) -> ClusterNomination:
    """The workers that get a copy."""
    if group.elastic and local.cluster:
        return ClusterNomination((local.cluster,))
    if group.settings.dispatcher not in (ALL_AT_ONCE, INCREMENTAL):
        return ClusterNomination(local.nominated)
    usable = [worker for worker in group.workers if worker.reachable and worker.configured and worker.eligible]
    if group.settings.dispatcher == INCREMENTAL:
        return _incremental(group, local, usable)
    kept = {worker.name for worker in group.workers if worker.name in local.nominated and _may_return(group, worker)}
    names = {worker.name for worker in usable} | kept
    return _limited(group, local, tuple(worker.name for worker in group.workers if worker.name in names))


def _may_return(group: Group, worker: WorkerCluster) -> bool:
    """Whether a nominated, unreachable worker stays nominated: its connection may return before the timeout."""
    return not worker.reachable and worker.configured and worker.eligible and not group.expired(worker)


def _limited(group: Group, local: Workload, clusters: tuple[str, ...]) -> ClusterNomination:
    """Nominate all these workers at once. Rounds are counted only if their number is limited."""
    present = round_of(local)
    if set(clusters) == set(local.nominated):
        clusters = local.nominated
    if group.rules.rounds is None:
        return ClusterNomination(clusters, 0 if present is not None else 1)
    return _counted(group, present, clusters)


def _counted(group: Group, present: Round | None, clusters: tuple[str, ...]) -> ClusterNomination:
    """The next round with these workers, up to the limit."""
    if present is None:
        return ClusterNomination(clusters, 1)
    if group.now <= present.since + ROUND:
        return ClusterNomination(clusters, 0, present.since + ROUND + 1)
    if group.rules.rounds is not None and present.number >= group.rules.rounds:
        return ClusterNomination(clusters, exhausted=True)
    return ClusterNomination(clusters, present.number + 1)


def _incremental(group: Group, local: Workload, usable: Sequence[WorkerCluster]) -> ClusterNomination:
    """Nominate some more workers in each round. Earlier ones stay nominated while they may get new work."""
    allowed = {worker.name for worker in group.workers if worker.configured and worker.eligible}
    present, nominated = round_of(local), tuple(name for name in local.nominated if name in allowed)
    if present is not None and nominated and group.now <= present.since + ROUND:
        return ClusterNomination(nominated, 0, present.since + ROUND + 1)
    number = present.number + 1 if present is not None and nominated else 1
    if group.rules.rounds is not None and number > group.rules.rounds:
        return ClusterNomination(nominated, exhausted=True)
    more = next_workers(group, nominated, usable)
    if not more and (group.rules.rounds is None or not nominated):
        return ClusterNomination(nominated)
    return ClusterNomination((*nominated, *more), number)


def next_workers(group: Group, nominated: Sequence[str], usable: Sequence[WorkerCluster]) -> tuple[str, ...]:
    """The workers that the next round adds, best first; empty if all are nominated."""
    remaining = [worker for worker in usable if worker.name not in nominated]
    order = sorted(remaining, key=lambda worker: worker.name) if group.settings.by_name else remaining
    return tuple(worker.name for worker in ranked(group.rules, order))[: group.settings.step]


def _written(local: Workload, nomination: ClusterNomination) -> list[Decision]:
    same = set(nomination.clusters) == set(local.nominated)
    if same and (not nomination.round or not nomination.clusters):
        return []
    return [Nominate(nomination.clusters, nomination.round)]


def _explained(group: Group, nomination: ClusterNomination) -> list[Decision]:
    check = group.check
    if check is None:
        return []
    message = refusal_text(group, nomination.clusters)
    return [SetCheck(PENDING, message)] if message and message != check.message else []


def _exhausted(group: Group) -> str:
    names = [worker.name for worker in group.workers]
    reasons = refusal_text(group, names) or "no answer"
    rounds = f"{group.rules.rounds} rounds" if group.rules.rounds != 1 else "one round"
    return f"No worker cluster admitted it in {rounds}: {reasons}"


def ranked(rules: PlacementRules, workers: Sequence[WorkerCluster]) -> list[WorkerCluster]:
    """The workers, best first. Equal ones keep their order. A worker with unknown free quota counts as full."""
    if rules.score == AS_LISTED:
        return list(workers)
    return sorted(workers, key=lambda worker: _rank(rules, worker))


def _rank(rules: PlacementRules, worker: WorkerCluster) -> tuple[bool, Fraction]:
    """The sort key of a worker. Workers without free quota come last for every score."""
    free = worker.free if worker.free is not None else Fraction(0)
    if rules.score == PACK:
        return free <= 0, free
    weight = rules.weights.get(worker.name, 1) if rules.score == WEIGHTED else 1
    return free <= 0, -free * weight
