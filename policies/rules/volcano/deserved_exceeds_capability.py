from __future__ import annotations

from collections.abc import Iterator

from policies.cel.expression import Expression, quantity
from policies.cel.volcano import AMOUNTS, amount_of
from policies.dialects.volcano import QUEUE, Queue
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import Finding
from policies.model.quantity import Quantity


def _deserved_excess(prefix: str) -> str:
    """The CEL expression for deserved minus capability. `prefix`: "old_" for the queue before the change."""
    deserved, capability = (f"variables.{prefix}{field}[r]" for field in ("deserved", "capability"))
    return f"{quantity(deserved)}.sub({quantity(capability)})"


def _both_set(prefix: str) -> str:
    """The CEL condition that `deserved` and `capability` both have a valid amount of the resource `r`."""
    return " && ".join(
        f"r in variables.{prefix}{field} && {amount_of(f'variables.{prefix}{field}', 'r')}"
        for field in ("deserved", "capability")
    )


_CEL = f"""\
variables.deserved.filter(r, {_both_set("")}
  && {_deserved_excess("")}.isGreaterThan(quantity('0'))
  && !({_both_set("old_")} && !{_deserved_excess("old_")}.isLessThan({_deserved_excess("")}))
).map(r, 'deserves ' + r + '=' + string(variables.deserved[r]) + ' but its capability is '
  + string(variables.capability[r])
).join('; ')"""


@rule(
    "deserved-exceeds-capability",
    source="Volcano's webhook queues/validate: deserved and capability",
    kinds=(QUEUE,),
    alone=True,
    cel=[Expression((QUEUE,), _CEL, AMOUNTS)],
)
def deserved_exceeds_capability(proposal: Proposal) -> Iterator[Finding]:
    """A queue deserves more of a resource than its own capability lets it use.

    Why it is refused: the part above the capability can never be used, but still counts in the sum with the siblings. A
    resource that `capability` does not name is not limited here.
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
    """The patch that lowers deserved; empty if the guarantee exceeds the capability, too, since then this is not
    enough."""
    if queue.guarantee.get(resource, capability) > capability:
        return ()
    return ({"op": "replace", "path": fields.pointer("spec", "deserved", resource), "value": capability.value},)
