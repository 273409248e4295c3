from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import QUEUE, ROOT, Queue, reshaped
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding
from policies.model.forest import Forest
from policies.model.quantity import Format, Quantity
from policies.rules.volcano._volcano_resources import holder_of
from policies.rules.volcano.children_sums import DESERVED, GUARANTEE, Promise


@rule("root-capability-exceeded", source="Volcano, session open, step 3", kinds=(QUEUE,), default=Action.WARN)
def root_capability_exceeded(proposal: Proposal) -> Iterator[Finding]:
    """The top queues are promised more than the capability of `root`, or a queue has a higher capability than `root`.

    Why it is reported: Volcano's webhook never compares the top queues with root, and its scheduler cuts their amounts
    without a message. If root has a capability, a resource that it does not name counts as 0 for the whole tree. It is
    a warning, so that users are not blocked after a cluster has lost a Node. With `volcano.rootFromNodes`, the
    capability of root is the sum of the Nodes.
    Example: root has `capability: {cpu: 100}`; the queues below it deserve cpu 120, and memory, which root does not
    name.
    Fix: name every resource in root's capability, with as much as the cluster has, or lower the top queues.
    """
    root = proposal.after.node(ROOT)
    if not isinstance(root, Queue) or not root.capability:
        return
    if not any(
        reshaped(before, queue) and ROOT in (queue.ref, queue.parent) for before, queue in proposal.changed(Queue)
    ):
        return
    for promise in (DESERVED, GUARANTEE):
        yield from _over(proposal.after, root, promise)
    yield from _unreachable(proposal.after, root)


def _over(forest: Forest, root: Queue, promise: Promise) -> Iterator[Finding]:
    what = promise.verb
    for resource, total in sorted(promise.total(forest.below(ROOT)).items()):
        limit = root.capability.get(resource)
        held = limit.nano if limit else 0
        if total > held:
            wanted = Quantity.of_nano(total, like=limit.format if limit else _format(resource))
            has = f"is {limit.text}" if limit else "does not name it, which counts as 0"
            yield Finding(
                root.ref,
                fields.join("spec.capability", resource),
                f"the top queues {what} {resource}={wanted.text}, but root's capability {has}",
                fix=f"raise root's capability of {resource} to {wanted.text}, or lower the queues below it",
                subject=f"{what} {resource}",
                excess=total - held,
                profiles=STRICT_ONLY,
                follows=tuple(
                    (top, fields.join(promise.field, resource))
                    for top, share in forest.shares(ROOT)
                    if resource in promise.total(share)
                ),
            )


def _unreachable(forest: Forest, root: Queue) -> Iterator[Finding]:
    """Findings for capabilities above that of root, of each resource only the highest one."""
    for resource, highest in sorted(forest.below(ROOT).limit.items()):
        limit = root.capability.get(resource)
        if limit is None or highest <= limit.nano or (holder := holder_of(forest, ROOT, resource, highest)) is None:
            continue
        field, wanted = fields.join("spec.capability", resource), holder.capability[resource]
        yield Finding(
            root.ref,
            field,
            f"the capability {resource}={wanted.text} of {holder.name} is more than root's, {limit.text}",
            fix=f"lower {holder.name} to {limit.text} or less",
            subject=f"capability {resource}",
            excess=highest - limit.nano,
            causes=(Cause(holder.ref, field, f"{resource}={wanted.text}"),),
            profiles=STRICT_ONLY,
            follows=((holder.ref, field),),
        )


def _format(resource: str) -> Format:
    return "BinarySI" if resource in ("memory", "ephemeral-storage") else "DecimalSI"
