from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from policies.amounts.ancestry import counted_above
from policies.amounts.requests import pod_requests, template_requests, total
from policies.dialects.core import POD, Pod
from policies.dialects.job_shape import JobShape, PodsAt
from policies.dialects.kueue_jobs import (
    IDENTIFIERS,
    KINDS,
    POD_SET,
    PREBUILT,
    QUEUE_NAME,
    STARTED_FOR,
    TOPOLOGY_REQUESTS,
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
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE, TOPOLOGY_GATE

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
    holds for the pod templates of an elastic job, which creates Pods at any time. The pod templates of a running job
    keep their node selector, because quota is reserved in the flavor of these nodes; more labels may be selected. A
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
        managed = in_namespace(settings, job.ref.namespace, proposal.after).manage_jobs
        if managed and (_queued(job) or (before is not None and _queued(before))):
            yield from _Change(proposal, before, job).findings()

    for old, pod in proposal.changed(Pod):
        if old is not None and POD_SET in pod.labels and POD_SET not in old.labels:
            message = "only a Pod that was started on quota has this label"
            yield Finding(pod.ref, fields.join("metadata.labels", POD_SET), message, fix=_NO_MARK, profiles=STRICT_ONLY)
        if old is not None and POD_SET in old.labels:
            alone = settings.manage_pods and LABEL in old.marks  # the rule pod-mark-removed judges such Pods
            yield from _uncounted(old, pod, TOPOLOGY_REQUESTS if alone else ())
            yield from () if alone else _resized(old, pod)
            if not proposal.circumstances.user.is_of_kubernetes:
                yield from _taken_away(old, pod)


def _uncounted(old: Pod, pod: Pod, judged: Collection[str]) -> Iterator[Finding]:
    """Findings for changes of the keys by which the Pod is counted. `judged`: those that another rule judges."""
    now = _counting_keys(pod.labels, pod.annotations)
    for (where, key), was in _counting_keys(old.labels, old.annotations).items():
        if was != now[where, key] and key not in judged:
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
    """Findings for Pods that are resized to more."""
    had, asks = pod_requests(old.sized), pod_requests(pod.sized)
    for resource, amount in sorted(asks.items()) if pod.sized else ():
        if amount > had.get(resource, Quantity.ZERO):
            message = f"requests {resource}={amount}, but {had.get(resource, Quantity.ZERO)} was admitted"
            fix = "change the pod template of its job"
            yield Finding(pod.ref, "spec.containers", message, fix=fix, subject=resource, profiles=STRICT_ONLY)


def _counting_keys(labels: Mapping[str, str], annotations: Mapping[str, str]) -> dict[tuple[str, str], str | None]:
    """The labels and annotations by which Pods are counted, by (labels or annotations, key); None if absent.

    A Pod that requests a topology counts for its place, any other Pod for its node.
    """
    keys = (STARTED_FOR, SLICE_CHAIN, *TOPOLOGY_REQUESTS)
    counted = {("annotations", key): annotations.get(key) for key in keys}
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
        together: dict[str, dict[str, int]] = {}  # groups with equal names would share what was admitted for one
        for pods in self.job.pod_sets:
            amounts = _of_one if self._elastic() and _waits(pods) else _amounts
            held = amounts(admitted[pods.name]) if pods.name in admitted else {}
            asked = together[pods.name] = total((together.get(pods.name, {}), amounts(pods)))
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
        """Findings for pod templates that lose a gate, a node selector of the flavor, or a label or annotation by which
        Pods are counted. Otherwise Pods could be deleted, and would be created again without these."""
        now = {pods.name: pods for pods in self.job.pod_sets}
        for old in before.pod_sets:
            pods = now.get(old.name)
            if pods is None:
                continue
            lost = [gate for gate in _gates(old) if gate not in _gates(pods)]
            for gate in lost:
                message = f"its pods are held by the scheduling gate {gate} until they are admitted"
                yield self._finding(fields.join(pods.at, "spec", "schedulingGates"), message, _ALONE)
            selector = _node_selector(pods)
            for key, was in _node_selector(old).items():
                if selector.get(key) != was:
                    message = f"its pods were admitted for nodes with {key}={was}"
                    field = fields.join(pods.at, "spec", "nodeSelector", key)
                    yield self._finding(field, message, "suspend the job first")
            keys = _template_keys(pods)
            for (where, key), mark in _template_keys(old).items():
                held = key in TOPOLOGY_REQUESTS or (_gates(old) and mark is not None)
                if held and mark != keys[where, key]:
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
    return ELASTIC_GATE in _gates(pods)


def _gates(pods: PodsAt) -> list[str]:
    """The gates that only the reconciler removes."""
    return [gate for gate in (ELASTIC_GATE, TOPOLOGY_GATE) if gate in gates_in(mapping(pods.template.get("spec")))]


def _node_selector(pods: PodsAt) -> Mapping[str, str]:
    """The node selector. While the job runs, it has the labels of its flavor's nodes."""
    return texts(mapping(pods.template.get("spec")).get("nodeSelector"))


def _template_keys(pods: PodsAt) -> dict[tuple[str, str], str | None]:
    meta = mapping(pods.template.get("metadata"))
    return _counting_keys(texts(meta.get("labels")), texts(meta.get("annotations")))


def _of_one(pods: PodsAt) -> Mapping[str, int]:
    return template_requests(pods.counted, 1)


def _amounts(pods: PodsAt) -> Mapping[str, int]:
    return {**template_requests(pods.counted, pods.count), "pods": pods.count}
