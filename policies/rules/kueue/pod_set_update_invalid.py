from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import WORKLOAD
from policies.dialects.kueue_workload import WrittenWorkload
from policies.dialects.written_back import differ
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import Finding

_READY = "Ready"


@rule(
    "pod-set-update-invalid",
    source="Kueue: webhook of Workload",
    kinds=(WORKLOAD,),
    alone=True,
    no_cel="is about status, which Kueue writes",
)
def pod_set_update_invalid(proposal: Proposal) -> Iterator[Finding]:
    """An admission check updates a pod set that does not exist, or changes its updates after it was Ready.

    Why it is refused: podSetUpdates are merged into the pods when the job starts, after all checks are Ready. An
    unknown pod set would be dropped silently, and a later change would reach only some of the pods.
    Example: podSetUpdates for `worker` where the pod set is called `workers`.
    Fix: name pod sets of the Workload; to change the updates, set the check to Retry, so that the Workload starts
    again.
    """
    for before, workload in proposal.changed(WrittenWorkload):
        names = [pod_set.name for pod_set in workload.pod_sets]
        for check in workload.checks:
            for index, name in enumerate(check.updated):
                if name not in names:
                    yield Finding(
                        workload.ref,
                        fields.join(check.field, index, "name"),
                        f"check {check.name} updates pod set {name}, which does not exist; pod sets: "
                        f"{', '.join(names) or 'none'}",
                        fix="name a pod set of the Workload",
                        subject=f"{check.name} {name}",
                    )
        if before is not None:
            yield from _changed(before, workload)


def _changed(before: WrittenWorkload, workload: WrittenWorkload) -> Iterator[Finding]:
    now = {check.name: check for check in workload.checks}
    for old in before.checks:
        new = now.get(old.name)
        if new is not None and old.state == new.state == _READY and differ(old.content, new.content):
            yield Finding(
                workload.ref,
                new.field,
                f"check {new.name} is Ready, so its podSetUpdates can no longer change",
                fix="keep them as they are, or set the check to Retry first",
                subject=new.name,
            )
