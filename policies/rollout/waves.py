"""The order in steps and waves, as Argo CD applies: the edits of a wave may come in any order, even at one moment.

A wave has edits that do not meet: of different trees, or of one tree where all ask for more or all give back and none
is above another. Then every state on the way lies between that before the wave and that after it.
Source: Argo CD, Sync Phases and Waves: within a wave objects are applied by kind and name; pruning comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from policies.model.forest import Forest
from policies.model.objects import Attached, KubeObject, Node, Ref
from policies.rollout.edits import Edit, direction

_ANY_TREE = Ref("yunikorn.apache.org", "Tree", "", "")
"""YuniKorn's queues and Namespaces count as one tree."""


@dataclass(frozen=True, slots=True)
class Sync:
    """What one sync does: `waves` one after the other, then the deletions, in order."""

    waves: tuple[tuple[Edit, ...], ...]
    deletions: tuple[Edit, ...]


def steps(world: Forest, edits: Iterable[Edit]) -> list[Sync]:
    """The edits in their order. A new step begins where an object is written again, or written after a deletion."""
    found, plan = [], _Plan(world)
    for edit in edits:
        if not plan.takes(edit):
            found.append(plan.step())
            plan = _Plan(plan.world)
        plan.add(edit)
    return [*found, plan.step()] if plan.written or plan.deletions else found


@dataclass(slots=True)
class _Plan:
    """The step that is being filled. The numbers are those of waves: the last in which an object was written or
    read, in which anything below it was written, and in which a tree was changed, by direction."""

    world: Forest
    waves: list[list[Edit]] = field(default_factory=list)
    deletions: list[Edit] = field(default_factory=list)
    written: dict[Ref, int] = field(default_factory=dict)
    read: dict[Ref, int] = field(default_factory=dict)
    below: dict[Ref, int] = field(default_factory=dict)
    trees: dict[Ref, dict[int, int]] = field(default_factory=dict)

    def takes(self, edit: Edit) -> bool:
        return edit.after is None or not (self.deletions or edit.ref in self.written)

    def add(self, edit: Edit) -> None:
        before = self.world
        if edit.after is None:
            self.deletions.append(edit)
            self.world = before.drop(edit.ref)
            return
        self.world = before.put(edit.after.object)
        above = {*before.ancestors(edit.ref), *self.world.ancestors(edit.ref)}
        trees, reads, way = set(_trees(edit, before, self.world)), _reads(edit), direction(edit)
        wave = max(self._earliest(edit.ref, above, reads, trees, way), default=-1) + 1
        self._note(edit, wave, above, reads, trees, way)

    def step(self) -> Sync:
        return Sync(tuple(map(tuple, self.waves)), tuple(self.deletions))

    def _earliest(self, ref: Ref, above: set[Ref], reads: set[Ref], trees: set[Ref], way: int) -> Iterator[int]:
        """The waves that it has to come after."""
        for numbers in (self.written, self.read, self.below):
            if ref in numbers:
                yield numbers[ref]
        yield from (self.written[other] for other in above | reads if other in self.written)
        for tree in trees:
            yield from (wave for other, wave in self.trees.get(tree, {}).items() if other != way or not way)

    def _note(self, edit: Edit, wave: int, above: set[Ref], reads: set[Ref], trees: set[Ref], way: int) -> None:
        if wave == len(self.waves):
            self.waves.append([])
        self.waves[wave].append(edit)
        self.written[edit.ref] = wave
        for numbers, others in ((self.read, reads), (self.below, above)):
            for other in others:
                numbers[other] = max(wave, numbers.get(other, wave))
        for tree in trees:
            ways = self.trees.setdefault(tree, {})
            ways[way] = max(wave, ways.get(way, wave))


def _trees(edit: Edit, before: Forest, after: Forest) -> Iterator[Ref]:
    """The roots of the trees that it changes."""
    found = edit.after.object if edit.after else None
    if isinstance(found, Node):
        for world in (before, after):
            yield (edit.ref, *world.ancestors(edit.ref))[-1]
    elif any(each is not None and _is_of_yunikorn(each) for each in (found, before.get(edit.ref))):
        yield _ANY_TREE


def _is_of_yunikorn(found: KubeObject) -> bool:
    return found.group_share() is not None or found.ref.kind == "ConfigMap"


def _reads(edit: Edit) -> set[Ref]:
    """The objects that it names."""
    found: set[Ref] = set()
    for parsed in (edit.before, edit.after):
        if parsed is not None:
            found |= parsed.object.uses()
            if isinstance(parsed.object, Attached) and parsed.object.queue:
                found.add(parsed.object.queue)
    return found
