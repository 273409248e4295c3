from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import QUEUE, Queue
from policies.dialects.volcano_node_groups import LIMITS, OVERCOMMIT, BadNodeGroupLimits, node_group_limits
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Finding


@rule(
    "queue-annotation-invalid",
    source="Volcano: plugin nodegroup, limits by node group; design of queue-scoped overcommit",
    kinds=(QUEUE,),
    alone=True,
    no_cel="CEL cannot read a JSON object in an annotation",
)
def queue_annotation_invalid(proposal: Proposal) -> Iterator[Finding]:
    """An annotation of a Volcano queue cannot be read, or has no effect.

    Why it is refused: if the limits by node group cannot be read, Volcano's plugin `nodegroup` places no Pod of the
    queue.
    `volcano.sh/overcommit-factor` only gets a warning: a design document has it, but no version of Volcano reads it.
    Example: `volcano.sh/nodegroup-resource-limits: '{"a100": {"cpu": "many"}}'`.
    Fix: `volcano.sh/nodegroup-resource-limits: '{"a100": {"cpu": "100", "memory": "200Gi"}}'`.
    """
    for before, queue in proposal.changed(Queue):
        if before is None or before.node_group_limits != queue.node_group_limits:
            yield from _limits(queue)
        if queue.overcommit_factor is not None and (before is None or before.overcommit_factor is None):
            yield Finding(
                queue.ref,
                fields.join("metadata.annotations", OVERCOMMIT),
                f"no version of Volcano reads {OVERCOMMIT}",
                fix="set overcommit-factor of the plugin overcommit in the configuration of Volcano's scheduler",
                subject="overcommit",
                profiles=STRICT_ONLY,
                action=Action.WARN,
            )


def _limits(queue: Queue) -> Iterator[Finding]:
    try:
        node_group_limits(queue.node_group_limits)
    except BadNodeGroupLimits as error:
        yield Finding(
            queue.ref,
            fields.join("metadata.annotations", LIMITS),
            f"the limits by node group cannot be read: {error}",
            fix='write a JSON object such as {"a100": {"cpu": "100"}}',
            subject="limits",
            profiles=STRICT_ONLY,
        )
