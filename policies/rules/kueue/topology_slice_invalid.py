from __future__ import annotations

from collections.abc import Iterator

from policies.configuration.kueue.gates import KueueVersion
from policies.dialects.kueue import WORKLOAD
from policies.dialects.kueue_workload import WrittenPodSet, WrittenWorkload
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import Action, Finding


@rule(
    "topology-slice-invalid",
    source="Kueue: webhook of Workload",
    kinds=(WORKLOAD,),
    alone=True,
    no_cel="concerns work, which goes on while the webhook is down",
)
def topology_slice_invalid(proposal: Proposal) -> Iterator[Finding]:
    """The slices of a pod set have no size or no topology.

    Why it is refused: a slice is a number of pods in one domain of a topology level. A slice of 0 pods, or one without
    a level, cannot be placed, and the Workload would wait forever.
    Example: `podSetSliceSize: 0`; `podSetSliceSize: 4` without podSetSliceRequiredTopology.
    Fix: write both podSetSliceRequiredTopology and a podSetSliceSize above 0, or neither.
    """
    version = proposal.configuration.kueue.version
    sized = proposal.configuration.kueue.enabled("TASValidateWorkloadSliceSize")
    for _, workload in proposal.changed(WrittenWorkload):
        for pod_set in workload.pod_sets:
            for field, message, fix in _faults(pod_set) if sized else ():
                yield Finding(workload.ref, field, message, fix=fix)
            if pod_set.sub_groups < 0:
                yield Finding(
                    workload.ref,
                    f"{pod_set.slices.field}.subGroupCount",
                    f"{pod_set.sub_groups} is negative; Kueue refuses that from 0.20 on",
                    fix="write 0 or more",
                    action=Action.WARN if version is KueueVersion.V0_19 else None,
                )


def _faults(pod_set: WrittenPodSet) -> Iterator[tuple[str, str, str]]:
    """Each invalid size as (field, message, fix)."""
    slices = pod_set.slices
    field = f"{slices.field}.podSetSliceSize"
    if slices.topology is not None and slices.size is None:
        within = slices.topology or "a level"
        yield field, f"slices within {within} need a size", "write the number of pods in a slice"
    elif slices.topology is not None and slices.size is not None and slices.size <= 0:
        yield field, f"a slice cannot have {slices.size} pods", "write 1 or more"
    elif slices.size is not None and not slices.topology:
        message = f"a size of {slices.size} without podSetSliceRequiredTopology has no effect"
        yield field, message, "write podSetSliceRequiredTopology too, or remove the size"
    for index, (topology, size) in enumerate(slices.layers):
        if size <= 0:
            at = fields.join(slices.field, "podsetSliceRequiredTopologyConstraints", index, "size")
            yield at, f"a slice within {topology or 'a level'} cannot have {size} pods", "write 1 or more"
