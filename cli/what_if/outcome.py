"""The outcome of a what-if, of what the judge and the simulation found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cli.input.documents import Unreadable
from cli.input.impact import Impact
from cli.report.model import Report
from dashboard.what_if.outcome import (
    FindingRow,
    GainRow,
    LossRow,
    MissedRule,
    NodeRow,
    OverRow,
    RiskRow,
    WhatIfOutcome,
)
from policies.impact.differences import Effect, NodeChange
from policies.impact.quotas import QuotaPair, amount_text
from scheduling.impact.prediction import AtRisk
from scheduling.simulation.trace import Evicted, Preempted

MOST = 200
"""Entries of each list; `WhatIfOutcome.more` counts the others."""
_MOST_JOBS = 5
"""Jobs of a queue that could be preempted."""
PASTED = "pasted"
"""The name of the text that the user typed, in places."""


def outcome(judged: Report, impact: Impact, as_of: str) -> WhatIfOutcome:
    """Nodes whose reach alone changes are counted and not listed."""
    found, names = impact.prediction, impact.simulation.names
    nodes = [each for each in impact.nodes if not each.only_reach]
    workloads = impact.simulation.world.workloads
    lists = {
        "nodes": nodes,
        "over": impact.over,
        "lost": found.lost,
        "restarted": found.restarted,
        "gains": found.admitted,
        "risks": found.at_risk,
    }
    return WhatIfOutcome(
        as_of=as_of,
        findings=[
            FindingRow(each.severity, each.finding.object, each.finding.message, each.finding.fix, each.rule.id)
            for each in (entry.judged for entry in judged.entries)
        ],
        nodes=[row for each in nodes[:MOST] for row in _node(each)],
        over=[
            OverRow(str(each.ref), str(each.pair), *_amounts(each.pair, each.used, each.limit))
            for each in impact.over[:MOST]
        ],
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
        only_reach=len(impact.nodes) - len(nodes),
        more={name: len(each) - MOST for name, each in lists.items() if len(each) > MOST},
    )


def _node(node: NodeChange) -> Iterator[NodeRow]:
    name, effect = str(node.ref), _effect(node)
    if not node.pairs:
        yield NodeRow(name, effect, "", ())
    for each in node.pairs:
        numbers = zip(
            each.before._fields, _amounts(each.pair, *each.before), _amounts(each.pair, *each.after), strict=True
        )
        yield NodeRow(name, effect, str(each.pair), tuple(number for number in numbers if number[1] != number[2]))


def _effect(node: NodeChange) -> str:
    if node.before is None:
        return "is created"
    if node.after is None:
        return "is deleted"
    effect = "gains and loses" if node.effect is Effect.MIXED else str(node.effect)
    if not node.moved:
        return effect
    way = f"moves from {node.before.parent or 'no parent'} to {node.after.parent or 'no parent'}"
    return way if node.effect is Effect.MOVES else f"{way} and {effect}"


def _losses(impact: Impact, losses: Sequence[Evicted | Preempted], end: str) -> Iterator[LossRow]:
    names = impact.simulation.names
    for each in losses[:MOST]:
        whom = f"{names[each.preemptor]} in {each.preemptor_queue}" if isinstance(each, Preempted) else ""
        yield LossRow(str(names[each.workload]), each.queue, each.what + end, each.message, whom)


def _risk(impact: Impact, risk: AtRisk) -> RiskRow:
    borrowing, more = risk.borrowing, len(risk.workloads) - _MOST_JOBS
    jobs = [str(impact.simulation.names[key]) for key in risk.workloads[:_MOST_JOBS]]
    used, nominal = _amounts(borrowing.pair, borrowing.used, borrowing.nominal)
    return RiskRow(
        str(borrowing.ref),
        str(borrowing.pair),
        f"{used} in use, {nominal} its own",
        (*jobs, *([f"{more} more"] if more > 0 else [])),
    )


def _unreadable(items: Sequence[Unreadable]) -> list[str]:
    """With the line of what was pasted. Each text once."""
    lines = (f"line {each.place.line}: " if each.place.file == PASTED else "" for each in items)
    return list(dict.fromkeys(line + each.message for line, each in zip(lines, items, strict=True)))


def _amounts(pair: QuotaPair, *amounts: int | None) -> list[str]:
    return [amount_text(pair.resource, each) for each in amounts]
