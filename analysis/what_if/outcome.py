"""The outcome of a what-if: the results of the judge and of the simulation, in rows for a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from analysis.documents import Unreadable
from analysis.impact import Impact
from analysis.report import Report
from analysis.what_if.outlines import NO_OUTLINES, Outlines, OutlineTags, outlines, rootless
from policies.dialects.kueue import CLUSTER_QUEUE, ClusterQueue
from policies.dialects.reading import Manifest
from policies.impact.quotas import Excess, NodeChange, QuotaPair, amount_text
from policies.model.findings import Severity
from policies.model.objects import Ref
from scheduling.impact.prediction import AtRisk
from scheduling.simulation.submissions import LeftOut
from scheduling.simulation.trace import Evicted, Preempted

MOST = 200
"""The most entries of each list except the findings. `WhatIfOutcome.more` counts the others."""
_MOST_JOBS = 5
"""The most jobs of a queue at risk that are listed."""
PASTED = "pasted"
"""The name of the pasted text in places."""


class FindingRow(NamedTuple):
    """A finding, with the field names of findings in /v1."""

    severity: Severity
    object: Ref
    message: str
    fix: str
    rule: str


class MissedRule(NamedTuple):
    """A rule that could not be evaluated."""

    rule: str
    reason: str


class LossRow(NamedTuple):
    """A job that loses its quota.

    what: preempted or evicted, and whether it is admitted again.
    whom: the preemptor.
    """

    job: str
    queue: str
    what: str
    why: str
    whom: str


class GainRow(NamedTuple):
    """A job that gets quota because of the change."""

    job: str
    queue: str


class RiskRow(NamedTuple):
    """A queue that borrows because of the change, and jobs that could be preempted for it.

    pair: the flavor and resource.
    borrowed: the usage and the quota of the queue, as a text.
    """

    node: str
    pair: str
    borrowed: str
    jobs: tuple[str, ...]


class ReachRow(NamedTuple):
    """The effect of the change on the reach of other nodes, for a flavor and resource.

    more: whether they can use more than before, or less.
    nodes: the number of these nodes.
    most: the largest difference; empty if one of them had no limit, or has none now.
    """

    pair: str
    more: bool
    nodes: int
    most: str


@dataclass(frozen=True, slots=True)
class WhatIfOutcome:
    """The outcome of a what-if.

    as_of: when the cluster was read.
    work: an explanation of /v1 for each new workload.
    unreadable: the objects that would not be stored, with the reason.
    left_out: the resources that the caller may not list.
    only_reach: the number of nodes that are not in the change, and of which only the reach differs.
    reaches: by how much their reach differs. Nodes on or below a cycle are left out: they are in no tree, so they have
        no reach.
    more: the number of entries that are not shown, by the name of the list; `lost` and `restarted` for the losses.
    """

    as_of: str
    findings: Sequence[FindingRow] = ()
    nodes: Sequence[NodeChange] = ()
    over: Sequence[Excess] = ()
    losses: Sequence[LossRow] = ()
    gains: Sequence[GainRow] = ()
    risks: Sequence[RiskRow] = ()
    work: Sequence[Manifest] = ()
    in_no_queue: Sequence[LeftOut] = ()
    not_judged: Sequence[str] = ()
    not_evaluated: Sequence[MissedRule] = ()
    unreadable: Sequence[str] = ()
    left_out: Sequence[str] = ()
    assumptions: Sequence[str] = ()
    settled: bool = True
    only_reach: int = 0
    reaches: Sequence[ReachRow] = ()
    outlines: Outlines = NO_OUTLINES
    """The tree before and after."""
    more: Mapping[str, int] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        return any(each.severity is Severity.ERROR for each in self.findings)


def outcome(judged: Report, impact: Impact, as_of: str) -> WhatIfOutcome:
    """Make the outcome. Nodes of which only the reach differs are counted, not listed, unless the change names them."""
    found, names = impact.prediction, impact.simulation.names
    lost = rootless(impact.quotas[1])
    rooted = [each for each in impact.nodes if each.ref not in lost]
    applied = impact.change.applied.objects
    nodes = [each for each in rooted if not each.only_reach or each.ref in applied]
    followers = [each for each in rooted if each.only_reach and each.ref not in applied]
    changed = [each for each in impact.nodes if not each.only_reach or each.ref in applied or each.ref in lost]
    workloads = impact.simulation.world.workloads
    reaches = list(_reaches(followers))
    return WhatIfOutcome(
        as_of=as_of,
        findings=[
            FindingRow(each.severity, each.finding.object, each.finding.message, each.finding.fix, each.rule.id)
            for each in (entry.judged for entry in judged.entries)
        ],
        nodes=nodes[:MOST],
        over=impact.over[:MOST],
        losses=[*_losses(impact, found.lost, ""), *_losses(impact, found.restarted, "; then admitted again")],
        gains=[
            GainRow(str(names[key]), admission.cluster_queue if (admission := workloads[key].admission) else "")
            for key in found.admitted[:MOST]
        ],
        risks=[_risk(impact, each) for each in found.at_risk[:MOST]],
        not_evaluated=[MissedRule(each.rule.id, each.reason) for each in judged.not_evaluated],
        unreadable=_unreadable([*judged.unreadable, *impact.files.left_out]),
        assumptions=[*impact.simulation.intake.assumptions(), *impact.files.assumptions()],
        settled=impact.settled,
        only_reach=len(followers),
        reaches=reaches[:MOST],
        outlines=outlines(*impact.quotas, changed, _tags(impact)),
        more=unshown(
            nodes=nodes,
            over=impact.over,
            lost=found.lost,
            restarted=found.restarted,
            gains=found.admitted,
            risks=found.at_risk,
            reaches=reaches,
        ),
    )


def unshown(**lists: Sequence[object]) -> dict[str, int]:
    """The number of entries beyond the most that are shown, by the name of the list."""
    return {name: len(each) - MOST for name, each in lists.items() if len(each) > MOST}


def _reaches(nodes: Sequence[NodeChange]) -> Iterator[ReachRow]:
    """Yield a row for each flavor, resource and direction, more before less."""
    steps = dict[tuple[QuotaPair, bool], list[int | None]]()
    for each in (pair for node in nodes for pair in node.pairs):
        was, now = each.before.reach, each.after.reach
        more = now is None or (was is not None and now > was)
        steps.setdefault((each.pair, not more), []).append(None if was is None or now is None else abs(now - was))
    for (pair, less), found in sorted(steps.items(), key=lambda each: each[0]):
        known = [each for each in found if each is not None]
        most = amount_text(pair.resource, max(known)) if len(known) == len(found) else ""
        yield ReachRow(str(pair), not less, len(found), most)


def _tags(impact: Impact) -> OutlineTags:
    """Tags for queues that stop or resume, and for the numbers of workloads that get or lose quota in each queue."""
    before, after = dict[Ref, tuple[str, ...]](), dict[Ref, tuple[str, ...]]()
    for ref, placed in impact.change.applied.objects.items():
        was, now = impact.change.cluster.world.get(ref), placed.obj
        if isinstance(was, ClusterQueue) and isinstance(now, ClusterQueue) and was.stop_policy != now.stop_policy:
            before[ref], after[ref] = ((f"stopPolicy {each.stop_policy}",) for each in (was, now))
    found, workloads = impact.prediction, impact.simulation.world.workloads
    admitted = Counter(each.cluster_queue for key in found.admitted if (each := workloads[key].admission))
    lost = Counter(each.queue for each in found.lost)
    for queue in sorted({*admitted, *lost}):
        ref = Ref(*CLUSTER_QUEUE, "", queue)
        lose = "loses" if lost[queue] == 1 else "lose"
        texts = ((f"{admitted[queue]} admitted", admitted[queue]), (f"{lost[queue]} {lose} quota", lost[queue]))
        after[ref] = (*after.get(ref, ()), *(text for text, number in texts if number))
    return OutlineTags(before, after)


def _losses(impact: Impact, losses: Sequence[Evicted | Preempted], end: str) -> Iterator[LossRow]:
    names = impact.simulation.names
    for each in losses[:MOST]:
        whom = f"{names[each.preemptor]} in {each.preemptor_queue}" if isinstance(each, Preempted) else ""
        yield LossRow(str(names[each.workload]), each.queue, each.what + end, each.message, whom)


def _risk(impact: Impact, risk: AtRisk) -> RiskRow:
    borrowing, more = risk.borrowing, len(risk.workloads) - _MOST_JOBS
    jobs = [str(impact.simulation.names[key]) for key in risk.workloads[:_MOST_JOBS]]
    used, nominal = (amount_text(borrowing.pair.resource, each) for each in (borrowing.used, borrowing.limit))
    return RiskRow(
        str(borrowing.ref),
        str(borrowing.pair),
        f"{used} in use, {nominal} its own",
        (*jobs, *([f"{more} more"] if more > 0 else [])),
    )


def _unreadable(items: Sequence[Unreadable]) -> list[str]:
    """The messages without duplicates, with the line of the pasted text."""
    lines = (f"line {each.place.line}: " if each.place.file == PASTED else "" for each in items)
    return list(dict.fromkeys(line + each.message for line, each in zip(lines, items, strict=True)))
