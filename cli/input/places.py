"""Where a finding lies in what the user wrote: every finding gets a file, a line and a column."""

from __future__ import annotations

from collections.abc import Iterator

from cli.input.documents import Place
from cli.input.given import Given
from policies.model.forest import Forest
from policies.model.objects import Attached, KubeObject, Node, Ref
from policies.model.proposal import Proposal
from policies.model.rule import Cause, Finding


class Places:
    """Places in the given files, for findings about given objects and about those that only the context holds.

    For the latter: the first cause that was given, else the given object nearest in the tree, else the first one.
    """

    def __init__(self, given: Given, proposal: Proposal):
        self._given = given
        self._forests = (proposal.after, proposal.before)
        self._nearest_below: dict[Ref, tuple[int, Ref]] | None = None

    def of(self, finding: Finding) -> Place:
        place = self._given.place(finding.object, finding.field)
        causes = (self.of_cause(cause) for cause in finding.causes)
        return place or next((place for place in causes if place), None) or self._of_relative(finding.object)

    def of_cause(self, cause: Cause) -> Place | None:
        """None for an object that was not given."""
        return self._given.place(cause.object, cause.field)

    def _of_relative(self, ref: Ref) -> Place:
        if self._nearest_below is None:
            self._nearest_below = self._spread()
        below = self._nearest_below
        ways = [(steps + below[at][0], below[at][1]) for steps, at in enumerate(self._way_up(ref)) if at in below]
        nearest = min(ways)[1] if ways else next(iter(self._given.objects))
        placed = self._given.objects[nearest]
        return placed.place(_upward_field(placed.thing))

    def _spread(self) -> dict[Ref, tuple[int, Ref]]:
        """For each object at or above a given one: how many steps below it the nearest given one is, and which."""
        found = {ref: (0, ref) for ref in self._given.objects}
        frontier = list(found)
        while frontier:
            reached = []
            for ref in frontier:
                steps, origin = found[ref]
                for up in self._ups(ref):
                    if up not in found:
                        found[up] = (steps + 1, origin)
                        reached.append(up)
            frontier = reached
        return found

    def _ups(self, ref: Ref) -> Iterator[Ref]:
        for forest in self._forests:
            up = _up(forest.get(ref))
            if up is not None:
                yield up

    def _way_up(self, ref: Ref) -> Iterator[Ref]:
        """The object, its queue or parent and so on, where it stands after the change, else where it stood before."""
        yield ref
        after, before = self._forests
        forest: Forest = after if after.get(ref) is not None else before
        up = _up(forest.get(ref))
        if up is not None:
            yield up
            yield from forest.ancestors(up)


def _up(thing: KubeObject | None) -> Ref | None:
    if isinstance(thing, Attached):
        return thing.queue
    return thing.parent if isinstance(thing, Node) else None


def _upward_field(thing: KubeObject) -> str:
    """The path under which the object names what is above it: the link by which it takes part."""
    if isinstance(thing, Attached):
        return thing.queue_field
    return thing.parent_field if isinstance(thing, Node) else ""
