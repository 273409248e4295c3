from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import NAMESPACE
from policies.dialects.kueue import LOCAL_QUEUE, LocalQueue
from policies.dialects.kueue_jobs import QUEUE_NAME
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Finding, NotEvaluated, Patch, kind_field, write_only
from policies.model.objects import Ref
from policies.model.suggestion import KnownNames, did_you_mean, is_slip
from policies.rules.kueue._submissions import LABELLED, Labelled, NamedQueues, labelled


@rule(
    "local-queue-missing",
    source="Kueue: Workload condition QuotaReserved, reason Inadmissible, LocalQueue doesn't exist",
    kinds=LABELLED,
    default=Action.WARN,
)
def local_queue_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A job, a Pod or the jobTemplate of a CronJob names a LocalQueue that does not exist.

    Why it is reported: Kueue accepts the job and lets it wait until the LocalQueue exists in its namespace. The only
    sign of a typo is work that never starts. It is a warning, since objects may be applied in any order. Files are
    judged only if they have a LocalQueue, since a repository with only jobs does not describe queues. A manifest in
    files without a namespace may be applied in any namespace, so for it a LocalQueue of this name in any namespace is
    enough.
    Example: `kueue.x-k8s.io/queue-name: user-queu` where the LocalQueue is called `user-queue`.
    Fix: correct the name or the namespace, or create the LocalQueue in the namespace of the job.
    """
    known = NamedQueues(proposal)
    for each in labelled(proposal):
        job, queue = each.ref, each.new(QUEUE_NAME)
        if not queue or isinstance(proposal.after.get(LOCAL_QUEUE.named(queue, job.namespace)), LocalQueue):
            continue
        if missing := proposal.incomplete(LOCAL_QUEUE):
            yield missing
            return
        if known.of_files and not known.namespaces:
            yield NotEvaluated("the files have no LocalQueue, so the queue names of jobs cannot be checked")
            return
        if not (known.may_be_elsewhere(job.namespace) and queue in known.namespaces):
            yield _missing(known, each, queue)


def _missing(known: NamedQueues, each: Labelled, queue: str) -> Finding:
    job, field = each.ref, fields.join(each.at, QUEUE_NAME)
    where = f" in namespace {job.namespace}"
    elsewhere = known.namespaces.get(queue, []) if known.of_files else []
    meant = [other for other in elsewhere if is_slip(job.namespace, other)]
    near = _near(known, job, queue)
    if near:
        fix, patch = did_you_mean(near), write_only(field, queue, near)
    elif meant:
        fix, patch = did_you_mean([f"namespace {other}" for other in meant]), _moved(known.proposal, job, meant)
    else:
        move = f"write namespace {min(elsewhere)}, or " if elsewhere else ""
        fix, patch = f"{move}create LocalQueue {queue}{where}", ()
    there = f"; namespace {min(meant or elsewhere)} has one of that name" if elsewhere else ""
    return Finding(
        job,
        field,
        f"LocalQueue {queue} does not exist{where}, so {each.waits} until it does{there}",
        fix=fix,
        patch=patch,
        subject=queue,
        profiles=STRICT_ONLY,
        follows=(
            kind_field(LOCAL_QUEUE.named(queue, job.namespace)),
            *((LOCAL_QUEUE.named(queue, other), "metadata.namespace") for other in meant),
        ),
    )


def _moved(proposal: Proposal, job: Ref, namespaces: list[str]) -> Patch:
    """The patch with the only namespace that may be meant; empty if the job's own namespace is known to exist."""
    exists = proposal.after.get(Ref(*NAMESPACE, "", job.namespace)) is not None
    return () if exists else write_only("metadata.namespace", job.namespace, namespaces)


def _near(known: NamedQueues, job: Ref, queue: str) -> list[str]:
    near = known.proposal.near(LOCAL_QUEUE.named(queue, job.namespace))
    if not near and known.may_be_elsewhere(job.namespace):
        return KnownNames(known.namespaces).near(queue)
    return near
