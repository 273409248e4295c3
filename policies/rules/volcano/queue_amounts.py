"""The rules that compare the amounts of one Volcano queue."""

from __future__ import annotations

from collections.abc import Iterator

from policies.cel.expression import Expression, quantity
from policies.cel.volcano import AMOUNTS, amount_of, amount_or_zero
from policies.dialects.volcano import QUEUE, ROOT, Queue
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import Finding, enclosing_fields
from policies.model.forest import Forest
from policies.model.quantity import Quantity


def _guarantee_excess(prefix: str) -> str:
    """The CEL expression for guarantee minus deserved. `prefix`: "old_" for the queue before the change."""
    return f"{quantity(f'variables.{prefix}guarantee[r]')}.sub({amount_or_zero(f'variables.{prefix}deserved', 'r')})"


def _exceeds_deserved(prefix: str) -> str:
    """The CEL condition that the guarantee of the resource `r` is more than deserved, or deserved does not name it."""
    guarantee, deserved = f"variables.{prefix}guarantee", f"variables.{prefix}deserved"
    return (
        f"{amount_of(guarantee, 'r')} && ({_guarantee_excess(prefix)}.isGreaterThan(quantity('0'))"
        f" || !(r in {deserved} && {amount_of(deserved, 'r')}))"
    )


_GUARANTEE_CEL = f"""\
variables.guarantee.filter(r, {_exceeds_deserved("")}
  && !(r in variables.old_guarantee && {_exceeds_deserved("old_")}
    && !{_guarantee_excess("old_")}.isLessThan({_guarantee_excess("")}))
).map(r, 'is guaranteed ' + r + '=' + string(variables.guarantee[r]) + ' but deserves '
  + (r in variables.deserved ? 'only ' + string(variables.deserved[r]) : 'none: spec.deserved does not name it')
).join('; ')"""


@rule(
    "guarantee-exceeds-deserved",
    source="Volcano's webhook queues/validate: guarantee and deserved",
    kinds=(QUEUE,),
    alone=True,
    cel=[Expression((QUEUE,), _GUARANTEE_CEL, AMOUNTS)],
)
def guarantee_exceeds_deserved(proposal: Proposal) -> Iterator[Finding]:
    """A queue is guaranteed more of a resource than it deserves.

    Why it is refused: the guarantee is part of what a queue deserves. A resource that `deserved` does not name counts
    as 0, and Volcano refuses even a guarantee of 0 for it.
    Example: `guarantee.resource: {cpu: 2}` with `deserved: {cpu: 1}`, or with no `deserved` at all.
    Fix: raise `deserved` to the guarantee, or lower the guarantee.
    """
    for _, queue in proposal.changed(Queue):
        for resource, guarantee in sorted(queue.guarantee.items()):
            deserved = queue.deserved.get(resource)
            if deserved is not None and deserved >= guarantee:
                continue
            deserves = f"only {deserved.text}" if deserved is not None else "none: spec.deserved does not name it"
            field = fields.join("spec.deserved", resource)
            yield Finding(
                queue.ref,
                field,
                f"is guaranteed {resource}={guarantee.text} but deserves {deserves}",
                fix=f"set {field} to {guarantee.text} or more, or lower the guarantee"
                if guarantee <= queue.capability.get(resource, guarantee)
                else f"lower the guarantee, or raise {field} and the capability to {guarantee.text}",
                subject=resource,
                excess=(guarantee - (deserved or Quantity.ZERO)).nano,
                patch=_raised(proposal.after, queue, resource, guarantee),
                follows=() if deserved is not None else enclosing_fields(queue.ref, field),
            )


def _raised(forest: Forest, queue: Queue, resource: str, guarantee: Quantity) -> tuple[dict[str, object], ...]:
    """The patch that raises `deserved`. Empty if another rule would refuse it.

    It changes only this resource, so patches of several findings can be combined. If `deserved` is missing, it is added
    with all guaranteed resources. If no amount of it can be read, the patch is empty, too, since it would replace them.
    """
    if queue.deserved:
        if not _has_room(forest, queue, resource, guarantee):
            return ()
        return ({"op": "add", "path": fields.pointer("spec", "deserved", resource), "value": guarantee.value},)
    if any(defect.field.startswith("spec.deserved") for defect in queue.defects):
        return ()
    if not all(_has_room(forest, queue, name, amount) for name, amount in queue.guarantee.items()):
        return ()
    whole = {name: amount.value for name, amount in queue.guarantee.items()}
    return ({"op": "add", "path": "/spec/deserved", "value": whole},)


def _has_room(forest: Forest, queue: Queue, resource: str, amount: Quantity) -> bool:
    """Whether the queue may deserve this amount: its capability allows it, and the parent has it left."""
    if amount > queue.capability.get(resource, amount):
        return False
    parent = forest.node(queue.parent) if queue.parent and queue.parent != ROOT else None
    if not isinstance(parent, Queue):
        return True
    raised = amount - queue.deserved.get(resource, Quantity.ZERO)
    total = forest.below(parent.ref).nominal.get(resource, 0) + raised.nano
    return total <= parent.deserved.get(resource, Quantity.ZERO).nano


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


_DESERVED_CEL = f"""\
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
    cel=[Expression((QUEUE,), _DESERVED_CEL, AMOUNTS)],
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
                    patch=_lowered(queue, resource, capability),
                )


def _lowered(queue: Queue, resource: str, capability: Quantity) -> tuple[dict[str, object], ...]:
    """The patch that lowers `deserved` to the capability. Empty if the guarantee exceeds the capability, too."""
    if queue.guarantee.get(resource, capability) > capability:
        return ()
    return ({"op": "replace", "path": fields.pointer("spec", "deserved", resource), "value": capability.value},)
