from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import QUEUE, Queue, ancestors, exists, moved
from policies.judging.rule import Proposal, rule
from policies.model.findings import BOTH, COMPAT_ONLY, STRICT_ONLY, Finding, NotEvaluated, kind_field, write_only
from policies.model.objects import Ref
from policies.model.suggestion import did_you_mean


@rule("parent-missing", source="Volcano's webhook queues/validate: parent not found", kinds=(QUEUE,))
def parent_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Volcano queue names a parent that does not exist.

    Why it is refused: Volcano's scheduler refuses all work in a session in which the parent of a queue is missing.
    Kueue is different: an implicit Cohort, which only its children name, is allowed, and has no quota and no limits.
    Example: `spec.parent: enginering` where the queue is called `engineering`.
    Fix: correct the name, or apply the parent first, or in the same change set.
    """
    named: dict[Ref, Ref] = {}  # the first queue that names each missing parent: the other findings follow from it
    queues = sorted(proposal.changed(Queue), key=lambda each: each[1].ref)  # the order of documents does not matter
    changed = {queue.ref for _, queue in queues}
    for before, queue in queues:
        last, absent = _first_absent(proposal, queue)
        if absent is None:
            continue
        if missing := proposal.incomplete(QUEUE):
            yield missing
            return
        if absent == queue.parent:
            first = named.setdefault(absent, queue.ref)
            near = proposal.near(absent)
            yield Finding(
                queue.ref,
                "spec.parent",
                f"parent {absent.name} does not exist",
                fix=did_you_mean(near) if near else f"correct the name or create queue {absent.name} first",
                patch=write_only("spec.parent", absent.name, near),
                subject=absent.name,
                profiles=BOTH if moved(before, queue) else STRICT_ONLY,
                follows=(kind_field(absent), *(((first, "spec.parent"),) if first != queue.ref else ())),
            )
        elif moved(before, queue):
            yield Finding(
                queue.ref,
                "spec.parent",
                f"the ancestor {absent.name} does not exist",
                fix=f"create queue {absent.name} first",
                subject=absent.name,
                profiles=COMPAT_ONLY if last in changed else BOTH,  # strict reports the queue that names it
                follows=((last, "spec.parent"),),
            )


def _first_absent(proposal: Proposal, queue: Queue) -> tuple[Ref, Ref | None]:
    """The queue that names the topmost ancestor, and this ancestor if it does not exist."""
    below, last = queue.ref, queue.ref
    for ref in ancestors(proposal.after, queue.ref):
        below, last = last, ref
    return below, last if last != queue.ref and not exists(proposal.after, last) else None
