from __future__ import annotations

from collections.abc import Iterator

from policies.dialects import yunikorn
from policies.dialects.core import POD, Pod, namespace_in
from policies.dialects.yunikorn_config.configmap import tree
from policies.dialects.yunikorn_config.model import amounts
from policies.dialects.yunikorn_config.placement import ConfiguredPartition, ReportedApplication, placed
from policies.dialects.yunikorn_config.quotas import queue_amount
from policies.dialects.yunikorn_config.resources import YuniKornAmounts, over
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding, NotEvaluated
from policies.rules.yunikorn._namespace_shares import Declared, declared
from policies.rules.yunikorn._queue_config import submitter, tags

_NAMES = {yunikorn.VCORE: "cpu"}


@rule(
    "pod-exceeds-queue",
    source="YuniKorn: headroom of a queue; the pod stays Pending, NotEnoughQueueQuota",
    kinds=(POD,),
    default=Action.WARN,
)
def pod_exceeds_queue(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Pod requests more than its queue of YuniKorn could ever give, even when nothing else runs.

    Why it is reported: YuniKorn accepts the Pod and lets it wait forever. The Pod's requests, with init containers,
    sidecars and overhead, are compared with the max of each queue on its path. If a placement rule creates the queue,
    they are also compared with the quota of the Namespace. A resource that a queue does not limit is not compared.
    Example: a Pod that requests 8 cpu in a namespace with `namespace.quota: '{"cpu":"4"}'`.
    Fix: request less, or have the quota or the queue's max raised.
    """
    new = [pod for before, pod in proposal.changed(Pod) if before is None and pod.asks]
    namespace = proposal.configuration.yunikorn.namespace
    text = tree(proposal.after, namespace).text if new else None
    known = declared(text) if text else None
    if known is None:
        if new:
            yield NotEvaluated(f"YuniKorn's queue configuration in namespace {namespace} is not known")
        return
    for pod in new:
        for whose, most in _limits(proposal, pod, known):
            for kind in over(pod.asks, most):
                yield _finding(pod, kind, whose, most[kind])


def _limits(proposal: Proposal, pod: Pod, known: Declared) -> Iterator[tuple[str, YuniKornAmounts]]:
    """The name and amounts of each limit for the pod; none if its queue is not known. Only zeros mean no limit."""
    namespace = namespace_in(proposal.after, pod.ref.namespace)
    user, groups = submitter(proposal, pod)
    labels = tags(namespace) if namespace else {"namespace": pod.ref.namespace}
    application = ReportedApplication(pod.yunikorn_queue or "", user, groups, labels)
    placement = placed(known.partition.rules, ConfiguredPartition(known.partition), application)
    for queue in known.above(placement.queue.lower()):
        most = amounts(queue.maximum)
        if any(most.values()):
            yield f"the max of queue {queue.path}", most
    if placement.created and namespace:
        namespace = yunikorn.as_read(namespace, proposal.configuration.yunikorn.version)
        yield f"the quota of namespace {namespace.ref.name}", yunikorn.quota(namespace) or {}


def _finding(pod: Pod, kind: str, whose: str, most: int) -> Finding:
    wanted, limit, resource = queue_amount(kind, pod.asks[kind]), queue_amount(kind, most), _NAMES.get(kind, kind)
    return Finding(
        pod.ref,
        "spec.containers",
        f"the pod requests {resource}={wanted}, but {whose} is {limit}: it would wait forever",
        fix=f"request {resource}={limit} or less in all, or have {whose} raised to {wanted}",
        subject=f"{kind} of {whose}",
        excess=pod.asks[kind] - most,
        profiles=STRICT_ONLY,
    )
