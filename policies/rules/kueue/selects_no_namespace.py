from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, ClusterQueue
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding, enclosing_fields


@rule(
    "selects-no-namespace",
    source="Kueue: namespaceSelector of ClusterQueue; null selects nothing",
    kinds=(CLUSTER_QUEUE,),
    default=Action.WARN,
    alone=True,
    no_cel="does no harm while the webhook is down",
)
def selects_no_namespace(proposal: Proposal) -> Iterator[Finding]:
    """A ClusterQueue has no namespaceSelector, so it selects no namespace.

    Why it is reported: an absent selector selects no namespace, while an empty one selects all. Kueue accepts the
    queue, and all its work waits.
    Example: a ClusterQueue with `resourceGroups` alone.
    Fix: write `namespaceSelector: {}` for all namespaces, or one with labels.
    """
    for before, queue in proposal.changed(ClusterQueue):
        if queue.selector is None and (before is None or before.selector is not None):
            yield Finding(
                queue.ref,
                "spec.namespaceSelector",
                f"{queue.name} admits nothing: without a namespaceSelector it serves no namespace",
                fix="write namespaceSelector: {} to serve every namespace",
                profiles=STRICT_ONLY,
                follows=enclosing_fields(queue.ref, "spec.namespaceSelector"),
            )
