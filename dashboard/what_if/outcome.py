"""What comes of a change, as the page shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dashboard.pages.shown import job_text
from dashboard.reading.backend import Manifest

_EFFECTS = {"gains": "gains", "loses": "loses", "mixed": "gains and loses", "moves": "moves"}


class NodeRow(NamedTuple):
    """A flavor and resource of a node, with the numbers that differ: what it is called, before, after."""

    node: str
    effect: str
    pair: str
    numbers: tuple[tuple[str, str, str], ...]


class OverRow(NamedTuple):
    node: str
    pair: str
    used: str
    limit: str


class LossRow(NamedTuple):
    """`what` is preempted or evicted; `whom` is who it makes room for."""

    job: str
    queue: str
    what: str
    why: str
    whom: str


class GainRow(NamedTuple):
    job: str
    queue: str


class RiskRow(NamedTuple):
    node: str
    pair: str
    borrowed: str
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WhatIfOutcome:
    """`more` has how many entries of a list are not shown, by its name. `unreadable` is what would not be stored."""

    as_of: str
    findings: list[Manifest]
    refused: bool
    nodes: list[NodeRow]
    over: list[OverRow]
    losses: list[LossRow]
    gains: list[GainRow]
    risks: list[RiskRow]
    work: list[Manifest]
    in_no_queue: list[Manifest]
    not_judged: list[str]
    not_evaluated: list[Manifest]
    unreadable: list[str]
    left_out: list[str]
    assumptions: list[str]
    settled: bool
    only_reach: int
    more: Mapping[str, int]


def outcome(answer: Manifest) -> WhatIfOutcome:
    """Read an answer of `WhatIf`."""
    report, diff = answer["report"], answer["diff"]
    findings = list(report["findings"])
    counts = {name: count - len(diff[name]) for name, count in diff["counts"].items()}
    return WhatIfOutcome(
        as_of=str(answer["asOf"]),
        findings=findings,
        refused=any(each["severity"] == "error" for each in findings),
        nodes=list(_nodes(diff["nodes"])),
        over=[OverRow(_ref(each), _pair(each), each["used"], each["limit"]) for each in diff["overQuota"]],
        losses=[*_losses(diff["lost"], ""), *_losses(diff["restarted"], "; then admitted again")],
        gains=[GainRow(job_text(each["job"]), each["clusterQueue"]) for each in diff["admitted"]],
        risks=[_risk(each) for each in diff["couldBePreempted"]],
        work=list(answer["work"]),
        in_no_queue=list(answer["inNoQueue"]),
        not_judged=list(answer["notJudged"]),
        not_evaluated=list(report["notEvaluated"]),
        unreadable=_unreadable([*report["unreadable"], *diff["unreadable"]]),
        left_out=list(answer["leftOut"]),
        assumptions=[str(each) for each in diff["assumptions"]],
        settled=bool(diff["settled"]),
        only_reach=int(diff["onlyReach"]),
        more={name: count for name, count in counts.items() if count > 0},
    )


def _nodes(entries: Iterable[Manifest]) -> Iterator[NodeRow]:
    for entry in entries:
        name, effect = _ref(entry), _effect(entry)
        if not entry["quota"]:
            yield NodeRow(name, effect, "", ())
        for each in entry["quota"]:
            yield NodeRow(name, effect, _pair(each), tuple(_numbers(each["before"], each["after"])))


def _effect(entry: Manifest) -> str:
    before, after = entry["parent"]["before"], entry["parent"]["after"]
    if before is None:
        return "is created"
    if after is None:
        return "is deleted"
    effect = _EFFECTS.get(str(entry["effect"]), str(entry["effect"]))
    if before == after:
        return effect
    way = f"moves from {before or 'no parent'} to {after or 'no parent'}"
    return way if effect == "moves" else f"{way} and {effect}"


def _numbers(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> Iterator[tuple[str, str, str]]:
    for word, was in before.items():
        if was != after[word]:
            yield word, was or "unlimited", after[word] or "unlimited"


def _losses(entries: Iterable[Manifest], end: str) -> Iterator[LossRow]:
    for each in entries:
        whom = f"{job_text(each['for'])} in {each['forQueue']}" if "for" in each else ""
        yield LossRow(job_text(each["job"]), each["clusterQueue"], each["what"] + end, each["message"], whom)


def _risk(each: Manifest) -> RiskRow:
    jobs = tuple(job_text(job) for job in each["jobs"][:5])
    more = len(each["jobs"]) - len(jobs)
    return RiskRow(
        _ref(each),
        _pair(each),
        f"{each['used']} in use, {each['nominal']} its own",
        (*jobs, f"{more} more") if more else jobs,
    )


def _unreadable(entries: Iterable[Manifest]) -> list[str]:
    """With the line of what was pasted; the lines of what the form has made say nothing to people."""
    found = (
        f"line {each['line']}: {each['message']}" if each["file"] == "pasted" else each["message"] for each in entries
    )
    return list(dict.fromkeys(found))


def _ref(each: Mapping[str, Any]) -> str:
    name = f"{each['namespace']}/{each['name']}" if each.get("namespace") else each["name"]
    return f"{each['kind']} {name}"


def _pair(each: Mapping[str, str]) -> str:
    return f"{each['flavor']}/{each['resource']}" if each["flavor"] else each["resource"]
