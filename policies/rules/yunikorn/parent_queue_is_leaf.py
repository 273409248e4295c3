from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP, NAMESPACE
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding, NotEvaluated
from policies.rules.yunikorn._parent_queue import Candidates, ParentFault, unusable_parents


@rule(
    "parent-queue-is-leaf",
    source="YuniKorn: placement by tag, a parent rule that gives a leaf rejects the application",
    kinds=(NAMESPACE, CONFIG_MAP),
)
def parent_queue_is_leaf(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Namespace names a leaf as its parent queue.

    Why it is refused: no queue can be created below a leaf. YuniKorn does not check the annotation, and rejects every
    application of the namespace, even if further placement rules follow. The rule applies to changed Namespaces, and to
    all Namespaces if the queues or the placement rules change.
    Example: `yunikorn.apache.org/parentqueue: root.batch` where `root.batch` has neither children nor `parent: true`.
    Fix: name a queue that has `parent: true`, or give that flag to this one.
    """
    yield from unusable_parents(proposal, _leaf)


def _leaf(_: str, found: Candidates) -> ParentFault | None:
    leaf = next((path for path, fault in found if path and fault), None)
    if leaf is None or any(path and not fault for path, fault in found):
        return None
    fix = f"name a queue that has `parent: true`, or give that flag to {leaf}"
    return ParentFault(leaf, "is a leaf; no queue can be created below it", fix)
