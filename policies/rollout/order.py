"""A safe order of the edits of a change.

The search is greedy: what is allowed goes next. Where it gets stuck, it starts again with the stuck edits first, since
they needed room that others took. Edits that are stuck in every order need a detour: an intermediate version of an
object, which makes room and is replaced later.
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
"""Restarts of the search with the stuck edits first. An edit that is stuck even then usually is in every order."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """An edit that is refused where the order ends, and why."""

    edit: Edit
    refusals: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class ApplyOrder:
    """`edits` in an order in which none is refused. `stuck`: the edits without such an order.

    `blocked` has for each object with a detour why it could not take its final form at once.
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
    """One attempt. `done` were allowed one after the other; `left` were refused at the end."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.done: list[Edit] = []
        self.left: list[Stuck] = []
        self.blocked: list[Stuck] = []

    def run(self, edits: Sequence[Edit]) -> _Search:
        """Pass over the edits until a pass finds none that is allowed."""
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
        """Take one detour for each stuck object, as long as each leaves fewer edits stuck."""
        tried: set[Ref] = set()
        while found := [each for each in self.left if each.edit.ref not in tried]:
            stuck = found[0]
            tried.add(stuck.edit.ref)
            if any(self._helps({stuck.edit.ref: [detour]}) for detour in detours(stuck.edit)):
                self.blocked.append(stuck)
        self._go_round_together()

    def _go_round_together(self) -> None:
        """Where each needs the room of another, a detour of one alone helps nobody: all take one, gentle or not."""
        stuck, between = self.left, {each.edit.ref: [*detours(each.edit)] for each in self.left}
        gentle_last = {ref: versions[::-1] for ref, versions in between.items()}
        if stuck and (self._helps(between) or self._helps(gentle_last)):
            self.blocked += [each for each in stuck if between[each.edit.ref]]

    def _helps(self, between: Mapping[Ref, Sequence[Parsed]]) -> bool:
        """Take the first allowed detour of each object; whether fewer edits are stuck then. Else nothing is done."""
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
    """What others refer to first, then what gives room, from the leaves up; then what takes it, from the roots down.

    Deletions come last, those of leaves first: Argo CD prunes after it has applied.
    """
    parsed = edit.after or edit.before
    found, depth = parsed.object if parsed else None, sum(1 for _ in world.ancestors(edit.ref))
    if edit.after is None:
        return 5 if isinstance(found, Attached) else 6 if isinstance(found, Node) else 7, -depth, edit.ref
    if not isinstance(found, Node):
        return 4 if isinstance(found, Attached) else 0, 0, edit.ref
    return (1, -depth, edit.ref) if direction(edit) < 0 else (2, depth, edit.ref)
