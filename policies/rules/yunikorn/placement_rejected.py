from __future__ import annotations

from collections.abc import Iterator

from policies.dialects import yunikorn
from policies.dialects.core import NAMESPACE, POD, Namespace, Pod
from policies.dialects.yunikorn_config import Partition, ReportedApplication
from policies.dialects.yunikorn_config.placement import ConfiguredPartition, QueuePlacement, placed
from policies.dialects.yunikorn_config.structure import name_fits
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model.findings import STRICT_ONLY, Finding, NotEvaluated
from policies.model.objects import Ref
from policies.rules.yunikorn._yunikorn_tree import partition, submitter, tags

_DEFAULTED = frozenset(["", "namespace"])


@rule(
    "placement-rejected",
    source="YuniKorn: placement rules; a rejected application's pods fail with ApplicationRejected",
    kinds=(POD,),
)
def placement_rejected(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """YuniKorn would reject the Pod's application, since no placement rule gives it a queue.

    Why it is refused: YuniKorn accepts the Pod and lets it fail later, with a truncated message. A queue must be a leaf
    that exists, or that a rule creates, and the user must be allowed to submit to it. A queue that was removed from
    queues.yaml takes no new applications. Queues that placement rules have created are not known here: a Pod that may
    go to one of them is not judged, and neither is one whose application already has pods.
    Example: the label `yunikorn.apache.org/queue: root.production` where `root.production` has `parent: true`.
    Fix: name a leaf where the user may submit; the message says for each placement rule why it did not match.
    """
    new = [pod for before, pod in proposal.changed(Pod) if before is None and pod.scheduler_name == yunikorn.SCHEDULER]
    queues = partition(proposal) if new else None
    if queues is None or isinstance(queues, NotEvaluated):
        yield from [queues] if queues else []
        return
    for pod in new:
        if pod.application is None or not proposal.before.count_users(pod.application):
            yield from _judged(proposal, pod, queues)


def _judged(proposal: Proposal, pod: Pod, queues: Partition) -> Iterator[Finding | NotEvaluated]:
    user, groups = submitter(proposal, pod)
    if not user:
        yield NotEvaluated("who submits the Pod is not known")
        return
    namespace = proposal.after.get(Ref(*NAMESPACE, "", pod.ref.namespace))
    if not isinstance(namespace, Namespace) and _reads_annotations(queues):
        yield NotEvaluated(f"Namespace {pod.ref.namespace} is not known")
        return
    labels = tags(namespace) if isinstance(namespace, Namespace) else {"namespace": pod.ref.namespace}
    asked = yunikorn.queue_of(pod) or ""
    placement = placed(queues.rules, ConfiguredPartition(queues), ReportedApplication(asked, user, groups, labels))
    if placement.queue:
        return
    if not placement.decided:
        yield NotEvaluated(placement.reason)
    elif _may_be_dynamic(queues, asked):
        yield NotEvaluated(f"whether a placement rule has created {asked} is not known")
    else:
        yield _finding(pod, placement, asked, user)


def _reads_annotations(queues: Partition) -> bool:
    values = {
        link.value.text.strip().lower() for rule in queues.rules for link in rule.chain() if _is_tag(link.name.text)
    }
    return bool(values - _DEFAULTED)


def _is_tag(name: str) -> bool:
    return name.strip().lower() == "tag"


def _may_be_dynamic(queues: Partition, asked: str) -> bool:
    """Whether a rule may have created the queue that the pod names, for another application."""
    creating = any(link.create for rule in queues.rules for link in rule.chain())
    path = asked if asked.startswith("root.") else f"root.{asked}"
    possible = bool(asked) and all(map(name_fits, path.split(".")))  # no rule creates a queue with another name
    return possible and creating and queues.queue(path) is None


def _finding(pod: Pod, placement: QueuePlacement, asked: str, user: str) -> Finding:
    reasons = "; ".join([*placement.passed, placement.reason])
    named = f" in {asked}" if asked else ""
    return Finding(
        pod.ref,
        _field(pod),
        f"YuniKorn would reject the application of {user}{named}: {reasons}",
        fix=f"set the label {yunikorn.QUEUE} to a leaf queue where {user} may submit",
        subject=asked,
        profiles=STRICT_ONLY,
    )


def _field(pod: Pod) -> str:
    """The field whose queue counts."""
    if not pod.labels.get(yunikorn.QUEUE) and pod.annotations.get(yunikorn.QUEUE):
        return yunikorn.field(yunikorn.QUEUE)
    bare = not pod.labels.get(yunikorn.QUEUE) and pod.labels.get("queue")
    return yunikorn.label_field("queue" if bare else yunikorn.QUEUE)
