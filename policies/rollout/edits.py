"""The edits of a change, and the judgement of one edit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from policies.configuration.settings import Configuration
from policies.dialects.kueue import KueueNode
from policies.dialects.reading import Parsed
from policies.judge import judge
from policies.judging.changes import change as change_of
from policies.judging.verdict import Judged
from policies.model.change import Change, ChangeOperation, Circumstances
from policies.model.findings import Severity
from policies.model.forest import Forest
from policies.model.objects import NOTHING, Node, Ref, SubtreeShare


@dataclass(frozen=True, slots=True)
class Edit:
    """One request about one object.

    `before`: None for a creation.
    `after`: None for a deletion.
    `detour`: whether it is not a part of the change, but only makes room for another edit.
    """

    before: Parsed | None
    after: Parsed | None
    detour: bool = False

    @property
    def change(self) -> Change:
        before, after = (it.object if it else None for it in (self.before, self.after))
        return Change(before, after)

    @property
    def ref(self) -> Ref:
        return self.change.ref

    @property
    def operation(self) -> ChangeOperation:
        return self.change.operation


@dataclass(frozen=True, slots=True)
class Site:
    """The state at a moment, and the settings with which the webhook judges."""

    world: Forest
    configuration: Configuration
    circumstances: Circumstances

    def after(self, edit: Edit) -> tuple[Site, tuple[Judged, ...]]:
        """The state after the edit, and the findings for which the webhook refuses it; none if it is allowed."""
        found = judge(self.world, [change_of(edit.before, edit.after)], self.configuration, self.circumstances)
        return replace(self, world=found.proposal.after), found.verdict.complete().of(Severity.ERROR)


def direction(edit: Edit) -> int:
    """1 if a node is created or takes more from its tree, -1 if it is deleted or takes less.

    0 for all other edits: a move, a change of limits, or amounts that change in both directions.
    """
    before, after = edit.change.before, edit.change.after
    if not isinstance(before or after, Node):
        return 0
    if before is None or after is None:
        return 1 if before is None else -1
    assert isinstance(before, Node)
    assert isinstance(after, Node)
    if before.parent != after.parent or _limits(before) != _limits(after):
        return 0
    steps = set(_steps(before.share(NOTHING), after.share(NOTHING)))
    return steps.pop() if len(steps) == 1 else 0


def _limits(node: Node) -> object:
    if isinstance(node, KueueNode):
        return {pair: (terms.borrowing, terms.lending) for pair, terms in node.terms().items()}
    return node.share(NOTHING).limit


def _steps(before: SubtreeShare, after: SubtreeShare) -> Iterator[int]:
    for was, now in ((before.nominal, after.nominal), (before.kept, after.kept)):
        for name in was.keys() | now.keys():
            if was.get(name, 0) != now.get(name, 0):
                yield 1 if now.get(name, 0) > was.get(name, 0) else -1
