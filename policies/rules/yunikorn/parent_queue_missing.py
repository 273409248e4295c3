from __future__ import annotations

from collections.abc import Iterator

from policies.dialects import yunikorn
from policies.dialects.core import NAMESPACE
from policies.dialects.yunikorn_config.configmap import CONFIG_MAP
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Finding, NotEvaluated
from policies.rules.yunikorn._parent_queue import named_parents, parents_of_others, problem
from policies.rules.yunikorn._queue_config import finding


@rule(
    "parent-queue-missing",
    source="YuniKorn: placement by tag below the queue of namespace.parentqueue; never validated there",
    kinds=(NAMESPACE, CONFIG_MAP),
)
def parent_queue_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Namespace names a parent queue that does not exist.

    Why it is refused: YuniKorn does not check the annotation `parentqueue`. The placement rule that should create the
    namespace's queue below it does not match: applications go to another queue, without the quota meant for them, or
    are rejected. A missing parent is fine where a placement rule creates it; where no rule reads the annotation,
    nothing is reported. The rule applies to a Namespace that changes, and to all Namespaces when the queues or the
    placement rules change.
    Example: `yunikorn.apache.org/parentqueue: root.produktion` where the queue is called `root.production`.
    Fix: name a queue of queues.yaml that has `parent: true`, or let the placement rule create it.
    """
    for judged in named_parents(proposal):
        if isinstance(judged, NotEvaluated):
            yield judged
            continue
        namespace, found = judged
        if found and not any(path for path, _ in found):
            name = yunikorn.parent_queue(namespace)
            yield Finding(
                namespace.ref,
                yunikorn.field(yunikorn.PARENT_QUEUE),
                f"the parent queue {name} cannot be used: {found[0][1]}",
                fix="name a queue of queues.yaml that has `parent: true`, or let the placement rule create it",
                subject=name or "",
                profiles=STRICT_ONLY,
            )
    for other in parents_of_others(proposal):
        if isinstance(other, NotEvaluated):
            yield other
            continue
        written, parent, members, found = other
        if not any(path for path, _ in found):
            yield finding(written, problem(parent, members, f"cannot be used: {found[0][1]}"))
