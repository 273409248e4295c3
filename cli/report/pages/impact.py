"""What a change does, as a page: a row for each node and amount that differs, then the work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from analysis.impact import Impact, effect_text
from cli.report.changes.impact_text import (
    counts_line,
    head_line,
    in_use_lines,
    over_line,
    risk_lines,
    without_followers,
    work_lines,
)
from cli.report.pages.page import Page, Table
from policies.impact.differences import NodeChange, PairChange
from policies.impact.quotas import PairQuota, amount_text

_HEAD = ("node", "amount", *PairQuota._fields)


def impact_page(impact: Impact) -> Page:
    return _page(impact, impact.nodes)


def short_impact_page(impact: Impact) -> Page:
    """Where thousands follow one change by their reach, a few of them stand for all."""
    return _page(impact, *without_followers(impact.nodes))


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
    """A node that differs in its parent only has a row as well."""
    for node in nodes:
        cells = [(str(each.pair), *_amounts(each)) for each in node.pairs] or [("",) * (len(_HEAD) - 1)]
        for number, row in enumerate(cells):
            yield ("" if number else f"{node.ref} {effect_text(node)}", *row)


def _amounts(each: PairChange) -> Iterator[str]:
    for was, now in zip(each.before, each.after, strict=True):
        before, after = (amount_text(each.pair.resource, amount) for amount in (was, now))
        yield after if was == now else f"{before} -> {after}"
