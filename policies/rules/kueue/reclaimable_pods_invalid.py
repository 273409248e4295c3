from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue import WORKLOAD
from policies.dialects.kueue_workload import ReclaimablePods, WrittenWorkload
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import Finding

_FIELD = "status.reclaimablePods"


@rule(
    "reclaimable-pods-invalid",
    source="Kueue: webhook of Workload",
    kinds=(WORKLOAD,),
    alone=True,
    no_cel="is about status, which Kueue writes",
)
def reclaimable_pods_invalid(proposal: Proposal) -> Iterator[Finding]:
    """A Workload reports more reclaimable pods than it has, or fewer than before.

    Why it is refused: the quota of a reclaimable pod is available to others at once. With a number above the size of
    the pod set, quota would be released that was never reserved. With a lower number than before, quota would be taken
    back that others may already use.
    Example: `{name: workers, count: 4}` where `workers` has 3 pods; a count that falls from 3 to 2 while quota is
    reserved.
    Fix: name pod sets of the Workload, with a count between the last one and the size of the set.
    """
    slicing = proposal.configuration.kueue.enabled("ElasticJobsViaWorkloadSlices")
    for before, workload in proposal.changed(WrittenWorkload):
        elastic = slicing and workload.elastic
        yield from _beyond(before, workload, elastic)
        if before is not None and before.reserved and workload.reserved:
            yield from _taken_back(before, workload, elastic)


def _beyond(before: WrittenWorkload | None, workload: WrittenWorkload, elastic: bool) -> Iterator[Finding]:
    sizes = {pod_set.name: pod_set.count for pod_set in workload.pod_sets}
    old_pods = {entry.name: entry.pods for entry in before.reclaimable} if before is not None and elastic else {}
    for entry in workload.reclaimable:
        size = sizes.get(entry.name)
        if size is None:
            message = f"pod set {entry.name} does not exist; pod sets: {', '.join(sizes) or 'none'}"
            yield Finding(
                workload.ref, _at(entry, "name"), message, fix="name a pod set of the Workload", subject=entry.name
            )
        elif entry.pods > size and old_pods.get(entry.name) != entry.pods:
            yield Finding(
                workload.ref,
                _at(entry, "count"),
                f"{entry.pods} pods of {entry.name} are reported reclaimable, but it has {size}",
                fix=f"write {size} or less",
                subject=entry.name,
                excess=entry.pods - size,
            )


def _taken_back(before: WrittenWorkload, workload: WrittenWorkload, elastic: bool) -> Iterator[Finding]:
    now = {entry.name: entry for entry in workload.reclaimable}
    for old in before.reclaimable:
        if elastic and _shrunk(before, workload, old.name):
            continue
        new = now.get(old.name)
        if new is None:
            yield Finding(
                workload.ref,
                _FIELD,
                f"{old.pods} pods of {old.name} were reclaimable; the entry cannot be removed while quota is reserved",
                fix=f"keep the entry of {old.name}",
                subject=old.name,
            )
        elif new.pods < old.pods:
            yield Finding(
                workload.ref,
                _at(new, "count"),
                f"{new.pods} pods of {old.name} are reclaimable, but {old.pods} were; the number cannot fall "
                "while quota is reserved",
                fix=f"write {old.pods} or more",
                subject=old.name,
            )


def _shrunk(before: WrittenWorkload, workload: WrittenWorkload, name: str) -> bool:
    """Whether the pod set has fewer pods than were admitted. Then the old numbers do not count any more."""
    assignments = workload.admission.assignments if workload.admission else ()
    admitted = next(
        (assignment.count for assignment in assignments if assignment.name == name and assignment.count is not None),
        None,
    )
    sizes = [{pod_set.name: pod_set.count for pod_set in each.pod_sets} for each in (before, workload)]
    held = sizes[0].get(name, 0) if admitted is None else admitted
    return sizes[1].get(name, 0) < held


def _at(entry: ReclaimablePods, key: str) -> str:
    return fields.join(_FIELD, entry.at, key)
