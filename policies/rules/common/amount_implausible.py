from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from policies.dialects.core import POD, Pod
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, WORKLOAD, KueueNode
from policies.dialects.kueue_jobs import KINDS, QueuedJob
from policies.dialects.kueue_workload import WrittenWorkload
from policies.dialects.odd_amounts import OddAmount, misspelt, odd_in_pod, odd_quantity
from policies.dialects.reading import mapping
from policies.dialects.volcano import JOB, POD_GROUP, QUEUE, Queue, VolcanoJob, WrittenPodGroup
from policies.dialects.yunikorn_work import KINDS as WORK
from policies.dialects.yunikorn_work import OtherWork
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import BOTH, STRICT_ONLY, Action, Finding, Patch, rename, write
from policies.model.objects import KubeObject, Ref
from policies.model.quantity import Quantity

ObjectT = TypeVar("ObjectT", bound=KubeObject)
_WithOdd: TypeAlias = Pod | OtherWork | QueuedJob
"""The objects that have only their odd amounts, not the fields with all amounts."""


@rule(
    "amount-implausible",
    source="Quotree; Kubernetes: extended resources come in whole units",
    kinds=(COHORT, CLUSTER_QUEUE, QUEUE, WORKLOAD, JOB, POD_GROUP, POD, *dict.fromkeys((*KINDS, *WORK))),
    default=Action.WARN,
    alone=True,
    no_cel="does no harm while the webhook is down",
    denies_some=True,
)
def amount_implausible(proposal: Proposal) -> Iterator[Finding]:
    """An amount or a resource name is most likely a mistake.

    Why it is reported: `m` is a thousandth, so `memory: 36m` is less than a byte, and `cpu: 9Gi` is nine thousand
    million cores. The API server accepts both. It refuses Pods that request a fraction of a device or a resource such
    as `memroy`, so for Pods these are errors. So are requests above their limit, and devices whose request and limit
    differ. A device without a limit is a warning, because a LimitRange may set the limit. A Pod that requests
    `nvidia.com/gpus` waits for a device that no node has.
    The memory of a SparkApplication is written as for Java, where `512m` is 512 MiB, so it is not judged. The rule
    quota-without-effect judges YuniKorn's annotations.
    Example: `memory: 36m`; `nvidia.com/gpus: 1`; `cpu: 9Gi`; `nvidia.com/gpu: 500m` in a pod template.
    Fix: write the unit or the name that was meant: `36Mi`, `nvidia.com/gpu: 1`, `9`, `1`.
    """
    for ref, found in chain(_of_queues(proposal), _of_pods(proposal)):
        yield Finding(
            ref,
            found.field,
            found.message,
            fix=found.fix,
            subject=found.likely_name or found.resource,
            patch=_patch(found),
            profiles=BOTH if found.refused else STRICT_ONLY,
            action=Action.DENY if found.refused else None,
            follows=((ref, found.first or found.field),) if found.likely_name else (),
            concerns=((ref, found.field),) if found.likely_name and not found.first else (),
        )


def _patch(found: OddAmount) -> Patch:
    """The patch that writes the name that is meant: the key of an amount, or a name in a list of Kueue."""
    is_key = found.field.endswith((f".{found.resource}", f"[{found.resource}]"))
    return rename(found.field, found.likely_name) if is_key else write(found.field, found.likely_name or None)


def _of_queues(proposal: Proposal) -> Iterator[tuple[Ref, OddAmount]]:
    for node in _with_new(proposal, KueueNode, lambda node: node.groups):
        for at, resource, quantity in _quotas(node):
            if found := odd_quantity(at, resource, quantity, rounded_by="Kueue"):
                yield node.ref, found
        firsts: dict[str, str] = {}
        for at, resource in _names(node):
            if found := misspelt(at, resource):
                first = firsts.setdefault(resource, at)
                yield node.ref, found if first == at else found._replace(first=first)
    for queue in _with_new(proposal, Queue, _queue_amounts):
        for field, amounts in zip(("capability", "deserved", "guarantee.resource"), _queue_amounts(queue), strict=True):
            for found in _of_amounts(f"spec.{field}", amounts):
                yield queue.ref, found
    for group in _with_new(proposal, WrittenPodGroup, lambda group: group.minimum):
        if not group.made:
            for found in _of_amounts("spec.minResources", group.minimum):
                yield group.ref, found


def _of_amounts(at: str, amounts: Mapping[str, Quantity]) -> Iterator[OddAmount]:
    for resource, quantity in amounts.items():
        field = fields.join(at, resource)
        yield from filter(None, (odd_quantity(field, resource, quantity), misspelt(field, resource)))


def _of_pods(proposal: Proposal) -> Iterator[tuple[Ref, OddAmount]]:
    for ref, at, spec in _specs(proposal):
        for found in odd_in_pod(at, spec):
            yield ref, found
    objects: Iterator[_WithOdd] = chain(
        _with_new(proposal, Pod, _odd), _with_new(proposal, OtherWork, _odd), _with_new(proposal, QueuedJob, _odd)
    )
    for each in objects:
        for found in each.odd:
            yield each.ref, found


def _odd(obj: _WithOdd) -> tuple[OddAmount, ...]:
    return obj.odd


def _specs(proposal: Proposal) -> Iterator[tuple[Ref, str, Mapping[str, Any]]]:
    for job in _with_new(proposal, QueuedJob, lambda job: job.pod_sets):
        for pods in job.pod_sets:
            yield job.ref, f"{pods.at}.spec", mapping(pods.template.get("spec"))
    for workload in _with_new(proposal, WrittenWorkload, lambda workload: workload.pod_sets):
        for pod_set in workload.pod_sets:
            yield workload.ref, f"{pod_set.field}.template.spec", mapping(pod_set.template.get("spec"))
    for volcanos in _with_new(proposal, VolcanoJob, lambda job: [task.pod for task in job.spec.tasks]):
        for task in volcanos.spec.tasks:
            yield volcanos.ref, f"{task.field}.template.spec", task.pod


def _with_new(proposal: Proposal, kind: type[ObjectT], part: Callable[[ObjectT], object]) -> Iterator[ObjectT]:
    """The objects of this type that are new, or in which this part is new."""
    for before, now in proposal.changed(kind):
        if before is None or part(before) != part(now):
            yield now


def _queue_amounts(queue: Queue) -> tuple[Mapping[str, Quantity], ...]:
    return queue.capability, queue.deserved, queue.guarantee


def _names(node: KueueNode) -> Iterator[tuple[str, str]]:
    """All names of resources, each with its field."""
    for group in node.groups:
        yield from ((group.covered_field(index), name) for index, name in enumerate(group.covered_resources))
    yield from ((quota.field("name"), quota.name) for _, quota in node.quotas())


def _quotas(node: KueueNode) -> Iterator[tuple[str, str, Quantity]]:
    """All amounts, each with its field and resource."""
    for _, quota in node.quotas():
        keys = ("nominalQuota", "borrowingLimit", "lendingLimit")
        for key, quantity in zip(keys, (quota.nominal, quota.borrowing_limit, quota.lending_limit), strict=True):
            if quantity is not None:
                yield quota.field(key), quota.name, quantity
