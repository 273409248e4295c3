"""Renders the impact of a change as text, tables, and JSON (docs/schemas/diff.schema.json).

Each function gets the impacts on all organisations that differ, most often one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from analysis.impact import Impact, effect_text
from cli.output import first_of, section, some
from cli.report.formats.page import Page, Table
from cli.report.reports import API_VERSION, unreadable_json
from policies.impact.quotas import Effect, Excess, NodeChange, PairChange, PairQuota, QuotaPair, amount_text
from policies.model.objects import parted
from policies.model.printing import plain
from scheduling.impact.elsewhere import WorkChange
from scheduling.impact.prediction import AtRisk
from scheduling.simulation.trace import Evicted, Preempted
from scheduling.visibility.workloads import RunningWorkload, holding

_MOST_FOLLOWERS = 20
"""The maximum number of nodes in the text of which only the reach changes. A Cohort may have thousands of these."""
_MOST_NAMES = 5
_ORDER = (Effect.GAINS, Effect.LOSES, Effect.MIXED, Effect.MOVES)
_COUNTED = {
    Effect.GAINS: ("node gains", "nodes gain"),
    Effect.LOSES: ("node loses", "nodes lose"),
    Effect.MIXED: ("node gains and loses", "nodes gain and lose"),
    Effect.MOVES: ("node moves", "nodes move"),
}


def as_text(impacts: Sequence[Impact]) -> str:
    return "\n\n".join(map(_text, impacts))


def _text(impact: Impact) -> str:
    sections = {
        "quota": _nodes(impact.nodes),
        "deleted, but still in use": in_use_lines(impact),
        "becomes over quota": map(over_line, impact.over),
        "work": work_lines(impact),
        "could be preempted when others want their quota back": risk_lines(impact),
    }
    found = (section(heading, map(plain, lines)) for heading, lines in sections.items())
    return "\n".join([plain(head_line(impact)), counts_line(impact), *chain.from_iterable(found)])


def head_line(impact: Impact) -> str:
    change = impact.change
    applied, deleted = len(change.applied.objects) + len(change.applied.rest), len(change.deleted)
    parts = [f"{some(applied, 'object')} applied"] + ([f"{deleted} deleted"] if deleted else [])
    return f"compared with {change.was}: {', '.join(parts)}"


def counts_line(impact: Impact) -> str:
    counts = Counter(node.effect for node in impact.nodes)
    parts = [f"{counts[effect]} {_COUNTED[effect][counts[effect] != 1]}" for effect in _ORDER if counts[effect]]
    in_use = impact.prediction.in_use
    stay = [f"{some(len(in_use), 'deleted object')} still in use"] if in_use else []
    return ", ".join([*(parts or ["no quota changes" + " yet" * bool(in_use)]), *stay])


# --- quota


def _nodes(nodes: Iterable[NodeChange]) -> Iterator[str]:
    shown, more = without_followers(nodes)
    for node in shown:
        yield f"{node.ref} {effect_text(node)}"
        yield from (f"    {_pair(each)}" for each in node.pairs)
    if more:
        yield more


def without_followers(nodes: Iterable[NodeChange]) -> tuple[list[NodeChange], str]:
    """The nodes with at most _MOST_FOLLOWERS of which only the reach changes, and a line that counts the rest."""
    shown, followers = [], 0
    for node in nodes:
        followers += node.only_reach
        if not node.only_reach or followers <= _MOST_FOLLOWERS:
            shown.append(node)
    more = followers - _MOST_FOLLOWERS
    return shown, f"and {more} more, where only the reach changes; -o json lists them" if more > 0 else ""


def _pair(each: PairChange) -> str:
    resource = each.pair.resource
    parts = (
        f"{word} {amount_text(resource, was)} -> {amount_text(resource, now)}"
        for word, was, now in zip(PairQuota._fields, each.before, each.after, strict=True)
        if was != now
    )
    return f"{each.pair}: {', '.join(parts)}"


def over_line(excess: Excess) -> str:
    used, limit = (amount_text(excess.pair.resource, amount) for amount in (excess.used, excess.limit))
    return f"{excess.ref}: {excess.pair}: {used} in use, at most {limit} allowed"


def in_use_lines(impact: Impact) -> Iterator[str]:
    for each in impact.prediction.in_use:
        if each.queues:
            yield f"{each.ref} stays while it is used by ClusterQueue {first_of(each.queues, _MOST_NAMES)}"
        elif each.flavors:
            yield f"{each.ref} stays while it is used by ResourceFlavor {first_of(each.flavors, _MOST_NAMES)}"
        else:
            users = _names(impact, each.workloads)
            yield f"{each.ref} admits nothing new, and keeps its quota until its work ends: {users}"


# --- work


def work_lines(impact: Impact) -> Iterator[str]:
    found, world = impact.prediction, impact.simulation.world
    yield from (_loss(impact, each, "") for each in found.lost)
    yield from (_loss(impact, each, "; then admitted again") for each in found.restarted)
    for key in found.admitted:
        held = holding(world, world.workloads[key])
        yield f"admitted   {_name(impact, key)} in {held.queue}{_places(held)}"
    for change in impact.work_elsewhere:
        yield f"{_direction(change)} {change.name} in {change.queue}: {change.before} -> {change.after} Pods run"
    if not impact.settled:
        yield "this never settles: some of these workloads preempt each other again and again"


def _places(held: RunningWorkload) -> str:
    """The domains of its pod sets in topologies, with the names of the pod sets if there are several."""
    placed = {each.name: each.places.domains for each in held.pod_sets if each.places is not None}
    texts = {name: ", ".join(f"{each.name}: {each.pods}" for each in domains) for name, domains in placed.items()}
    parts = [f"{name} {text}" for name, text in texts.items()] if len(held.pod_sets) > 1 else [*texts.values()]
    return f" ({'; '.join(parts)})" if parts else ""


def _direction(change: WorkChange) -> str:
    return "starts    " if change.after > change.before else "stops     "


def _loss(impact: Impact, each: Evicted | Preempted, end: str) -> str:
    name = f"{_name(impact, each.workload)} in {each.queue}"
    if isinstance(each, Preempted):
        preemptor = f"{_name(impact, each.preemptor)} in {each.preemptor_queue}"
        return f"preempted  {name} for {preemptor}: {each.reason}{end}"
    return f"evicted    {name}: {each.message}{end}"


def risk_lines(impact: Impact) -> Iterator[str]:
    for risk in impact.prediction.at_risk:
        yield f"{_borrowing(risk)}: {_names(impact, risk.workloads)}"


def _borrowing(risk: AtRisk) -> str:
    found = risk.borrowing
    borrowed = amount_text(found.pair.resource, found.used - found.limit)
    return f"{found.ref} borrows {borrowed} of {found.pair}"


def _names(impact: Impact, keys: tuple[str, ...]) -> str:
    return first_of([_name(impact, key) for key in keys], _MOST_NAMES)


def _name(impact: Impact, key: str) -> str:
    return str(impact.simulation.names[key])


_HEAD = ("node", "amount", *PairQuota._fields)


def as_page(impacts: Sequence[Impact]) -> Page:
    return _joined([_page(each, each.nodes) for each in impacts], impacts)


def as_short_page(impacts: Sequence[Impact]) -> Page:
    """The page with only some of the nodes of which only the reach changes."""
    return _joined([_page(each, *without_followers(each.nodes)) for each in impacts], impacts)


def _joined(pages: Sequence[Page], impacts: Sequence[Impact]) -> Page:
    """One page. The headings of several organisations name the state with which each is compared."""
    if len(pages) == 1:
        return pages[0]
    tables = (
        replace(table, heading=f"{impact.change.was}: {table.heading}")
        for page, impact in zip(pages, impacts, strict=True)
        for table in page.tables
    )
    head = "; ".join(f"{page.head}, {page.title}" for page in pages)
    return Page(f"{len(pages)} organisations differ", head, tuple(tables))


def _page(impact: Impact, nodes: Iterable[NodeChange], more: str = "") -> Page:
    tables = (
        Table("quota", _HEAD, list(_rows(nodes)), more),
        _list("deleted, but still in use", "object", in_use_lines(impact)),
        _list("becomes over quota", "node", map(over_line, impact.over)),
        _list("work", "because of the change", work_lines(impact)),
        _list("could be preempted when others want their quota back", "queue", risk_lines(impact)),
    )
    return Page(counts_line(impact), head_line(impact), tables)


def _list(heading: str, head: str, lines: Iterable[str]) -> Table:
    return Table(heading, (head,), [(line,) for line in lines])


def _rows(nodes: Iterable[NodeChange]) -> Iterator[Sequence[str]]:
    """The rows of all nodes. A node of which only the parent changes also has a row."""
    for node in nodes:
        cells = [(str(each.pair), *_cells(each)) for each in node.pairs] or [("",) * (len(_HEAD) - 1)]
        for number, row in enumerate(cells):
            yield ("" if number else f"{node.ref} {effect_text(node)}", *row)


def _cells(each: PairChange) -> Iterator[str]:
    for was, now in zip(each.before, each.after, strict=True):
        before, after = (amount_text(each.pair.resource, amount) for amount in (was, now))
        yield after if was == now else f"{before} -> {after}"


def as_json(impacts: Sequence[Impact]) -> dict[str, Any]:
    """The impact as JSON, or a list of several. Amounts are quantities of Kubernetes; null means unlimited."""
    found = list(map(_json, impacts))
    return found[0] if len(found) == 1 else {"apiVersion": API_VERSION, "kind": "DiffList", "items": found}


def _json(impact: Impact) -> dict[str, Any]:
    change, found = impact.change, impact.prediction
    return {
        "apiVersion": API_VERSION,
        "kind": "Diff",
        "comparedWith": change.was,
        "applied": len(change.applied.objects) + len(change.applied.rest),
        "deleted": [each.ref._asdict() for each in change.deleted],
        "stillInUse": [
            {
                **each.ref._asdict(),
                "jobs": [_job(impact, key) for key in each.workloads],
                "clusterQueues": [*each.queues],
                "resourceFlavors": [*each.flavors],
            }
            for each in found.in_use
        ],
        "nodes": [_node(each) for each in impact.nodes],
        "overQuota": [
            {**each.ref._asdict(), **each.pair._asdict(), **_amounts(each.pair, used=each.used, limit=each.limit)}
            for each in impact.over
        ],
        "lost": [_loss_json(impact, each) for each in found.lost],
        "restarted": [_loss_json(impact, each) for each in found.restarted],
        "admitted": [_admitted(impact, key) for key in found.admitted],
        "couldBePreempted": [
            {
                **each.borrowing.ref._asdict(),
                **each.borrowing.pair._asdict(),
                **_amounts(each.borrowing.pair, used=each.borrowing.used, nominal=each.borrowing.limit),
                "jobs": [_job(impact, key) for key in each.workloads],
            }
            for each in found.at_risk
        ],
        "elsewhere": [
            {"name": each.name, "queue": each.queue, "podsBefore": each.before, "podsAfter": each.after}
            for each in impact.work_elsewhere
        ],
        "settled": impact.settled,
        "assumptions": [*impact.simulation.intake.assumptions(), *impact.files.assumptions()],
        "unreadable": list(map(unreadable_json, impact.files.left_out)),
    }


def _node(node: NodeChange) -> dict[str, Any]:
    states = {"before": node.before, "after": node.after}
    return {
        **node.ref._asdict(),
        "effect": str(node.effect),
        "parent": {word: each.parent if each else None for word, each in states.items()},  # empty for a root
        "quota": [
            {
                **each.pair._asdict(),
                "before": _amounts(each.pair, **each.before._asdict()),
                "after": _amounts(each.pair, **each.after._asdict()),
            }
            for each in node.pairs
        ],
    }


def _amounts(pair: QuotaPair, **amounts: int | None) -> dict[str, str | None]:
    return {word: None if amount is None else amount_text(pair.resource, amount) for word, amount in amounts.items()}


def _loss_json(impact: Impact, each: Evicted | Preempted) -> dict[str, Any]:
    found = {
        "what": each.what,
        "job": _job(impact, each.workload),
        "clusterQueue": each.queue,
        "reason": each.reason,
        "message": each.message,
    }
    if isinstance(each, Preempted):
        found |= {"for": _job(impact, each.preemptor), "forQueue": each.preemptor_queue}
    return found


def _admitted(impact: Impact, key: str) -> dict[str, Any]:
    world = impact.simulation.world
    held = holding(world, world.workloads[key])
    placed = [
        {"podSet": pod_set.name, **each._asdict(), "values": list(each.values)}
        for pod_set in held.pod_sets
        for each in (pod_set.places.domains if pod_set.places is not None else ())
    ]
    domains = {"domains": placed} if placed else {}
    return {"job": _job(impact, key), "clusterQueue": held.queue, **domains}


def _job(impact: Impact, key: str) -> dict[str, str]:
    """The job as in the files, with the name of its Workload."""
    return {**impact.simulation.names[key]._asdict(), "workload": parted(key)[1]}
