from __future__ import annotations

from collections.abc import Iterator, Sequence

from policies.dialects import yunikorn
from policies.dialects.core import POD, Pod, namespace_in
from policies.dialects.yunikorn_config.model import ROOT, Partition
from policies.dialects.yunikorn_config.placement import (
    ConfiguredPartition,
    OpenPartition,
    QueuePlacement,
    ReportedApplication,
    placed,
)
from policies.dialects.yunikorn_config.placement_checks import TAG, USER
from policies.dialects.yunikorn_config.structure import name_fits
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Finding, NotEvaluated, write_only
from policies.model.suggestion import did_you_mean
from policies.rules.yunikorn._queue_config import leaves, partition, submitter, tags, unfiltered

_NOBODY = NotEvaluated("the user who submits the Pod is not known")
_DEFAULTED = frozenset(["", "namespace"])


@rule(
    "placement-rejected",
    source="YuniKorn: placement rules; a rejected application's pods fail with ApplicationRejected",
    kinds=(POD,),
)
def placement_rejected(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """YuniKorn would reject the Pod's application, since no placement rule returns a queue for it.

    Why it is refused: YuniKorn accepts the Pod and lets it fail later, with a truncated message. The queue must be a
    leaf that exists or that a rule creates, and the user must be allowed to submit to it. A queue that was removed from
    queues.yaml takes no new applications. Queues that placement rules have created are not known here. So a Pod is not
    judged if it may go to such a queue, or if its application already has pods. If the user is not known, as in files,
    a Pod is refused only if its queue takes applications of no user.
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
    asked = pod.yunikorn_queue or ""
    if not user and not asked:
        yield _NOBODY
        return
    namespace = namespace_in(proposal.after, pod.ref.namespace)
    if namespace is None and _reads_annotations(queues):
        yield NotEvaluated(f"Namespace {pod.ref.namespace} is not known")
        return
    labels = tags(namespace) if namespace else {"namespace": pod.ref.namespace}
    application = ReportedApplication(asked, user, groups, labels)
    placement = (
        placed(queues.rules, ConfiguredPartition(queues), application) if user else _for_any_user(queues, application)
    )
    if placement.queue:
        if not user:
            yield _NOBODY
        return
    if not placement.decided:
        yield NotEvaluated(placement.reason)
    elif _may_be_dynamic(queues, asked):
        yield NotEvaluated(f"whether a placement rule has created {asked} is not known")
    else:
        yield _finding(pod, placement, queues, asked, user, _meant(proposal, queues, asked))


def _for_any_user(queues: Partition, application: ReportedApplication) -> QueuePlacement:
    """The placement for some user. It is a rejection if the application of every user is rejected."""
    if any(link.kind == USER for rule in queues.rules for link in rule.chain()):
        return QueuePlacement(reason=_NOBODY.reason, decided=False)
    rules, everything = [unfiltered(rule) for rule in queues.rules], OpenPartition(queues)
    alone = (placed([rule], everything, application) for rule in rules)  # filters may skip all other rules
    possible = next((placement for placement in alone if placement.queue or not placement.decided), None)
    return possible or placed(rules, everything, application)


def _reads_annotations(queues: Partition) -> bool:
    links = (link for rule in queues.rules for link in rule.chain())
    values = {link.value.text.lower() for link in links if link.kind == TAG}
    return bool(values - _DEFAULTED)


def _may_be_dynamic(queues: Partition, asked: str) -> bool:
    """Whether a rule may have created the requested queue for another application."""
    creating = any(link.create for rule in queues.rules for link in rule.chain())
    path = _path(asked)
    possible = bool(asked) and all(map(name_fits, path.split(".")))  # no rule creates a queue with another name
    return possible and creating and queues.queue(path) is None and not _is_below_leaf(queues, path)


def _is_below_leaf(queues: Partition, path: str) -> bool:
    """Whether an ancestor is a declared leaf, below which no queue is created."""
    steps = path.split(".")
    above = (queues.queue(".".join(steps[:length])) for length in range(1, len(steps)))
    found = next((queue for queue in above if queue is None or queue.is_leaf), None)
    return found is not None


def _finding(
    pod: Pod, placement: QueuePlacement, queues: Partition, asked: str, user: str, near: Sequence[str]
) -> Finding:
    reasons = "; ".join([*placement.passed, placement.reason])
    whose = f"the application of {user}" if user else "every application"
    named = f" in {asked}" if asked else ""
    lacking = "" if not asked or queues.queue(_path(asked)) else ", which does not exist"
    label = f"set the label {yunikorn.QUEUE} to a leaf queue where {user or 'you'} may submit"
    return Finding(
        pod.ref,
        _field(pod),
        f"YuniKorn would reject {whose}{named}{lacking}: {reasons}",
        fix=did_you_mean(near) if near else label,
        patch=write_only(_field(pod), asked, near),
        subject=asked,
        profiles=STRICT_ONLY,
    )


def _path(asked: str) -> str:
    return asked if asked.startswith(f"{ROOT}.") else f"{ROOT}.{asked}"


def _meant(proposal: Proposal, queues: Partition, asked: str) -> list[str]:
    """The declared leaves that may be meant, each as the Pod has to write it.

    A name of several levels must begin with root: the dots in `team.a` are part of the name.
    """
    path = _path(asked)
    if path != asked and "." in asked and (leaf := queues.queue(path)) is not None and leaf.is_leaf:
        return [leaf.path]
    near = leaves(proposal).near(path) if asked else []
    return [leaf if path == asked or leaf.count(".") > 1 else leaf.removeprefix(f"{ROOT}.") for leaf in near]


def _field(pod: Pod) -> str:
    """The field with the queue that counts."""
    if not pod.labels.get(yunikorn.QUEUE) and pod.annotations.get(yunikorn.QUEUE):
        return yunikorn.field(yunikorn.QUEUE)
    bare = not pod.labels.get(yunikorn.QUEUE) and pod.labels.get("queue")
    return yunikorn.label_field("queue" if bare else yunikorn.QUEUE)
