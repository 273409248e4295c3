"""The steps of a change, and the judge asked about one of them."""

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
    """One request about one object: None for `before` creates it, None for `after` deletes it.

    `detour`: it is not what the change wants, but what makes room for another edit.
    """

    before: Parsed | None
    after: Parsed | None
    detour: bool = False

    @property
    def change(self) -> Change:
        """The change without the manifests."""
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
    """The state at some moment, and the settings by which the webhook would judge then."""

    world: Forest
    configuration: Configuration
    circumstances: Circumstances

    def after(self, edit: Edit) -> tuple[Site, tuple[Judged, ...]]:
        """The next moment, and what the webhook refuses the edit for; nothing where it is allowed."""
        found = judge(self.world, [change_of(edit.before, edit.after)], self.configuration, self.circumstances)
        return replace(self, world=found.proposal.after), found.verdict.complete().of(Severity.ERROR)


def direction(edit: Edit) -> int:
    """1 where a node only asks for more of its tree, or is created; -1 where it only gives back, or is deleted.

    0 for everything else: a move, a change of limits, some amounts up and others down.
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
