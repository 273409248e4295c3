"""Finds a safe order of the edits of a change.

The search is greedy: it takes any edit that is allowed. If some edits remain, it starts again with these edits first,
since others took the room that they needed. If edits are stuck in every order, a detour is tried: an intermediate
version of an object, which makes room and is replaced later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from policies.dialects.reading import Parsed
from policies.judging.verdict import Judged
from policies.model.forest import Forest
from policies.model.objects import Attached, Node, Ref
from policies.rollout.detours import detours
from policies.rollout.edits import Edit, Site, direction

_RESTARTS = 8
"""The most restarts of the search with the stuck edits first. Edits that are stuck after them usually always are."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """An edit that is refused at the end of the order, and the findings that refuse it."""

    edit: Edit
    refusals: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class ApplyOrder:
    """The result.

    `edits`: the edits in an order in which none is refused.
    `stuck`: the edits that no order allows.
    `blocked`: for each object with a detour, why its final version was refused at first.
    """

    edits: tuple[Edit, ...]
    stuck: tuple[Stuck, ...] = ()
    blocked: tuple[Stuck, ...] = ()


def arrange(site: Site, edits: Iterable[Edit]) -> ApplyOrder:
    """The order of these edits, one for each object."""
    every = list(edits)
    after = site.world.put_all(edit.after.object for edit in every if edit.after)
    wanted = sorted(every, key=lambda edit: _rank(edit, site.world if edit.after is None else after))
    best = _Search(site).run(wanted)
    for _ in range(_RESTARTS):
        if not best.left:
            break
        stuck = {each.edit.ref for each in best.left}
        wanted.sort(key=lambda edit: edit.ref not in stuck)
        best = min(best, _Search(site).run(wanted), key=lambda search: len(search.left))
    best.go_round()
    return ApplyOrder(tuple(best.done), tuple(best.left), tuple(best.blocked))


class _Search:
    """One attempt. `done`: the allowed edits in their order. `left`: the edits that were refused at the end."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.done: list[Edit] = []
        self.left: list[Stuck] = []
        self.blocked: list[Stuck] = []

    def run(self, edits: Sequence[Edit]) -> _Search:
        """Try all remaining edits, again and again, until none is allowed."""
        waiting = list(edits)
        while waiting:
            self.left = []
            for edit in waiting:
                self._try(edit)
            if len(self.left) == len(waiting):
                break
            waiting = [each.edit for each in self.left]
        return self

    def _try(self, edit: Edit) -> None:
        after, refusals = self.site.after(edit)
        if refusals:
            self.left.append(Stuck(edit, refusals))
        else:
            self.site = after
            self.done.append(edit)

    def go_round(self) -> None:
        """Take one detour for each stuck object if fewer edits are stuck with it."""
        tried: set[Ref] = set()
        while found := [each for each in self.left if each.edit.ref not in tried]:
            stuck = found[0]
            tried.add(stuck.edit.ref)
            if any(self._helps({stuck.edit.ref: [detour]}) for detour in detours(stuck.edit)):
                self.blocked.append(stuck)
        self._go_round_together()

    def _go_round_together(self) -> None:
        """Take a detour for all stuck objects at once, since each may need the room of another one. Tries the smallest
        changes first, then the largest."""
        stuck, between = self.left, {each.edit.ref: [*detours(each.edit)] for each in self.left}
        gentle_last = {ref: versions[::-1] for ref, versions in between.items()}
        if stuck and (self._helps(between) or self._helps(gentle_last)):
            self.blocked += [each for each in stuck if between[each.edit.ref]]

    def _helps(self, between: Mapping[Ref, Sequence[Parsed]]) -> bool:
        """Take the first allowed detour of each object, and return whether fewer edits are stuck then. If not, undo
        it."""
        site, taken, rest = self.site, [], []
        for each in self.left:
            edit = each.edit
            for version in between.get(edit.ref, ()):
                after, refusals = site.after(Edit(edit.before, version, detour=True))
                if not refusals:
                    taken.append(Edit(edit.before, version, detour=True))
                    site, edit = after, replace(edit, before=version)
                    break
            rest.append(edit)
        beyond = _Search(site).run(rest)
        if not taken or len(beyond.left) >= len(self.left):
            return False
        self.done += [*taken, *beyond.done]
        self.site, self.left = beyond.site, beyond.left
        return True


def _rank(edit: Edit, world: Forest) -> tuple[int, int, Ref]:
    """The sort key: first objects that others refer to, then nodes that make room, from the leaves up, then nodes that
    take room, from the roots down.

    Deletions come last, those of leaves first, since Argo CD prunes after it has applied.
    """
    parsed = edit.after or edit.before
    found, depth = parsed.object if parsed else None, sum(1 for _ in world.ancestors(edit.ref))
    if edit.after is None:
        return 5 if isinstance(found, Attached) else 6 if isinstance(found, Node) else 7, -depth, edit.ref
    if not isinstance(found, Node):
        return 4 if isinstance(found, Attached) else 0, 0, edit.ref
    return (1, -depth, edit.ref) if direction(edit) < 0 else (2, depth, edit.ref)
