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
    "parent-queue-is-leaf",
    source="YuniKorn: placement by tag, a parent rule that gives a leaf rejects the application",
    kinds=(NAMESPACE, CONFIG_MAP),
)
def parent_queue_is_leaf(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Namespace names a leaf as its parent queue.

    Why it is refused: no queue can be created below a leaf. YuniKorn does not check the annotation, and rejects every
    application of the namespace at once, whatever placement rules follow. The rule applies to a Namespace that changes,
    and to all Namespaces when the queues or the placement rules change.
    Example: `yunikorn.apache.org/parentqueue: root.batch` where `root.batch` has neither children nor `parent: true`.
    Fix: name a queue that has `parent: true`, or give that flag to this one.
    """
    for judged in named_parents(proposal):
        if isinstance(judged, NotEvaluated):
            yield judged
            continue
        namespace, found = judged
        leaves = [path for path, fault in found if path and fault]
        if leaves and not any(path and not fault for path, fault in found):
            yield Finding(
                namespace.ref,
                yunikorn.field(yunikorn.PARENT_QUEUE),
                f"the parent queue {leaves[0]} is a leaf; no queue can be created below it",
                fix=f"name a queue that has `parent: true`, or give that flag to {leaves[0]}",
                subject=leaves[0],
                profiles=STRICT_ONLY,
            )
    for other in parents_of_others(proposal):
        if isinstance(other, NotEvaluated):
            yield other
            continue
        written, parent, members, found = other
        leaves = [path for path, fault in found if path and fault]
        if leaves and not any(path and not fault for path, fault in found):
            yield finding(written, problem(parent, members, "is a leaf; no queue can be created below it"))
