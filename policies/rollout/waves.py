"""Turns an order of edits into Argo CD's syncs and waves. The edits of one wave may be applied in any order.

Edits share a wave if they are independent. This is the case if they are in different trees, or if they are in one tree,
none is an ancestor of another, and all raise quota or all lower it. Every state within a wave is then as valid as the
states before and after the wave.
Source: Argo CD, Sync Phases and Waves: within a wave objects are applied by kind and name; pruning comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from policies.model.forest import Forest
from policies.model.objects import Attached, KubeObject, Node, Ref
from policies.rollout.edits import Edit, direction

_YUNIKORN_TREE = Ref("yunikorn.apache.org", "Tree", "", "")
"""Stands for YuniKorn's queues and Namespaces, which count as one tree."""


@dataclass(frozen=True, slots=True)
class Sync:
    """One sync: the `waves` one after another, then the `deletions` in this order."""

    waves: tuple[tuple[Edit, ...], ...]
    deletions: tuple[Edit, ...]


def syncs(world: Forest, edits: Iterable[Edit]) -> list[Sync]:
    """The syncs for these edits. A new one begins at a second write of an object, or at a write after a deletion."""
    found, plan = [], _SyncPlan(world)
    for edit in edits:
        if not plan.fits(edit):
            found.append(plan.sync())
            plan = _SyncPlan(plan.world)
        plan.add(edit)
    return [*found, plan.sync()] if plan.written or plan.deletions else found


@dataclass(slots=True)
class _SyncPlan:
    """The sync that is being planned. Each number is the index of a wave.

    written, read: the last wave that writes an object, and that reads it.
    below: the last wave that writes a descendant of an object.
    trees: the last wave that changes a tree, by direction.
    """

    world: Forest
    waves: list[list[Edit]] = field(default_factory=list)
    deletions: list[Edit] = field(default_factory=list)
    written: dict[Ref, int] = field(default_factory=dict)
    read: dict[Ref, int] = field(default_factory=dict)
    below: dict[Ref, int] = field(default_factory=dict)
    trees: dict[Ref, dict[int, int]] = field(default_factory=dict)

    def fits(self, edit: Edit) -> bool:
        return edit.after is None or not (self.deletions or edit.ref in self.written)

    def add(self, edit: Edit) -> None:
        before = self.world
        if edit.after is None:
            self.deletions.append(edit)
            self.world = before.drop(edit.ref)
            return
        self.world = before.put(edit.after.object)
        above = {*before.ancestors(edit.ref), *self.world.ancestors(edit.ref)}
        trees, reads, sign = set(_trees(edit, before, self.world)), _reads(edit), direction(edit)
        wave = max(self._preceding(edit.ref, above, reads, trees, sign), default=-1) + 1
        self._place(edit, wave, above, reads, trees, sign)

    def sync(self) -> Sync:
        return Sync(tuple(map(tuple, self.waves)), tuple(self.deletions))

    def _preceding(self, ref: Ref, above: set[Ref], reads: set[Ref], trees: set[Ref], sign: int) -> Iterator[int]:
        for numbers in (self.written, self.read, self.below):
            if ref in numbers:
                yield numbers[ref]
        yield from (self.written[other] for other in above | reads if other in self.written)
        for tree in trees:
            yield from (wave for other, wave in self.trees.get(tree, {}).items() if other != sign or not sign)

    def _place(self, edit: Edit, wave: int, above: set[Ref], reads: set[Ref], trees: set[Ref], sign: int) -> None:
        if wave == len(self.waves):
            self.waves.append([])
        self.waves[wave].append(edit)
        self.written[edit.ref] = wave
        for numbers, others in ((self.read, reads), (self.below, above)):
            for other in others:
                numbers[other] = max(wave, numbers.get(other, wave))
        for tree in trees:
            by_sign = self.trees.setdefault(tree, {})
            by_sign[sign] = max(wave, by_sign.get(sign, wave))


def _trees(edit: Edit, before: Forest, after: Forest) -> Iterator[Ref]:
    found = edit.after.object if edit.after else None
    if isinstance(found, Node):
        for world in (before, after):
            yield (edit.ref, *world.ancestors(edit.ref))[-1]
    elif any(each is not None and _is_of_yunikorn(each) for each in (found, before.get(edit.ref))):
        yield _YUNIKORN_TREE


def _is_of_yunikorn(found: KubeObject) -> bool:
    return found.group_share() is not None or found.ref.kind == "ConfigMap"


def _reads(edit: Edit) -> set[Ref]:
    found: set[Ref] = set()
    for parsed in (edit.before, edit.after):
        if parsed is not None:
            found |= parsed.object.uses()
            if isinstance(parsed.object, Attached) and parsed.object.queue:
                found.add(parsed.object.queue)
    return found
