"""A Tree as a reconciler answers it: the part that is wanted, and as text. It is that of `quotree tree -o json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.trees.quotas import QuotaRow
from analysis.trees.usage import counts_mark
from analysis.trees.view import UnknownNode, WantedNode, unknown
from cli.report.drawing import row_text
from cli.report.simulations.layout import tree
from policies.model.printing import plain

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
    """The answer with these nodes, their ancestors and all below; without any, the whole. Raises UnknownNode."""
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
    entries = [branch.entry for branch in kept]
    return {**found, "nodes": [entry for entry in found["nodes"] if any(entry is each for each in entries)]}


def tree_lines(found: Found) -> Iterator[str]:
    yield from ["Kueue"] if found["nodes"] else ["no quota trees here"]
    for root in _roots(found):
        yield from tree(root, _rows)


def _roots(found: Found) -> list[_Branch]:
    """Nodes of Kueue have one name among Cohorts and one among ClusterQueues; a parent is a Cohort."""
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
    notes += [mark] if (mark := counts_mark(entry.get("workloads", {}))) else []
    rows = [QuotaRow(each["flavor"], each["resource"], each["own"], each["children"]) for each in entry["quota"]]
    return plain(branch.name + (f" ({'; '.join(notes)})" if notes else "")), list(map(row_text, rows))
