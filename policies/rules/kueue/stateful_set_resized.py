from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue_jobs import QUEUE_NAME, STATEFUL_SET, QueuedJob
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding


@rule("stateful-set-resized", source="Kueue: webhook of StatefulSet", kinds=(STATEFUL_SET,))
def stateful_set_resized(proposal: Proposal) -> Iterator[Finding]:
    """A StatefulSet that Kueue has admitted changes its size.

    Why it is refused: its pods are admitted together, as a group of a fixed size. Additional pods would wait for a
    group that is already complete, and fewer would leave it incomplete. While old pods terminate, new ones would count
    as part of their group.
    Example: `replicas: 3` becomes `replicas: 5` on a StatefulSet with a queue-name.
    Fix: scale to 0, wait until the pods are gone, and scale to the new size.
    """
    for before, job in proposal.changed(QueuedJob):
        if before is None or job.ref.group_kind != STATEFUL_SET or not before.labels.get(QUEUE_NAME):
            continue
        old, new = before.replicas, job.replicas
        if old and new and old != new:
            yield Finding(
                job.ref,
                "spec.replicas",
                f"{new} replicas, but {old} were admitted as one group",
                fix=f"scale to 0, wait until the pods are gone, then scale to {new}",
            )
        elif not old and new and job.present:
            yield Finding(
                job.ref,
                "spec.replicas",
                f"{new} replicas while {job.present} pods of the previous group still exist",
                fix="wait until these pods are gone",
            )
