"""Defines rules: the proposal that a rule judges, and the registration of a check as a rule."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, TypeAlias, TypeVar

from policies.cel.expression import Expression
from policies.configuration.settings import Configuration
from policies.model.change import Change, Circumstances, Occasion
from policies.model.findings import Action, Finding, NotEvaluated
from policies.model.forest import Forest
from policies.model.objects import GroupKind, KubeObject, Node, Ref
from policies.model.suggestion import KnownNames, slips

_WALKED = 20_000  # the most objects that are searched for one message
_LOOKS = 10
"""The least number of look-ups in the forest for each change, since some rules look up objects and their parents."""

N = TypeVar("N", bound=Node)
ObjectT = TypeVar("ObjectT", bound=KubeObject)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Proposal:
    """One transaction: changes that are judged together, independent of their order.

    `before`, `after`: the forest before and after all changes.
    `scope`: the refs that rules must check: the changed objects, and the parents of changed nodes, before and after.
    `configuration`, `circumstances`: the settings, the time and the user.
    `stored`: whether all stored objects are judged, and not a change.
    """

    before: Forest
    after: Forest
    changes: tuple[Change, ...]
    scope: tuple[Ref, ...]
    configuration: Configuration
    circumstances: Circumstances
    stored: bool = False
    _of_type: dict[type[KubeObject], list[tuple[Any, Any]]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    """The results of `changed` by type, since many rules use the same few types."""
    _names: dict[tuple[GroupKind, str, bool], KnownNames | None] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _derived: dict[Callable[[Proposal], Iterable[Any]], tuple[Any, ...]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _touched: list[Node] | None = field(init=False, repr=False, compare=False, default=None)

    def touched(self, kind: type[N]) -> Iterator[N]:
        """The changed nodes and their parents, before and after, as they are in `after`; each once."""
        if self._touched is None:
            object.__setattr__(self, "_touched", [node for ref in self.scope if (node := self.after.node(ref))])
        return (node for node in self._touched or () if isinstance(node, kind))

    def changed(self, kind: type[ObjectT]) -> Iterator[tuple[ObjectT | None, ObjectT]]:
        """Each created or updated object of this type, before (or None) and after the change."""
        if kind not in self._of_type:
            self._of_type[kind] = [
                (change.before if isinstance(change.before, kind) else None, change.after)
                for change in self.changes
                if isinstance(change.after, kind)
            ]
        return iter(self._of_type[kind])

    def once(self, derive: Callable[[Proposal], Iterable[T]]) -> tuple[T, ...]:
        """The results of `derive` for this proposal. It is called once, even if many rules use the results."""
        if derive not in self._derived:
            self._derived[derive] = tuple(derive(self))
        return self._derived[derive]

    def deleted(self, kind: type[ObjectT]) -> Iterator[ObjectT]:
        for change in self.changes:
            if change.after is None and isinstance(change.before, kind):
                yield change.before

    def kinds(self) -> frozenset[GroupKind]:
        return frozenset(change.object.judged_as for change in self.changes)

    def occasions(self) -> frozenset[Occasion]:
        """The occasions of the changes. Rules for other occasions need not run."""
        found: set[Occasion] = set()
        for change in self.changes:
            before, after = change.before, change.after
            if after is None:
                found.add(Occasion.DELETION)
                continue
            if after.defects or change.defects:
                found.add(Occasion.DEFECT)
            if after.exemptions:
                found.add(Occasion.EXEMPTION)
            if isinstance(after, Node) and (not isinstance(before, Node) or before.parent != after.parent):
                found.add(Occasion.PLACEMENT)
        if self.after.has_cycles:
            found.add(Occasion.CYCLE)
        return frozenset(found)

    def unknown(self, *kinds: GroupKind) -> list[str]:
        """The kinds, among these, that the forest may not know completely. An absent object of them may still exist."""
        return [kind.kind for kind in kinds if kind not in self.after.known]

    def incomplete(self, *kinds: GroupKind) -> NotEvaluated | None:
        """NotEvaluated if the forest may not know all objects of these kinds; None if it does."""
        unknown = self.unknown(*kinds)
        return NotEvaluated(f"not all objects of {', '.join(unknown)} are known") if unknown else None

    def holds(self, kind: type[KubeObject]) -> bool:
        """Whether the forest has an object of this type. Use it only after a failure: it may visit all objects."""
        return any(isinstance(obj, kind) for obj in self.after.objects())

    def near(self, absent: Ref, by_children: bool = False) -> list[str]:
        """The names of the same kind and namespace that may be meant by a name without an object; the most similar
        first.

        Use it only after a failure: the first call for a kind visits all nodes, or for other kinds all objects. If
        there are far more objects than changes, it only finds names that differ by one letter.
        `by_children`: whether names of parents without an object count, too.
        """
        kind = absent.group_kind, absent.namespace, by_children
        if kind not in self._names:
            self._names[kind] = self._named_like(absent, by_children)
        names = self._names[kind]
        if names is None:
            return slips(absent.name, lambda name: self.after.get(absent._replace(name=name)) is not None)
        return names.near(absent.name)

    def _named_like(self, absent: Ref, by_children: bool) -> KnownNames | None:
        """The names of this kind and namespace; None if there are too many objects to search."""
        like = absent.group_kind, absent.namespace
        refs = [node.ref for node in self.after.nodes()]
        if by_children:
            refs += [node.parent for node in self.after.nodes() if node.parent is not None]
        if all(ref.group_kind != absent.group_kind for ref in refs):
            if len(self.after) > max(_WALKED, len(self.changes) * _LOOKS):
                return None
            refs = [obj.ref for obj in self.after.objects()]
        return KnownNames(ref.name for ref in refs if (ref.group_kind, ref.namespace) == like)

    def before_the_change(self) -> Proposal:
        """The state before the change as a proposal with the same scope. Its findings existed before the change."""
        unchanged = [Change(change.before, change.before) for change in self.changes if change.before is not None]
        replaced = [Change(None, change.replaced) for change in self.changes if change.replaced is not None]
        after = self.before.put_all(change.object for change in replaced)
        return replace(self, after=after, changes=(*unchanged, *replaced))


def propose(
    world: Forest,
    changes: Iterable[Change],
    configuration: Configuration | None = None,
    circumstances: Circumstances | None = None,
) -> Proposal:
    """The proposal of these changes to `world`.

    The object before in a change replaces the one in `world`, since a cache may be behind the API server. Each change
    takes time in proportion to the depth of the tree.
    """
    changes = tuple(changes)
    before = _laid(world, [change.ref for change in changes if change.before is None], [c.before for c in changes])
    after = _laid(before, [change.ref for change in changes if change.after is None], [c.after for c in changes])
    if len(changes) * _LOOKS > len(after):
        after = after.indexed()
    return Proposal(
        before,
        after,
        changes,
        tuple(_scope(changes)),
        configuration or Configuration(),
        circumstances or Circumstances(),
    )


def propose_stored(
    world: Forest, configuration: Configuration | None = None, circumstances: Circumstances | None = None
) -> Proposal:
    """The proposal of all objects in `world`. Queues and the objects that they refer to are judged as if they were
    created now.

    Work is judged as an unchanged object: it was admitted earlier, and a queue that was closed since then is not its
    fault.
    """
    changes = tuple(Change(it if it.is_work else None, it) for it in world.objects())
    return Proposal(
        Forest(world.known),
        world.indexed(),
        changes,
        tuple(_scope(changes)),
        configuration or Configuration(),
        circumstances or Circumstances(),
        stored=True,
    )


def _laid(world: Forest, gone: list[Ref], there: list[KubeObject | None]) -> Forest:
    if gone:
        world = world.drop_all(gone)
    return world.put_all(obj for obj in there if obj is not None) if len(there) > len(gone) else world


def _scope(changes: Iterable[Change]) -> list[Ref]:
    scope: dict[Ref, None] = {}
    for change in changes:
        scope[change.ref] = None
        for obj in (change.before, change.after):
            if isinstance(obj, Node) and obj.parent is not None:
                scope[obj.parent] = None
    return sorted(scope)


Check: TypeAlias = Callable[[Proposal], Iterator[Finding | NotEvaluated]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A named check.

    id: the name of the violation in kebab-case, such as `parent-cycle`.
    source: the document or the code of a project that the rule follows.
    kinds: the kinds whose changes can cause a finding. The check does not run for others.
    default: the action of the rule if the configuration sets none.
    check: yields the findings of a proposal.
    alone: whether only the changed object decides, not other objects.
    cel: the rule in Kubernetes' expression language, for the time when the webhook is down; only with `alone`.
    no_cel: why a rule with `alone` has no `cel`.
    status: the HTTP status of a refusal: 422 for an object that cannot be read, 403 for policy.
    only: the check runs only for changes with this occasion; None: for all changes.
    of_change: whether the rule judges only changes. A stored object may be in the same state.
    denies_some: whether a finding can be an error although `default` is not deny.
    """

    id: str
    source: str
    kinds: frozenset[GroupKind]
    default: Action
    check: Check
    alone: bool = False
    cel: tuple[Expression, ...] = ()
    no_cel: str = ""
    status: HTTPStatus = HTTPStatus.FORBIDDEN
    only: Occasion | None = None
    of_change: bool = False
    denies_some: bool = False

    @property
    def reason(self) -> str:
        """The reason in API responses: the id in PascalCase."""
        return "".join(word.capitalize() for word in self.id.split("-"))

    @property
    def title(self) -> str:
        return self.page.splitlines()[0]

    @property
    def page(self) -> str:
        """The documentation page: what is wrong, why it is refused, an example, the fix."""
        return inspect.getdoc(self.check) or ""


REGISTERED: dict[str, Rule] = {}
"""The rules of all modules that were imported. `policies.rules.registry` imports all."""


def rule(
    id: str,
    *,
    source: str,
    kinds: Iterable[GroupKind],
    default: Action = Action.DENY,
    alone: bool = False,
    cel: Iterable[Expression] = (),
    no_cel: str = "",
    status: HTTPStatus = HTTPStatus.FORBIDDEN,
    only: Occasion | None = None,
    of_change: bool = False,
    denies_some: bool = False,
) -> Callable[[Check], Check]:
    """Register a check as a rule; see Rule for the arguments. The docstring of the check is its documentation page.

    Raises ValueError if the id is taken, or if arguments contradict each other.
    """

    def register(check: Check) -> Check:
        more = alone, tuple(cel), no_cel, status, only, of_change, denies_some
        made = Rule(id, source, frozenset(kinds), default, check, *more)
        if fault := _fault(made):
            raise ValueError(f"rule {id}: {fault}")
        REGISTERED[id] = made
        return check

    return register


def _fault(made: Rule) -> str:
    first = REGISTERED.get(made.id)
    if first is not None:
        return f"{first.check.__module__} has this id; give each rule its own"
    if int(made.alone) != bool(made.cel) + bool(made.no_cel):
        return "one that decides alone has either a form in `cel` or a reason in `no_cel`, and no other rule has one"
    if not all(made.kinds.issuperset(expression.kinds) for expression in made.cel):
        return "`cel` names a kind that the rule does not judge"
    return ""
