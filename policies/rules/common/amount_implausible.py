from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from policies.amounts.requests import readable
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, WORKLOAD, QuotaNode
from policies.dialects.kueue_jobs import KINDS, QueuedJob
from policies.dialects.kueue_workload import Workload
from policies.dialects.reading import listing, mapping
from policies.dialects.volcano import QUEUE, Queue
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import BOTH, STRICT_ONLY, Action, Finding
from policies.model.objects import Ref
from policies.model.quantity import Quantity

_BYTES = ("memory", "ephemeral-storage")
_FEW = 1024  # bytes; nothing runs in less
_LARGE = ("i", "M", "G", "T", "P", "E")
"""How suffixes end that no number of cores has."""
_UNIT = 10**9


@rule(
    "amount-implausible",
    source="Quotree; Kubernetes: extended resources come in whole units",
    kinds=(COHORT, CLUSTER_QUEUE, QUEUE, WORKLOAD, *KINDS),
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
    for ref, at, resource, quantity, of_pod in _amounts(proposal):
        if doubt := _doubt(resource, quantity, of_pod):
            message, fix = doubt
            refused = of_pod and _is_device(resource)
            yield Finding(
                ref,
                at,
                message,
                fix=fix,
                subject=resource,
                profiles=BOTH if refused else STRICT_ONLY,
                action=Action.DENY if refused else None,
            )


class _Amount(NamedTuple):
    ref: Ref
    field: str
    resource: str
    quantity: Quantity
    of_pod: bool


def _amounts(proposal: Proposal) -> Iterator[_Amount]:
    """The amounts of the objects whose amounts are new."""
    for before, node in proposal.changed(QuotaNode):
        if before is None or before.groups != node.groups:
            yield from _of_node(node)
    for was, queue in proposal.changed(Queue):
        if was is None or (was.capability, was.deserved, was.guarantee) != _three(queue):
            for field, amounts in zip(("capability", "deserved", "guarantee.resource"), _three(queue), strict=True):
                for resource, quantity in amounts.items():
                    yield _Amount(queue.ref, fields.join(f"spec.{field}", resource), resource, quantity, False)
    for old, job in proposal.changed(QueuedJob):
        if old is None or old.pod_sets != job.pod_sets:
            for pods in job.pod_sets:
                yield from _of_template(job.ref, pods.at, pods.template)
    for prior, workload in proposal.changed(Workload):
        if prior is None or prior.pod_sets != workload.pod_sets:
            for pod_set in workload.pod_sets:
                template = mapping(pod_set.content.get("template"))
                yield from _of_template(workload.ref, f"{pod_set.field}.template", template)


def _three(queue: Queue) -> tuple[Mapping[str, Quantity], ...]:
    return queue.capability, queue.deserved, queue.guarantee


def _of_node(node: QuotaNode) -> Iterator[_Amount]:
    for _, quota in node.quotas():
        keys = ("nominalQuota", "borrowingLimit", "lendingLimit")
        for key, quantity in zip(keys, (quota.nominal, quota.borrowing_limit, quota.lending_limit), strict=True):
            if quantity is not None:
                yield _Amount(node.ref, quota.field(key), quota.name, quantity, False)


def _of_template(ref: Ref, at: str, template: Mapping[str, Any]) -> Iterator[_Amount]:
    spec = mapping(template.get("spec"))
    for part in ("initContainers", "containers"):
        for index, container in enumerate(listing(spec.get(part))):
            resources = mapping(mapping(container).get("resources"))
            for key in ("requests", "limits"):
                for resource, quantity in readable(resources.get(key)).items():
                    field = fields.join(at, "spec", part, index, "resources", key, resource)
                    yield _Amount(ref, field, resource, quantity, True)


def _doubt(resource: str, quantity: Quantity, of_pod: bool) -> tuple[str, str] | None:
    """What is wrong and the cure; None for nearly every amount."""
    text, nano = quantity.text, quantity.nano
    if resource in _BYTES or resource.startswith("hugepages-"):
        if nano % _UNIT:
            return f"{resource}={text} is a fraction of a byte: {text[-1]} is no unit of bytes", _bytes(text)
        if 0 < nano < _FEW * _UNIT:
            return f"{resource}={text} is {nano // _UNIT} bytes", _bytes(text)
    elif resource == "cpu":
        if text.endswith(_LARGE):
            return f"cpu={text} is {nano // _UNIT} cores", "write cores, such as 4, or thousandths, such as 500m"
    elif nano % _UNIT and _is_device(resource):
        counted = "the API server refuses such Pods" if of_pod else f"Kueue counts {-(-nano // _UNIT)}"
        return f"{resource}={text} is a fraction, and devices come whole: {counted}", "write a whole number"
    return None


def _bytes(text: str) -> str:
    number = text.rstrip("numkKMGTPEi")
    return f"write {number}Mi or {number}Gi if that was meant"


def _is_device(resource: str) -> bool:
    return "/" in resource and "kubernetes.io/" not in resource
