"""YuniKorn's invariants by brute force: the queues of a text, and the Namespaces whose queues lie below them.

The second half of `oracle.py`, which reads amounts for it; nothing here comes from `policies` either.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Amount = Callable[[object], Fraction | None]
Row = tuple[str, str, Fraction]
PARENT = "yunikorn.apache.org/parentqueue"
NONE = Fraction(0)
UNLIMITED = Fraction(2**64)
_NAME = re.compile("[a-zA-Z0-9_:#/@-]{1,64}").fullmatch


@dataclass
class Tree:
    """A queue with those below it; `most` are the maxima of it and of all above."""

    path: str
    spec: dict[str, Any]
    guaranteed: dict[str, Fraction]
    maximum: dict[str, Fraction]
    above: Tree | None
    children: list[Tree] = field(default_factory=list)

    @property
    def most(self) -> dict[str, Fraction]:
        found = dict(self.maximum)
        for name, value in (self.above.most if self.above else {}).items():
            found[name] = min(value, found.get(name, value))
        return found

    def walk(self) -> Iterator[Tree]:
        yield self
        for child in self.children:
            yield from child.walk()

    def counts_for(self, name: str) -> Fraction:
        """What its parent must hold of this type: its own word on it, or else what is below."""
        return self.guaranteed.get(name, sum((child.counts_for(name) for child in self.children), NONE))


def read(text: str, amount: Amount) -> Tree | None:
    """The tree of a text that is JSON; None without one."""
    partitions = json.loads(text).get("partitions") or []
    return _read(partitions[0]["queues"][0], None, amount) if partitions else None


def _read(spec: dict[str, Any], above: Tree | None, amount: Amount) -> Tree:
    held = spec.get("resources", {})
    guaranteed, maximum = (
        {name: value for name, text in held.get(which, {}).items() if (value := amount(text)) is not None}
        for which in ("guaranteed", "max")
    )
    path = f"{above.path}.{spec['name'].lower()}" if above else "root"
    tree = Tree(path, spec, guaranteed, maximum, above)
    tree.children = [_read(child, tree, amount) for child in spec.get("queues", [])]
    return tree


def json_object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def queue_faults(root: Tree, amount: Amount) -> Iterator[Row]:
    """(what, where, by how much) of each fault that the queues have without any Namespace."""
    for queue in root.walk():
        yield from _written(queue, amount)
        for name, value in queue.guaranteed.items():
            if value > queue.maximum.get(name, value):
                yield "queue guaranteed > max", f"{queue.path} {name}", value - queue.maximum[name]
        above = queue.above.most if queue.above else {}
        for name, value in queue.maximum.items():
            if value > above.get(name, value):
                yield "max > max above", f"{queue.path} {name}", value - above[name]
        yield from _sums(queue)
        yield from _applications(queue)


def _written(queue: Tree, amount: Amount) -> Iterator[Row]:
    """What the queue's own text says."""
    if queue.above and not _NAME(queue.spec["name"]):
        yield "no name", queue.path, NONE
    names = [child.path for child in queue.children]
    for name in names:
        if names.count(name) > 1:
            yield "named twice", name, NONE
    for which, texts in queue.spec.get("resources", {}).items():
        for name, text in texts.items():
            if amount(text) is None:
                yield "no amount", f"{queue.path} {which} {name}", NONE
    if queue.maximum and not any(queue.maximum.values()):
        yield "shut by zeros", queue.path, NONE


def _sums(queue: Tree, more: Mapping[str, Fraction] | None = None) -> Iterator[Row]:
    """`more` is what Namespaces are guaranteed below the queue."""
    names = {name for each in queue.walk() for name in each.guaranteed} | set(more or {})
    for name in sorted(names):
        total = sum((child.counts_for(name) for child in queue.children), NONE) + (more or {}).get(name, NONE)
        for which, held in (("guaranteed", queue.guaranteed), ("max", queue.most)):
            if total > held.get(name, total):
                yield f"children > {which}", f"{queue.path} {name}", total - held[name]


def _applications(queue: Tree) -> Iterator[Row]:
    most = queue.spec.get("maxapplications", 0)
    for child in queue.children:
        own = child.spec.get("maxapplications", 0)
        if most and not 0 < own <= most:
            yield "applications > above", child.path, Fraction(own - most) if own else UNLIMITED


@dataclass
class Team:
    """A Namespace: which queue it names, and what it has."""

    name: str
    parent: str
    quota: dict[str, Fraction]
    guaranteed: dict[str, Fraction]


def parent_fault(root: Tree, team: Team) -> str:
    """Why no queue can be made where the Namespace asks for one; empty where it can."""
    queue = _named(root, team)
    if not team.parent:
        return ""
    if queue is None:
        return "no parent queue"
    return "" if queue.children or queue.spec.get("parent") else "parent queue is a leaf"


def _named(root: Tree, team: Team) -> Tree | None:
    """Of several children of one name the first counts."""
    queue: Tree | None = root
    for name in team.parent.lower().removeprefix("root.").split("."):
        queue = (
            next((child for child in queue.children if child.path == f"{queue.path}.{name}"), None) if queue else None
        )
    return queue


def team_faults(root: Tree, teams: list[Team]) -> Iterator[tuple[str, str, Fraction]]:
    """What Namespaces have too much; those whose parent cannot be used have nothing."""
    placed = [(team, _named(root, team)) for team in teams if team.parent and not parent_fault(root, team)]
    for team, queue in placed:
        limits = queue.most if queue else {}
        for which, held in (("quota", team.quota), ("guaranteed", team.guaranteed)):
            for name, value in held.items():
                if value > limits.get(name, value):
                    yield f"namespace {which} > max", f"{team.name} {name}", value - limits[name]
    sums: dict[str, dict[str, Fraction]] = {}
    for team, queue in placed:
        rest = dict(team.guaranteed)
        while queue is not None:
            below = sums.setdefault(queue.path, {})
            for name, value in rest.items():
                below[name] = below.get(name, NONE) + value
            rest = {name: value for name, value in rest.items() if name not in queue.guaranteed}
            queue = queue.above
    for queue in root.walk():
        if queue.above and any(sums.get(queue.path, {}).values()):
            for what, where, excess in _sums(queue, sums[queue.path]):
                yield f"with namespaces {what}", where, excess
