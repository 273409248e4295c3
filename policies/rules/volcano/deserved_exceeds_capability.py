from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import QUEUE, Queue
from policies.model import fields
from policies.model.proposal import Proposal
from policies.model.quantity import Quantity
from policies.model.rule import Finding, rule


@rule("deserved-exceeds-capability", source="Volcano Q4", kinds=(QUEUE,), alone=True)
def deserved_exceeds_capability(proposal: Proposal) -> Iterator[Finding]:
    """A queue deserves more of a resource than its own capability lets it use.

    Why it is refused: the part above the capability can never be used, but counts against the siblings.
    A resource that `capability` does not name is not limited here.
    Example: `deserved: {cpu: 8}` with `capability: {cpu: 4}`.
    Fix: lower `deserved` to the capability, or raise the capability.
    """
    for _, queue in proposal.changed(Queue):
        for resource, deserved in sorted(queue.deserved.items()):
            capability = queue.capability.get(resource)
            if capability is not None and deserved > capability:
                yield Finding(
                    queue.ref,
                    fields.join("spec.deserved", resource),
                    f"deserves {resource}={deserved.text} but its capability is {capability.text}",
                    fix=f"lower deserved to {capability.text} or less, or raise the capability",
                    subject=resource,
                    excess=(deserved - capability).nano,
                    patch=_patch(queue, resource, capability),
                )


def _patch(queue: Queue, resource: str, capability: Quantity) -> tuple[dict[str, object], ...]:
    """None where the queue is guaranteed more than its capability: lowering one amount does not mend that."""
    if queue.guarantee.get(resource, capability) > capability:
        return ()
    return ({"op": "replace", "path": fields.pointer("spec", "deserved", resource), "value": capability.text},)
