from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from policies.dialects.core import POD, Pod
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, WORKLOAD, QuotaNode
from policies.dialects.kueue_jobs import KINDS, QueuedJob
from policies.dialects.kueue_workload import Workload
from policies.dialects.odd_amounts import OddAmount, odd, odd_in_pod
from policies.dialects.reading import mapping
from policies.dialects.volcano import JOB, QUEUE, Job, Queue
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import BOTH, STRICT_ONLY, Action, Finding
from policies.model.objects import Ref
from policies.model.quantity import Quantity


@rule(
    "amount-implausible",
    source="Quotree; Kubernetes: extended resources come in whole units",
    kinds=(COHORT, CLUSTER_QUEUE, QUEUE, WORKLOAD, JOB, POD, *KINDS),
    default=Action.WARN,
    alone=True,
    no_cel="does no harm while the webhook is down",
)
def amount_implausible(proposal: Proposal) -> Iterator[Finding]:
    """An amount is a quantity, and almost surely not the one that was meant.

    Why it is reported: `m` is a thousandth, so `memory: 36m` is less than a byte, and `cpu: 9Gi` is nine thousand
    million cores. The API server accepts both. It refuses Pods that ask for a fraction of a device, so there it is an
    error.
    Example: `memory: 36m`; `cpu: 9Gi`; `nvidia.com/gpu: 500m` in a pod template.
    Fix: write the unit that was meant: `36Mi`, `9`, `1`.
    """
    for ref, found in chain(_of_queues(proposal), _of_pods(proposal)):
        yield Finding(
            ref,
            found.field,
            found.message,
            fix=found.fix,
            subject=found.resource,
            profiles=BOTH if found.refused else STRICT_ONLY,
            action=Action.DENY if found.refused else None,
        )


def _of_queues(proposal: Proposal) -> Iterator[tuple[Ref, OddAmount]]:
    for ref, at, resource, quantity in _quotas(proposal):
        if found := odd(at, resource, quantity, of_pod=False):
            yield ref, found


def _of_pods(proposal: Proposal) -> Iterator[tuple[Ref, OddAmount]]:
    for ref, at, spec in _specs(proposal):
        for found in odd_in_pod(at, spec):
            yield ref, found
    for before, pod in proposal.changed(Pod):
        if before is None or before.odd != pod.odd:
            for found in pod.odd:
                yield pod.ref, found


def _quotas(proposal: Proposal) -> Iterator[tuple[Ref, str, str, Quantity]]:
    """The amounts of nodes and queues whose amounts are new: each with its field and resource."""
    for before, node in proposal.changed(QuotaNode):
        if before is None or before.groups != node.groups:
            yield from _of_node(node)
    for was, queue in proposal.changed(Queue):
        if was is None or _three(was) != _three(queue):
            for field, amounts in zip(("capability", "deserved", "guarantee.resource"), _three(queue), strict=True):
                for resource, quantity in amounts.items():
                    yield queue.ref, fields.join(f"spec.{field}", resource), resource, quantity


def _specs(proposal: Proposal) -> Iterator[tuple[Ref, str, Mapping[str, Any]]]:
    """The pods of work whose pods are new: the path and content of their spec."""
    for old, job in proposal.changed(QueuedJob):
        if old is None or old.pod_sets != job.pod_sets:
            for pods in job.pod_sets:
                yield job.ref, f"{pods.at}.spec", mapping(pods.template.get("spec"))
    for prior, workload in proposal.changed(Workload):
        if prior is None or prior.pod_sets != workload.pod_sets:
            for pod_set in workload.pod_sets:
                spec = mapping(pod_set.template.get("spec"))
                yield workload.ref, f"{pod_set.field}.template.spec", spec
    for earlier, volcanos in proposal.changed(Job):
        if earlier is None or [task.pod for task in earlier.spec.tasks] != [task.pod for task in volcanos.spec.tasks]:
            for task in volcanos.spec.tasks:
                yield volcanos.ref, f"{task.field}.template.spec", task.pod


def _three(queue: Queue) -> tuple[Mapping[str, Quantity], ...]:
    return queue.capability, queue.deserved, queue.guarantee


def _of_node(node: QuotaNode) -> Iterator[tuple[Ref, str, str, Quantity]]:
    for _, quota in node.quotas():
        keys = ("nominalQuota", "borrowingLimit", "lendingLimit")
        for key, quantity in zip(keys, (quota.nominal, quota.borrowing_limit, quota.lending_limit), strict=True):
            if quantity is not None:
                yield node.ref, quota.field(key), quota.name, quantity
