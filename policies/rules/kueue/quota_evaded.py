from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import POD, Pod
from policies.dialects.job_shape import JobShape
from policies.dialects.kueue_jobs import KINDS, POD_SET, TOPOLOGY_REQUESTS, QueuedJob
from policies.dialects.kueue_pods import LABEL
from policies.judging.rule import Proposal, rule
from policies.model.findings import Finding
from policies.mutation.kueue_defaults import settings_for
from policies.rules.kueue import _evading_pods
from policies.rules.kueue._evading_jobs import QueuedJobChange

_KINDS = tuple(kind for kind, framework in KINDS.items() if isinstance(framework, JobShape))


@rule("quota-evaded", source="Quotree: a user who requests quota does not grant it", kinds=(*_KINDS, POD))
def quota_evaded(proposal: Proposal) -> Iterator[Finding]:
    """A job that waits for quota is started by a user, or a running job takes more than was admitted.

    Why it is refused: its pods would use the quota of others until the reconciler stops them. With `kueue.manageJobs`,
    only the users in `kueue.admittingUsers` may start a job that names a LocalQueue. Other users may suspend it, make
    it smaller, and move it to another queue while it is suspended. They must not make a running job larger unless it is
    elastic, remove its queue, or change its controller. The controller of a running job may start its children if they
    request no more than was admitted. Started Pods are counted by labels and annotations, so these must stay. This also
    holds for the pod templates of an elastic job, which creates Pods at any time. The pod templates of a running job
    keep their node selector, because quota is reserved in the flavor of these nodes; more labels may be selected. They
    get no other `runtimeClassName` and no new `resourceClaims`, because pods request more with these. A
    running Pod stays with its job: only Kubernetes' own controllers may change its owner, or the labels of the Job
    controller. Nobody else may add the label of a Pod that was started on quota. A job must not name the Workload of
    another job as its own. A running Pod must not be resized to more.
    Example: `kubectl patch job train -p '{"spec":{"suspend":false}}'` on a Job with a queue-name.
    Fix: leave it suspended; it starts when its queue has quota for it. To make it larger, suspend it first.
    """
    settings = proposal.configuration.kueue
    if not settings.manage_jobs or proposal.circumstances.user.name in settings.admitting_users:
        return
    for before, job in proposal.changed(QueuedJob):
        managed = settings_for(
            job.ref.group_kind, job.ref.namespace, proposal.configuration, proposal.after
        ).manage_jobs
        if managed and (_queued(job) or (before is not None and _queued(before))):
            yield from QueuedJobChange(proposal, before, job).findings()

    for old, pod in proposal.changed(Pod):
        if old is not None and POD_SET not in old.labels:
            yield from _evading_pods.marked(pod)
        elif old is not None:
            alone = settings.manage_pods and LABEL in old.marks  # the rule pod-mark-removed judges such Pods
            yield from _evading_pods.uncounted(old, pod, TOPOLOGY_REQUESTS if alone else ())
            yield from () if alone else _evading_pods.resized(old, pod)
            if not proposal.circumstances.user.is_of_kubernetes:
                yield from _evading_pods.taken_away(old, pod)


def _queued(job: QueuedJob) -> bool:
    return bool(job.queue) and isinstance(job.framework, JobShape)
