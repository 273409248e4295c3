"""Judges all stored objects, and adds the project and the root of the tree to each finding."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from policies.audit.roots import Roots, TreeRoot, dialect_of
from policies.configuration.settings import Configuration, Dialect
from policies.dialects.newest import newest_version
from policies.judge import judge_stored
from policies.judging.fingerprint import fingerprints
from policies.judging.verdict import Judged, Unjudged
from policies.model.change import Circumstances
from policies.model.findings import Severity
from policies.model.forest import Forest
from policies.model.objects import Ref


@dataclass(frozen=True, slots=True)
class AuditedFinding:
    """One finding.

    `version`: the object's apiVersion.
    `root`: None for an object that is in no tree.
    `fingerprint`: identifies the finding in a baseline.
    `consequences`: the findings that follow from it.
    """

    judged: Judged
    version: str
    dialect: Dialect
    root: TreeRoot | None
    fingerprint: str
    consequences: tuple[AuditedFinding, ...] = ()

    @property
    def object(self) -> Ref:
        return self.judged.finding.object

    def below(self, root: str) -> bool:
        """Whether the object is in a tree whose root has this name."""
        return self.root is not None and self.root.name == root


@dataclass(frozen=True, slots=True)
class TreeFindings:
    """The findings of one tree, the worst first.

    `root`: None for objects that are in no tree.
    """

    root: TreeRoot | None
    found: tuple[AuditedFinding, ...]

    def count(self, severity: Severity) -> int:
        return sum(each.judged.severity is severity for each in self.found)


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings at one moment.

    `at`: the moment.
    `trees`: the findings by tree, sorted by project and name of the root; at the end those of objects in no tree.
    `not_evaluated`: what could not be judged.
    `objects`: the number of objects that were judged.
    `nodes`: the number of these that are nodes of a tree.
    `baselined`: findings that a baseline has; `trees` does not have them.
    """

    at: datetime
    trees: tuple[TreeFindings, ...]
    not_evaluated: tuple[Unjudged, ...] = ()
    objects: int = 0
    nodes: int = 0
    baselined: tuple[AuditedFinding, ...] = ()

    @property
    def found(self) -> Iterator[AuditedFinding]:
        return (each for tree in self.trees for each in tree.found)

    def count(self, severity: Severity) -> int:
        return sum(tree.count(severity) for tree in self.trees)

    def only(self, wanted: Callable[[AuditedFinding], bool]) -> Audit:
        """The audit with only the wanted findings. A tree without any is left out."""
        trees = (TreeFindings(tree.root, tuple(filter(wanted, tree.found))) for tree in self.trees)
        return replace(self, trees=tuple(t for t in trees if t.found), baselined=tuple(filter(wanted, self.baselined)))

    def without(self, baseline: Collection[str]) -> Audit:
        """The audit with the findings of these fingerprints moved to `baselined`.

        New findings that follow from them stay.
        """
        old = tuple(each for each in self.found if each.fingerprint in baseline)
        if not old:
            return self
        every = (*self.found, *(below for each in old for below in each.consequences))
        left = [each for each in every if each.fingerprint not in baseline]
        return replace(self, trees=_trees(left), baselined=(*self.baselined, *old))


def audit(world: Forest, configuration: Configuration, now: datetime) -> Audit:
    """Judge all objects by the rules of the webhook. The costs grow with the number of objects."""
    verdict = judge_stored(world, configuration, Circumstances(now=now)).verdict
    prints = iter(fingerprints(it for each in verdict.findings for it in (each, *each.consequences)))
    roots = Roots(world)
    trees = _trees(_audited(world, roots, each, prints) for each in verdict.findings)
    return Audit(now, trees, verdict.not_evaluated, len(world), sum(1 for _ in world.nodes()))


def _trees(found: Iterable[AuditedFinding]) -> tuple[TreeFindings, ...]:
    ordered = sorted(found, key=lambda each: ((each.root is None, each.root or ()), each.judged.rank))
    return tuple(TreeFindings(root, tuple(those)) for root, those in groupby(ordered, key=lambda each: each.root))


def _audited(world: Forest, roots: Roots, judged: Judged, prints: Iterator[str]) -> AuditedFinding:
    """The finding with its consequences.

    `prints`: the fingerprints of this finding, its consequences and all later findings, in this order.
    """
    ref, fingerprint = judged.finding.object, next(prints)
    dialect = dialect_of(world, ref, judged.rule)
    obj = world.get(ref)
    version = obj.api_version if obj else newest_version(ref)
    below = tuple(_audited(world, roots, each, prints) for each in judged.consequences)
    return AuditedFinding(judged, version, dialect, roots.of(ref, dialect), fingerprint, below)
