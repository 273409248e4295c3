from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from policies.dialects import READERS
from policies.judging.rule import Proposal, rule
from policies.model.change import Occasion
from policies.model.findings import Action, Finding, apart, patch


@rule(
    "bad-structure",
    source="The CustomResourceDefinitions of Kueue and Volcano",
    kinds=READERS,
    alone=True,
    no_cel="the CustomResourceDefinitions say it, and the API server checks them itself",
    status=HTTPStatus.UNPROCESSABLE_ENTITY,
    only=Occasion.DEFECT,
)
def bad_structure(proposal: Proposal) -> Iterator[Finding]:
    """The object does not match the schema of its kind.

    Why it is refused: the API server refuses it too, but only when it is applied. In a file every fault is reported at
    once, before the merge. A wrong status is a warning, since the API server drops it silently. An immutable field,
    such as the clusterQueue of a LocalQueue, is compared with the stored object.
    Example: a ClusterQueue whose `queueingStrategy` is `FIFO`.
    Fix: write a value that the message allows.
    """
    for change in proposal.changes:
        for defect in (*change.after.defects, *change.defects) if change.after else ():
            if not (defect.quantity or defect.unknown):
                message, fix = apart(defect.message, "correct the value, or keep the one that is stored")
                yield Finding(
                    change.ref,
                    defect.field,
                    message,
                    fix=fix,
                    patch=patch(defect),
                    action=Action.WARN if defect.warning else None,
                    follows=((change.ref, defect.field),) if message.startswith("is required") else (),
                )
