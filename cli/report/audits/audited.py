"""What `quotree audit` reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from cli.input.against import Against
from cli.input.baseline import Baseline
from cli.input.documents import Unreadable
from policies.audit.audited import Audit, Tree
from policies.audit.audited import Audited as Found


@dataclass(frozen=True, slots=True)
class Audited:
    """`as_of` is when the objects were so; None for files. `unreadable` is what could not be judged.

    `baselined` counts findings that the baseline has; they are left out.
    """

    against: Against
    audit: Audit
    as_of: datetime | None = None
    unreadable: tuple[Unreadable, ...] = ()
    baselined: int = 0


def within(audited: Audited, root: str) -> Audited:
    """Of the trees whose root has this name alone."""
    return replace(audited, audit=_only(audited.audit, lambda each: each.root is not None and each.root.name == root))


def without_old(audited: Audited, baseline: Baseline) -> Audited:
    """Without what the baseline has, counted. `quotree validate` tells of entries that find nothing any more."""
    known = {entry.fingerprint for entry in baseline.entries}
    left = _only(audited.audit, lambda each: each.fingerprint not in known)
    gone = sum(1 for _ in audited.audit.found) - sum(1 for _ in left.found)
    return replace(audited, audit=left, baselined=gone)


def _only(audit: Audit, wanted: Callable[[Found], bool]) -> Audit:
    trees = (Tree(tree.root, tuple(filter(wanted, tree.found))) for tree in audit.trees)
    return replace(audit, trees=tuple(tree for tree in trees if tree.found))
