"""What a change does, as text: the quota of each node that differs, what is over quota, and the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from analysis.impact import Impact, effect_text
from cli.output import first_of, section, some
from policies.impact.differences import Effect, NodeChange, PairChange
from policies.impact.quotas import Excess, PairQuota, amount_text
from policies.model.printing import plain
from scheduling.impact.elsewhere import WorkChange
from scheduling.impact.prediction import AtRisk
from scheduling.simulation.trace import Evicted, Preempted
from scheduling.visibility.workloads import RunningWorkload, holding

_MOST_FOLLOWERS = 20
"""Nodes of which only the reach differs that text shows; a Cohort may have thousands below."""
_MOST_NAMES = 5
_ORDER = (Effect.GAINS, Effect.LOSES, Effect.MIXED, Effect.MOVES)
_COUNTED = {
    Effect.GAINS: ("node gains", "nodes gain"),
    Effect.LOSES: ("node loses", "nodes lose"),
    Effect.MIXED: ("node gains and loses", "nodes gain and lose"),
    Effect.MOVES: ("node moves", "nodes move"),
}


def impact_text(impact: Impact) -> str:
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
    """The nodes with few of those of which only the reach differs, and what is said of the others."""
    shown, followers = [], 0
    for node in nodes:
        followers += node.only_reach
        if not node.only_reach or followers <= _MOST_FOLLOWERS:
            shown.append(node)
    more = followers - _MOST_FOLLOWERS
    return shown, f"and {more} more of which only the reach changes; -o json has them" if more > 0 else ""


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
        yield "this never settles: some of these workloads take turns without end"


def _places(held: RunningWorkload) -> str:
    """The domains that its pod sets got in topologies, with the name of the pod set if there are several."""
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
    borrowed = amount_text(found.pair.resource, found.used - found.nominal)
    return f"{found.ref} borrows {borrowed} of {found.pair}"


def _names(impact: Impact, keys: tuple[str, ...]) -> str:
    return first_of([_name(impact, key) for key in keys], _MOST_NAMES)


def _name(impact: Impact, key: str) -> str:
    return str(impact.simulation.names[key])
