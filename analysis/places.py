"""Finds the place of a finding in the input files: a file, a line and a column."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.documents import SourcePlace
from analysis.inputs import InputObjects
from policies.judging.rule import Proposal
from policies.model.findings import Cause, Finding
from policies.model.forest import Forest
from policies.model.objects import Attached, KubeObject, Node, Ref


class InputPlaces:
    """Places in the input files, for findings about their objects and about objects of the context.

    A finding about an object of the context gets the place of its first cause among the inputs, else of the nearest
    input object in the tree, else of the first input object. An object that the change deletes has its place in `base`,
    the inputs before the change.
    """

    def __init__(self, inputs: InputObjects, proposal: Proposal, base: InputObjects | None = None):
        self._inputs = inputs
        self._base = base
        self._forests = (proposal.after, proposal.before)
        self._nearest_below: dict[Ref, tuple[int, Ref]] | None = None

    def of(self, finding: Finding) -> SourcePlace:
        place = self._inputs.place(finding.object, finding.field)
        causes = (self.of_cause(cause) for cause in finding.causes)
        former = self._base.place(finding.object, finding.field) if self._base else None
        return place or next((place for place in causes if place), None) or former or self._of_relative(finding.object)

    def of_cause(self, cause: Cause) -> SourcePlace | None:
        """The place of a cause; None if its object is not among the inputs."""
        return self._inputs.place(cause.object, cause.field)

    def _of_relative(self, ref: Ref) -> SourcePlace:
        if self._nearest_below is None:
            self._nearest_below = self._nearest_inputs()
        below = self._nearest_below
        ways = [(steps + below[at][0], below[at][1]) for steps, at in enumerate(self._way_up(ref)) if at in below]
        held = self._inputs.objects or (self._base.objects if self._base else {})
        placed = held[min(ways)[1] if ways else next(iter(held))]
        return placed.place(_upward_field(placed.obj))

    def _nearest_inputs(self) -> dict[Ref, tuple[int, Ref]]:
        """Map each input object and its ancestors to the nearest input object in the subtree, with the steps to it."""
        found = {ref: (0, ref) for ref in self._inputs.objects}
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
        """Yield the object and its ancestors: after the change, or before it if the object is deleted."""
        yield ref
        after, before = self._forests
        forest: Forest = after if after.get(ref) is not None else before
        up = _up(forest.get(ref))
        if up is not None:
            yield up
            yield from forest.ancestors(up)


def _up(item: KubeObject | None) -> Ref | None:
    if isinstance(item, Attached):
        return item.queue
    return item.parent if isinstance(item, Node) else None


def _upward_field(item: KubeObject) -> str:
    """The field in which the object names its queue or parent."""
    if isinstance(item, Attached):
        return item.queue_field
    return item.parent_field if isinstance(item, Node) else ""
