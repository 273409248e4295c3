from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import CONFIG_MAP, NAMESPACE
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import Finding, NotEvaluated
from policies.rules.yunikorn._parent_queue import Candidates, ParentFault, unusable_parents


@rule(
    "parent-queue-missing",
    source="YuniKorn: placement by tag below the queue of namespace.parentqueue; never validated there",
    kinds=(NAMESPACE, CONFIG_MAP),
)
def parent_queue_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Namespace names a parent queue that does not exist.

    Why it is refused: YuniKorn does not check the annotation `parentqueue`. The placement rule that should create the
    namespace's queue below the parent does not match, so applications go to another queue with another quota, or are
    rejected. A missing parent is allowed if a placement rule creates it. If no rule reads the annotation, nothing is
    reported. The rule applies to changed Namespaces, and to all Namespaces if the queues or the placement rules change.
    Example: `yunikorn.apache.org/parentqueue: root.produktion` where the queue is called `root.production`.
    Fix: name a queue of queues.yaml that has `parent: true`, or let the placement rule create it.
    """
    yield from unusable_parents(proposal, _missing)


def _missing(parent: str, found: Candidates) -> ParentFault | None:
    if any(path for path, _ in found):
        return None
    fix = "name a queue of queues.yaml that has `parent: true`, or let the placement rule create it"
    return ParentFault(parent, f"cannot be used: {found[0][1]}", fix)
