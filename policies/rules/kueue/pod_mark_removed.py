from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import POD, Pod
from policies.dialects.kueue_jobs import TOPOLOGY_REQUESTS
from policies.dialects.kueue_pods import LABEL, ROLE_HASH
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Finding
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE, TOPOLOGY_GATE
from policies.rules._pod_templates import grown

_OF_JOBS = {
    f"scheduling gate {ELASTIC_GATE}": "ElasticJobsViaWorkloadSlices",
    f"scheduling gate {TOPOLOGY_GATE}": "TopologyAwareScheduling",
}
"""The scheduling gates that Pods of jobs may also have, each with its feature gate."""
_KEPT = {
    ROLE_HASH: "the role of a pod follows from its requests, and cannot be changed",
    **dict.fromkeys(TOPOLOGY_REQUESTS, "the topology that a queued pod requests cannot be changed"),
}
"""The annotations of a queued Pod that stay, each with the reason."""
_FIX = "leave the pod as it is, or delete the pod if it is not wanted"


@rule("pod-mark-removed", source="Quotree: pods run only with quota", kinds=(POD,))
def pod_mark_removed(proposal: Proposal) -> Iterator[Finding]:
    """A queued Pod loses its scheduling gate, label or finalizer, changes its role or topology, or requests more.

    Why it is refused: the scheduling gate keeps the Pod from starting until it is admitted. The controller that admits
    Pods finds it by the label. The finalizer keeps the Pod object until its end is recorded. The role decides to which
    pod set of the admission the Pod belongs. Without these, the Pod would run without reserved quota. For the same
    reason, a Pod may be resized to less, but not to more. The topology gate keeps the Pod from starting until a domain
    is assigned, and the annotations of the topology decide where it counts. Without these, it would take room that is
    assigned to other Pods. Only the users under `kueue.admittingUsers` may make these changes. The rule applies if
    `kueue.managePods` is on; for the gates of elastic jobs and topologies, if `kueue.manageJobs` is on.
    Example: `kubectl label pod train-0 kueue.x-k8s.io/managed-`.
    Fix: leave the Pod as it is until it is admitted, or delete it.
    """
    settings = proposal.configuration.kueue
    if proposal.circumstances.user.name in settings.admitting_users:
        return
    of_jobs = {mark for mark, feature in _OF_JOBS.items() if settings.manage_jobs and settings.enabled(feature)}
    for before, pod in proposal.changed(Pod):
        if before is None:
            continue
        for mark, field in before.marks.items():
            if mark not in pod.marks and (settings.manage_pods or mark in of_jobs):
                message = f"only the controller that admits the pod may remove the {mark}"
                yield Finding(pod.ref, field, message, fix=_FIX, subject=mark, profiles=STRICT_ONLY)
        if settings.manage_pods and LABEL in before.marks:
            yield from _reshaped(before, pod)


def _reshaped(before: Pod, pod: Pod) -> Iterator[Finding]:
    """Findings for a queued Pod whose role or topology changes, or whose requests grow."""
    for key, message in _KEPT.items():
        if before.annotations.get(key) != pod.annotations.get(key):
            field = fields.join("metadata.annotations", key)
            yield Finding(pod.ref, field, message, fix=_FIX, subject=key, profiles=STRICT_ONLY)
    yield from grown(before, pod)
