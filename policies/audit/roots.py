"""Finds the dialect (Kueue, Volcano or YuniKorn) of a finding's object, and the root of its quota tree."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from policies.configuration.settings import Dialect
from policies.dialects import core, kueue, volcano, yunikorn
from policies.dialects.core import CONFIG_MAP, Namespace, Pod
from policies.dialects.priority_class import PRIORITY_CLASS
from policies.judging.rule import Rule
from policies.model.forest import Forest
from policies.model.objects import Attached, KubeObject, Node, Ref

_OF_GROUP = {
    kueue.GROUP: Dialect.KUEUE,
    volcano.GROUP: Dialect.VOLCANO,
    volcano.JOB.group: Dialect.VOLCANO,
}
_OF_YUNIKORN = frozenset({CONFIG_MAP, PRIORITY_CLASS, core.NAMESPACE})
YUNIKORN_ROOT = "root"


class TreeRoot(NamedTuple):
    """The topmost node of a tree. YuniKorn's queues are not objects: the kind is Queue, its name the queue's path."""

    dialect: Dialect
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def dialect_of(forest: Forest, ref: Ref, rule: Rule) -> Dialect:
    """The dialect of the object's API group. If several dialects read its kind, that of the rule; for a rule of all
    dialects, that of the scheduler or queue that the object names."""
    if (found := _OF_GROUP.get(ref.group)) is not None:
        return found
    package = rule.check.__module__.split(".")[2]
    if package != "common":
        return Dialect(package)
    obj = forest.get(ref)
    if ref.group_kind in _OF_YUNIKORN or (isinstance(obj, Pod) and obj.scheduler_name == yunikorn.SCHEDULER):
        return Dialect.YUNIKORN
    return Dialect.VOLCANO if isinstance(obj, Pod) and obj.queue is not None else Dialect.KUEUE


class Roots:
    """The roots of one forest. Each node is visited once, even if many objects are below it."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._tops: dict[Ref, Ref] = {}

    def of(self, ref: Ref, dialect: Dialect) -> TreeRoot | None:
        """The root of the tree that the object is in or refers to; None if it names no node. A parent that only its
        children name is a node.

        If the way up ends in a cycle, the node on the cycle whose name sorts first stands for the root. In Kueue, a
        ClusterQueue without a Cohort is its own root. In Volcano, the root is `root`, or a missing parent on the way
        up. In YuniKorn, a Namespace is in the tree of the parent queue that it names, and everything else is in `root`.
        """
        obj = self._forest.get(ref)
        if dialect is Dialect.YUNIKORN:
            return _of_yunikorn(ref, obj)
        node = obj.queue if isinstance(obj, Attached) else ref
        if node is None or not (self._forest.node(node) is not None or self._forest.has_children(node)):
            return None
        top = self._top(node)
        return TreeRoot(dialect, top.kind, top.name)

    def _top(self, ref: Ref) -> Ref:
        way, here = [ref], ref
        while here not in self._tops and not self._forest.on_cycle(here):
            node = self._forest.node(here)
            if node is None or node.parent is None:
                break
            here = node.parent
            way.append(here)
        top = self._tops.get(here)
        if top is None:
            cycle = self._forest.cycle(here)
            top = min(cycle, default=here)
            way += cycle
        self._tops.update(dict.fromkeys(way, top))
        return top


def _of_yunikorn(ref: Ref, obj: KubeObject | None) -> TreeRoot | None:
    if isinstance(obj, Namespace):
        return None if obj.group_share() is None else _queue(yunikorn.parent_path(obj))
    if ref.group_kind == PRIORITY_CLASS or isinstance(obj, Node):
        return None
    return _queue("")


@cache
def _queue(path: str) -> TreeRoot:
    return TreeRoot(Dialect.YUNIKORN, "Queue", path or YUNIKORN_ROOT)
