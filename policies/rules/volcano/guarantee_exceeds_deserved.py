from __future__ import annotations

from collections.abc import Iterator

from policies.cel.expression import Expression, quantity
from policies.cel.volcano import AMOUNTS, amount_of, amount_or_zero
from policies.dialects.volcano import QUEUE, ROOT, Queue
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import BOTH, COMPAT_ONLY, Finding, enclosing_fields
from policies.model.forest import Forest
from policies.model.quantity import Quantity


def _guarantee_excess(before: str) -> str:
    return f"{quantity(f'variables.{before}guarantee[r]')}.sub({amount_or_zero(f'variables.{before}deserved', 'r')})"


_CEL = f"""\
variables.guarantee.filter(r, {amount_of("variables.guarantee", "r")}
  && {_guarantee_excess("")}.isGreaterThan(quantity('0'))
  && !(r in variables.old_guarantee && {amount_of("variables.old_guarantee", "r")}
    && !{_guarantee_excess("old_")}.isLessThan({_guarantee_excess("")}))
).map(r, 'is guaranteed ' + r + '=' + string(variables.guarantee[r]) + ' but deserves '
  + (r in variables.deserved ? 'only ' + string(variables.deserved[r]) : 'none: spec.deserved does not name it')
).join('; ')"""


@rule(
    "guarantee-exceeds-deserved",
    source="Volcano's webhook queues/validate: guarantee and deserved",
    kinds=(QUEUE,),
    alone=True,
    cel=[Expression((QUEUE,), _CEL, AMOUNTS)],
)
def guarantee_exceeds_deserved(proposal: Proposal) -> Iterator[Finding]:
    """A queue is guaranteed more of a resource than it deserves.

    Why it is refused: the guarantee is part of what a queue deserves. A resource that `deserved` does not name counts
    as 0.
    Example: `guarantee.resource: {cpu: 2}` with `deserved: {cpu: 1}`, or with no `deserved` at all.
    Fix: raise `deserved` to the guarantee, or lower the guarantee.
    """
    for _, queue in proposal.changed(Queue):
        for resource, guarantee in sorted(queue.guarantee.items()):
            deserved = queue.deserved.get(resource)
            if deserved is not None and deserved >= guarantee:
                continue
            held = (
                f"deserves only {deserved.text}"
                if deserved is not None
                else "deserves none: spec.deserved does not name it"
            )
            field = fields.join("spec.deserved", resource)
            yield Finding(
                queue.ref,
                field,
                f"is guaranteed {resource}={guarantee.text} but {held}",
                fix=f"set {field} to {guarantee.text} or more, or lower the guarantee",
                subject=resource,
                excess=(guarantee - (deserved or Quantity.ZERO)).nano,
                patch=_patch(proposal.after, queue, resource, guarantee),
                profiles=BOTH if guarantee.nano else COMPAT_ONLY,
                follows=() if deserved is not None else enclosing_fields(queue.ref, field),
            )


def _patch(forest: Forest, queue: Queue, resource: str, guarantee: Quantity) -> tuple[dict[str, object], ...]:
    """The patch that raises deserved. It changes only this resource, so that patches of several findings can be
    combined, or adds `deserved` if it is missing.

    Empty if a part of `deserved` cannot be read and would be lost, or if another rule would refuse the raised amount.
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
    """Whether the queue may deserve this amount: within its capability, and within the parent's together with
    siblings."""
    if amount > queue.capability.get(resource, amount):
        return False
    parent = forest.node(queue.parent) if queue.parent and queue.parent != ROOT else None
    if not isinstance(parent, Queue):
        return True
    raised = amount - queue.deserved.get(resource, Quantity.ZERO)
    total = forest.below(parent.ref).nominal.get(resource, 0) + raised.nano
    return total <= parent.deserved.get(resource, Quantity.ZERO).nano
