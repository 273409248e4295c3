from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policies.amounts.ancestry import counted_above
from policies.amounts.requests import pod_requests, template_requests
from policies.dialects.core import POD, Pod
from policies.dialects.job_shape import JobShape, PodsAt
from policies.dialects.kueue_jobs import (
    IDENTIFIERS,
    KINDS,
    POD_SET,
    PREBUILT,
    QUEUE_NAME,
    STARTED_FOR,
    QueuedJob,
    identifier,
)
from policies.dialects.kueue_kinds import WORKLOAD
from policies.dialects.kueue_pods import LABEL
from policies.dialects.kueue_workload import ELASTIC, SLICE_CHAIN, WrittenWorkload
from policies.dialects.pod_reading import gates_in
from policies.dialects.reading import mapping, texts
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Finding
from policies.model.objects import Ref
from policies.model.pools import written
from policies.model.quantity import Quantity
from policies.mutation.kueue_defaults import in_namespace
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE

_KINDS = tuple(kind for kind, framework in KINDS.items() if isinstance(framework, JobShape))
_ENDED = "Failed"
"""The podReplacementPolicy with which Pods are replaced only after they have ended."""
_ALONE = "leave the template as it is; to change a number alone, use kubectl patch: kubectl apply replaces whole lists"
_NO_MARK = f"leave {POD_SET} out"
_LEAVE = "name another queue, or delete the job and create one without a queue"


@rule("quota-evaded", source="Quotree: a user who requests quota does not grant it", kinds=(*_KINDS, POD))
def quota_evaded(proposal: Proposal) -> Iterator[Finding]:
    """A job that waits for quota is started by a user, or a running job takes more than was admitted.

    Why it is refused: its pods would use the quota of others until the reconciler stops them. With `kueue.manageJobs`,
    only the users in `kueue.admittingUsers` may start a job that names a LocalQueue. Other users may suspend it, make
    it smaller, and move it to another queue while it is suspended. They must not make a running job larger unless it is
    elastic, remove its queue, or change its controller. The controller of a running job may start its children if they
    request no more than was admitted. Started Pods are counted by labels and annotations, so these must stay. This also
    holds for the pod templates of an elastic job, which creates Pods at any time. A running Pod stays with its job:
    only Kubernetes' own controllers may change its owner, or the labels of the Job controller. Nobody else may add the
    label of a Pod that was started on quota. A job must not name the Workload of another job as its own. A running Pod
    must not be resized to more.
    Example: `kubectl patch job train -p '{"spec":{"suspend":false}}'` on a Job with a queue-name.
    Fix: leave it suspended; it starts when its queue has quota for it. To make it larger, suspend it first.
    """
    settings = proposal.configuration.kueue
    if not settings.manage_jobs or proposal.circumstances.user.name in settings.admitting_users:
        return
    for before, job in proposal.changed(QueuedJob):
        managed = in_namespace(settings, job.ref.namespace, proposal.after).manage_jobs
        if managed and (_queued(job) or (before is not None and _queued(before))):
            yield from _Change(proposal, before, job).findings()

    for old, pod in proposal.changed(Pod):
        if old is not None and POD_SET in pod.labels and POD_SET not in old.labels:
            message = "only a Pod that was started on quota has this label"
            yield Finding(pod.ref, fields.join("metadata.labels", POD_SET), message, fix=_NO_MARK, profiles=STRICT_ONLY)
        if old is not None and POD_SET in old.labels:
            yield from _uncounted(old, pod)
            yield from _resized(old, pod)
            if not proposal.circumstances.user.is_of_kubernetes:
                yield from _taken_away(old, pod)


def _uncounted(old: Pod, pod: Pod) -> Iterator[Finding]:
    now = _counting_keys(pod.labels, pod.annotations)
    for (where, key), was in _counting_keys(old.labels, old.annotations).items():
        if was != now[where, key]:
            message = f"a Pod that runs on quota is counted by {key}"
            fix = f"leave {key} as it is"
            yield Finding(pod.ref, fields.join("metadata", where, key), message, fix=fix, profiles=STRICT_ONLY)


def _taken_away(old: Pod, pod: Pod) -> Iterator[Finding]:
    """Findings for changes of the owner or the job's labels, after which the controller would replace the Pod."""
    for field, was in old.ownership.items():
        if pod.ownership.get(field) != was:
            message = "a Pod that runs on quota stays with the job that it was admitted with"
            fix = f"leave {field} as it is, or delete the Pod"
            yield Finding(pod.ref, field, message, fix=fix, profiles=STRICT_ONLY)


def _resized(old: Pod, pod: Pod) -> Iterator[Finding]:
    """Findings for Pods that are resized to more. Another rule judges Pods that are queued themselves."""
    had, asks = pod_requests(old.sized), pod_requests(pod.sized)
    for resource, amount in sorted(asks.items()) if pod.sized and LABEL not in old.marks else ():
        if amount > had.get(resource, Quantity.ZERO):
            message = f"requests {resource}={amount}, but {had.get(resource, Quantity.ZERO)} was admitted"
            fix = "change the pod template of its job"
            yield Finding(pod.ref, "spec.containers", message, fix=fix, subject=resource, profiles=STRICT_ONLY)


def _counting_keys(labels: Mapping[str, str], annotations: Mapping[str, str]) -> dict[tuple[str, str], str | None]:
    """The labels and annotations by which Pods are counted, by (labels or annotations, key); None if absent."""
    counted = {("annotations", key): annotations.get(key) for key in (STARTED_FOR, SLICE_CHAIN)}
    return {("labels", POD_SET): labels.get(POD_SET), **counted}


def _queued(job: QueuedJob) -> bool:
    return bool(job.queue) and isinstance(job.framework, JobShape)


@dataclass(frozen=True, slots=True)
class _Change:
    """Judges the change of one job. `before`: None for a new job."""

    proposal: Proposal
    before: QueuedJob | None
    job: QueuedJob

    def findings(self) -> Iterator[Finding]:
        before, job = self.before, self.job
        if before is not None and before.queue and not job.queue:
            where = job.framework.unless if job.left_out else fields.join("metadata.labels", QUEUE_NAME)
            yield self._finding(where, f"it leaves queue {before.queue}, so no queue would count it", _LEAVE)
        if before is not None and job.controller not in (None, before.controller):
            message = "a queued job is handed over to another controller, which would run it on its own quota"
            yield self._finding("metadata.ownerReferences", message, "set the owner when the job is created")
        yield from self._borrowed()
        if job.running and (before is None or not before.running):
            yield from self._started()
        elif job.running and before is not None:
            yield from self._grown(before)
            yield from self._replaced(before)
            if self._elastic():
                yield from self._freed(before)

    def _borrowed(self) -> Iterator[Finding]:
        """A finding if the job names a Workload of another job, whose Pods use its quota."""
        job, annotated = self.job, self.proposal.configuration.kueue.enabled(IDENTIFIERS)
        name, before = (
            identifier(each.labels, each.annotations, PREBUILT, annotated=annotated) if each is not None else ""
            for each in (job, self.before)
        )
        named = self.proposal.after.get(Ref(*WORKLOAD, job.ref.namespace, name)) if name and name != before else None
        owner = named.controller if isinstance(named, WrittenWorkload) else None
        if owner is not None and owner.uid != job.uid:
            message = f"Workload {name} belongs to {owner.kind.kind} {owner.name}, whose Pods use its quota"
            where = "metadata.labels" if job.labels.get(PREBUILT) == name else "metadata.annotations"
            yield self._finding(fields.join(where, PREBUILT), message, "name a Workload that was created for this job")

    def _started(self) -> Iterator[Finding]:
        switch = self.job.framework.suspend
        if switch is not None and not self._runs_for_another():
            owner = f", and {self.job.owner} was not admitted for it" if self.job.owner else ""
            message = f"it would run without quota: only the reconciler starts what waits in a queue{owner}"
            yield self._finding(switch.path, message, f"leave {switch.path} as it is, and wait")

    def _grown(self, before: QueuedJob) -> Iterator[Finding]:
        """Findings for a running job that requests more, by pod set, since each may have another flavor."""
        admitted = {pods.name: pods for pods in before.pod_sets}
        for pods in self.job.pod_sets:
            amounts = _of_one if self._elastic() and _waits(pods) else _amounts
            held, asked = amounts(admitted[pods.name]) if pods.name in admitted else {}, amounts(pods)
            more = [resource for resource in sorted(asked) if asked[resource] > held.get(resource, 0)]
            if more and not self._runs_for_another():
                now, then = (
                    ", ".join(f"{name}={written(name, each.get(name, 0))}" for name in more) for each in (asked, held)
                )
                message = f"it runs and requests {now}, but {then} was admitted"
                yield self._finding(pods.at, message, "suspend the job first; it waits for the larger quota then")

    def _replaced(self, before: QueuedJob) -> Iterator[Finding]:
        """A finding if Pods would be replaced before they have ended, since old and new Pods would run together."""
        if self.proposal.configuration.counts_ending and before.replacement == _ENDED != self.job.replacement:
            message = "its Pods use quota until they have ended, and are replaced after that"
            yield self._finding("spec.podReplacementPolicy", message, f"leave it at {_ENDED}")

    def _freed(self, before: QueuedJob) -> Iterator[Finding]:
        """Findings for pod templates that lose the gate, or a label or annotation by which Pods are counted. Otherwise
        waiting Pods could be deleted, and would be created again without these."""
        now = {pods.name: pods for pods in self.job.pod_sets}
        for old in before.pod_sets:
            pods = now.get(old.name)
            if pods is None:
                continue
            if _waits(old) and not _waits(pods):
                message = f"its pods are held by the scheduling gate {ELASTIC_GATE} until they are admitted"
                yield self._finding(fields.join(pods.at, "spec", "schedulingGates"), message, _ALONE)
            keys = _template_keys(pods)
            for (where, key), was in _template_keys(old).items():
                if was is not None and was != keys[where, key]:
                    message = f"its pods run on quota, and are counted by {key}"
                    yield self._finding(fields.join(pods.at, "metadata", where, key), message, _ALONE)

    def _runs_for_another(self) -> bool:
        """Whether a running ancestor job already counts this job."""
        above = counted_above(self.job, self.proposal.after, slicing=self._slicing)
        return above is not None and above.running

    def _elastic(self) -> bool:
        return self._slicing and self.job.framework.elastic and self.job.annotations.get(ELASTIC) == "true"

    @property
    def _slicing(self) -> bool:
        return self.proposal.configuration.kueue.enabled("ElasticJobsViaWorkloadSlices")

    def _finding(self, field: str, message: str, fix: str) -> Finding:
        return Finding(self.job.ref, field, message, fix=fix, profiles=STRICT_ONLY)


def _waits(pods: PodsAt) -> bool:
    """Whether more of these pods use no quota, because they wait at a gate until a slice of their job is admitted."""
    return ELASTIC_GATE in gates_in(mapping(pods.template.get("spec")))


def _template_keys(pods: PodsAt) -> dict[tuple[str, str], str | None]:
    meta = mapping(pods.template.get("metadata"))
    return _counting_keys(texts(meta.get("labels")), texts(meta.get("annotations")))


def _of_one(pods: PodsAt) -> Mapping[str, int]:
    return template_requests(pods.counted, 1)


def _amounts(pods: PodsAt) -> Mapping[str, int]:
    return {**template_requests(pods.counted, pods.count), "pods": pods.count}
