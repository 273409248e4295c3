"""Changes of a job with a queue, after which its Pods would use quota that it was not admitted to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policies.amounts.ancestry import counted_above
from policies.amounts.requests import template_requests, total
from policies.dialects.job_shape import PodsAt
from policies.dialects.kueue_jobs import (
    IDENTIFIERS,
    PREBUILT,
    QUEUE_NAME,
    TOPOLOGY_REQUESTS,
    QueuedJob,
    identifier,
)
from policies.dialects.kueue_kinds import WORKLOAD
from policies.dialects.kueue_workload import ELASTIC, WrittenWorkload
from policies.dialects.pod_reading import gates_in
from policies.dialects.reading import mapping, texts
from policies.judging.rule import Proposal
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Finding
from policies.model.objects import Ref
from policies.model.pools import amount_text
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE, TOPOLOGY_GATE
from policies.rules.kueue._evading_pods import counting_keys

_ENDED = "Failed"
"""The podReplacementPolicy with which Pods are replaced only after they have ended."""
_ALONE = "leave the template as it is; to change a number alone, use kubectl patch: kubectl apply replaces whole lists"
_LEAVE = "name another queue, or delete the job and create one without a queue"


@dataclass(frozen=True, slots=True)
class QueuedJobChange:
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
                    ", ".join(f"{name}={amount_text(name, each.get(name, 0))}" for name in more)
                    for each in (asked, held)
                )
                message = f"it runs and requests {now}, but {then} was admitted"
                yield self._finding(pods.at, message, "suspend the job first; it waits for the larger quota then")

    def _replaced(self, before: QueuedJob) -> Iterator[Finding]:
        """A finding if Pods would be replaced before they have ended, since old and new Pods would run together."""
        if self.proposal.configuration.counts_ending and before.replacement == _ENDED != self.job.replacement:
            message = "its Pods use quota until they have ended, and are replaced after that"
            yield self._finding("spec.podReplacementPolicy", message, f"leave it at {_ENDED}")

    def _freed(self, before: QueuedJob) -> Iterator[Finding]:
        """Findings for pod templates that lose what the pods need to be counted.

        The pods that run still have it. But they could be deleted, and would be created again without it.
        """
        now = {pods.name: pods for pods in self.job.pod_sets}
        for old in before.pod_sets:
            if (pods := now.get(old.name)) is not None:
                yield from self._without_gates(old, pods)
                yield from self._for_other_nodes(old, pods)
                yield from self._with_hidden_requests(old, pods)
                yield from self._uncounted(old, pods)

    def _without_gates(self, old: PodsAt, pods: PodsAt) -> Iterator[Finding]:
        for gate in _gates(old):
            if gate not in _gates(pods):
                message = f"its pods are held by the scheduling gate {gate} until they are admitted"
                yield self._finding(fields.join(pods.at, "spec", "schedulingGates"), message, _ALONE)

    def _for_other_nodes(self, old: PodsAt, pods: PodsAt) -> Iterator[Finding]:
        """Findings for a changed node selector. While the job runs, it has the labels of its flavor's nodes."""
        selector = _node_selector(pods)
        for key, was in _node_selector(old).items():
            if selector.get(key) != was:
                message = f"its pods were admitted for nodes with {key}={was}"
                yield self._finding(fields.join(pods.at, "spec", "nodeSelector", key), message, "suspend the job first")

    def _with_hidden_requests(self, old: PodsAt, pods: PodsAt) -> Iterator[Finding]:
        """Findings for new fields that make pods request what the template does not say: overhead, or devices."""
        was, now = (mapping(each.template.get("spec")) for each in (old, pods))
        for field in ("runtimeClassName", "resourceClaims"):
            if now.get(field) and now[field] != was.get(field):
                message = f"it runs, and its pods were admitted without this {field}"
                yield self._finding(fields.join(pods.at, "spec", field), message, "suspend the job first")

    def _uncounted(self, old: PodsAt, pods: PodsAt) -> Iterator[Finding]:
        keys = _template_keys(pods)
        for (where, key), was in _template_keys(old).items():
            judged = key in TOPOLOGY_REQUESTS or (_gates(old) and was is not None)
            if judged and was != keys[where, key]:
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
    return texts(mapping(pods.template.get("spec")).get("nodeSelector"))


def _template_keys(pods: PodsAt) -> dict[tuple[str, str], str | None]:
    meta = mapping(pods.template.get("metadata"))
    return counting_keys(texts(meta.get("labels")), texts(meta.get("annotations")))


def _of_one(pods: PodsAt) -> Mapping[str, int]:
    return template_requests(pods.counted, 1)


def _amounts(pods: PodsAt) -> Mapping[str, int]:
    return {**template_requests(pods.counted, pods.count), "pods": pods.count}
