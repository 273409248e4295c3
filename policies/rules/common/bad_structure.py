from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from policies.dialects import READERS
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.cures import apart
from policies.model.findings import Action, Finding


@rule(
    "bad-structure",
    source="The CustomResourceDefinitions of Kueue and Volcano",
    kinds=READERS,
    alone=True,
    no_cel="the CustomResourceDefinitions say it, and the API server checks them itself",
    status=HTTPStatus.UNPROCESSABLE_ENTITY,
)
def bad_structure(proposal: Proposal) -> Iterator[Finding]:
    """The object does not have the structure that its kind demands.

    Why it is refused: the API server refuses it too, but only once it gets there; a file is told before the merge, and
    all at once. A field that no version of the kind knows is a warning, since the API server drops it without a word.
    A field that must stay, such as the clusterQueue of a LocalQueue, is compared with the object that is replaced.
    Example: a ClusterQueue whose `queueingStrategy` is `FIFO`.
    Fix: write what the message names as allowed.
    """
    for change in proposal.changes:
        for defect in (*change.after.defects, *change.defects) if change.after else ():
            if not defect.quantity:
                message, fix = apart(defect.message, "change it so that this holds, or leave it as it was")
                yield Finding(
                    change.ref,
                    defect.field,
                    message,
                    fix=fix,
                    action=Action.WARN if defect.warning else None,
                )
