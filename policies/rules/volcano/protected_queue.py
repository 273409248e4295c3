from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import BUILT_IN, QUEUE, ROOT, Queue
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Finding
from policies.model.quantity import Quantities


@rule("protected-queue", source="Volcano's webhook queues/validate: root, default and deletion", kinds=(QUEUE,))
def protected_queue(proposal: Proposal) -> Iterator[Finding]:
    """A queue that Volcano needs is deleted, the amounts of `root` are changed, or `root` gets a parent.

    Why it is refused: without `root` there is no tree, and without `default` there is no queue for work that names
    none. The amounts of `root` are those of the cluster: with a capability that names only cpu, no queue could use
    memory. With `volcano.queueAllocatedPodsCheck`, a queue with allocated pods must not be deleted, either. A parent of
    `root` makes a cycle: Volcano's own webhook accepts it, and then crashes. With `volcano.rootFromNodes`, only the
    reconciler may change the amounts of `root`.
    Example: `kubectl delete queue default`.
    Fix: change or delete another queue, or remove `spec.parent` of `root`. With `volcano.rootQueueProtection: false` in
    the configuration, the amounts of `root` may be changed.
    """
    settings = proposal.configuration.volcano
    for queue in proposal.deleted(Queue):
        if queue.name in BUILT_IN:
            yield Finding(queue.ref, "metadata.name", "cannot be deleted: Volcano needs it", fix="keep it")
        elif settings.queue_allocated_pods_check and queue.allocated_pods:
            yield Finding(
                queue.ref,
                "status.allocated.pods",
                f"cannot be deleted while {_pods(queue.allocated_pods)} allocated",
                fix="close the queue and wait until its pods have ended",
                excess=queue.allocated_pods,
            )
    for _, queue in proposal.changed(Queue):
        if queue.ref == ROOT and (queue.written_parent or ROOT.name) != ROOT.name:
            yield Finding(
                ROOT,
                queue.parent_field,
                f"root cannot have the parent {queue.written_parent}: every queue is below root",
                fix=f"remove {queue.parent_field}",
                subject="parent",
                profiles=STRICT_ONLY,
            )
    by_reconciler = proposal.circumstances.user.name in proposal.configuration.kueue.admitting_users
    if settings.root_queue_protection and not (settings.root_from_nodes and by_reconciler):
        for before, queue in proposal.changed(Queue):
            if before is not None and queue.ref == ROOT:
                yield from _root_changes(before, queue)


def _root_changes(before: Queue, root: Queue) -> Iterator[Finding]:
    pairs = {
        "spec.capability": (before.capability, root.capability),
        "spec.deserved": (before.deserved, root.deserved),
        "spec.guarantee.resource": (before.guarantee, root.guarantee),
    }
    for field, (old, new) in pairs.items():
        if old != new:
            yield Finding(
                root.ref,
                field,
                f"the amounts of root are protected: {_listed(old)} would become {_listed(new)}",
                fix="leave them as they are, or set volcano.rootQueueProtection to false in the configuration",
            )


def _listed(amounts: Quantities) -> str:
    return ", ".join(f"{resource}={amount.text}" for resource, amount in sorted(amounts.items())) or "none"


def _pods(number: int) -> str:
    return "1 of its pods is" if number == 1 else f"{number} of its pods are"
