"""Draws trees as lines of text: of a forest, of a scheduler's queues, and of the JSON of /v1."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from analysis.trees.quotas import QuotaRow, Quotas
from analysis.trees.usage import condition_note, workload_note
from analysis.trees.view import UnknownNode, WantedNode, unknown
from analysis.trees.walk import DrawnNode
from policies.model.forest import Forest
from policies.model.printing import plain


class Glyphs(NamedTuple):
    branch: str
    last: str
    through: str


FINE = Glyphs("├─ ", "└─ ", "│  ")
PLAIN = Glyphs("|- ", "`- ", "|  ")
_GAP = "   "


def glyphs() -> Glyphs:
    """The glyphs that standard output can show."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    return FINE if encoding == "utf8" else PLAIN


def lines(forest: Forest, quotas: Quotas, drawn: DrawnNode, glyphs: Glyphs) -> Iterator[str]:
    """The lines of a node: its name, and below it a line for each resource."""
    notes = [drawn.start_note] if drawn.start_note else []
    notes += ["no object here"] if forest.node(drawn.ref) is None else []
    notes += ["continued below"] if drawn.is_continued else []
    notes += filter(None, (condition_note(quotas.condition(drawn.ref)), quotas.note(drawn.ref)))
    yield _before(drawn, glyphs) + plain(str(drawn.ref)) + (f" ({plain('; '.join(notes))})" if notes else "")
    margin = _columns(drawn.last, glyphs) + (glyphs.through if drawn.has_children else _GAP)
    yield from (margin + row_text(row) for row in quotas.rows(drawn.ref))


def row_text(row: QuotaRow) -> str:
    name = f"{row.flavor}/{row.resource}" if row.flavor else row.resource
    own = _amounts(row.own) or "not set"
    return plain(f"{name}: {own}" + (f"; children: {_amounts(row.below)}" if row.below else ""))


def queue_rows(
    name: str, notes: Sequence[str], amounts: Iterable[tuple[str, Mapping[str, str]]]
) -> tuple[str, list[str]]:
    """The line of a queue, and one for each of its resources, for `tree`."""
    title = name + (f" ({', '.join(notes)})" if notes else "")
    return plain(title), [plain(f"{resource}: {_amounts(texts)}") for resource, texts in amounts]


def _amounts(texts: Mapping[str, str]) -> str:
    return ", ".join(f"{word} {text}" for word, text in texts.items())


def _before(drawn: DrawnNode, glyphs: Glyphs) -> str:
    if not drawn.last:
        return ""
    return _columns(drawn.last[:-1], glyphs) + (glyphs.last if drawn.last[-1] else glyphs.branch)


def _columns(last: tuple[bool, ...], glyphs: Glyphs) -> str:
    return "".join(_GAP if is_last else glyphs.through for is_last in last)


class Branch(Protocol):
    """A queue with its children by name."""

    @property
    def children(self) -> Mapping[str, Self]: ...


B = TypeVar("B", bound=Branch)


def tree(
    root: B, rows: Callable[[B], tuple[str, list[str]]], shown: Callable[[B], bool] = lambda _: True
) -> Iterator[str]:
    """The lines of a tree: one for each queue, and below it one for each of its resources.

    `rows`: returns the line of a queue and those of its resources. `shown`: whether a child is drawn.
    """
    shapes = glyphs()
    waiting: list[tuple[B, str, bool | None]] = [(root, "", None)]
    while waiting:
        queue, margin, last = waiting.pop()
        name, lines = rows(queue)
        if last is None:
            yield name
        else:
            yield margin + (shapes.last if last else shapes.branch) + name
            margin += "   " if last else shapes.through
        children = [child for name in sorted(queue.children) if shown(child := queue.children[name])]
        yield from (margin + (shapes.through if children else "   ") + line for line in lines)
        waiting += [(child, margin, child is children[-1]) for child in reversed(children)]


Found = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class _Branch:
    entry: Found
    children: dict[str, _Branch] = field(default_factory=dict)
    parent: _Branch | None = None

    @property
    def name(self) -> str:
        return f"{self.entry['kind']} {self.entry['name']}"

    def path(self) -> Iterator[_Branch]:
        here: _Branch | None = self
        while here is not None:
            yield here
            here = here.parent

    def below(self) -> Iterator[_Branch]:
        stack = [self]
        while stack:
            here = stack.pop()
            yield here
            stack += here.children.values()


def chosen(found: Found, nodes: Sequence[WantedNode], children: bool) -> dict[str, Any]:
    """The JSON with only these nodes, their ancestors and their descendants; without `nodes`, all of it.

    `children`: keep these nodes and their direct children only. Raises UnknownNode.
    """
    every = [branch for root in _roots(found) for branch in root.below()]
    if not nodes:
        return dict(found)
    kept: set[_Branch] = set()
    for each in nodes:
        matching = [it for it in every if each.is_of(it.entry["kind"], it.entry["name"])]
        if not matching:
            raise UnknownNode(unknown(each, [it.entry["name"] for it in every]))
        for it in matching:
            kept |= {it, *it.children.values()} if children else {*it.path(), *it.below()}
    entries = {id(branch.entry) for branch in kept}
    return {**found, "nodes": [entry for entry in found["nodes"] if id(entry) in entries]}


def tree_lines(found: Found) -> Iterator[str]:
    yield from ["Kueue"] if found["nodes"] else ["no quota trees here"]
    for root in _roots(found):
        yield from tree(root, _rows)


def _roots(found: Found) -> list[_Branch]:
    """The roots of Kueue's trees. A Cohort and a ClusterQueue may have the same name; only a Cohort is a parent."""
    branches = [_Branch(entry) for entry in found["nodes"]]
    cohorts = {each.entry["name"]: each for each in branches if each.entry["kind"] == "Cohort"}
    for each in branches:
        parent = cohorts.get(each.entry["parent"] or "")
        if parent is not None and each not in parent.path():
            each.parent = parent
            parent.children[each.name] = each
    return [each for each in branches if each.parent is None]


def _rows(branch: _Branch) -> tuple[str, list[str]]:
    entry = branch.entry
    notes = [] if entry.get("exists", True) else ["no object here"]
    notes += filter(None, (condition_note(entry), workload_note(entry.get("workloads", {}))))
    rows = [QuotaRow(each["flavor"], each["resource"], each["own"], each["children"]) for each in entry["quota"]]
    return plain(branch.name + (f" ({'; '.join(notes)})" if notes else "")), list(map(row_text, rows))
