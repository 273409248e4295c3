from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from policies.dialects.volcano import POD_GROUP, QUEUE, Queue, VolcanoJob, WrittenPodGroup, exists
from policies.judging.rule import Proposal, rule
from policies.model.findings import (
    BOTH,
    COMPAT_ONLY,
    STRICT_ONLY,
    Finding,
    NotEvaluated,
    Profile,
    kind_field,
    write_only,
)
from policies.model.objects import Attached, Ref
from policies.model.suggestion import did_you_mean
from policies.rules._volcano_work import WORK, submitted


@rule(
    "queue-not-open",
    source="Volcano's webhooks jobs/validate and podgroups/validate: state of the queue",
    kinds=WORK,
)
def queue_not_open(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """Work is submitted to a Volcano queue that is closed, closing or does not exist.

    Why it is refused: nothing new is scheduled in such a queue, so the work would wait without a message. A Deployment,
    or another workload whose pod template has the annotation `scheduling.volcano.sh/queue-name`, is work, too. So is a
    SparkApplication with `batchScheduler: volcano`. A queue without a state counts as open, although Volcano's own
    webhook refuses work there. Files are judged only if they have a Queue, since files with only jobs do not describe
    queues.
    Example: a PodGroup with `queue: batch` while `kubectl get queue batch` shows `Closed`.
    Fix: open the queue (`vcctl queue operate --action open`), or name another.
    """
    for work, ref, created in submitted(proposal):
        queue = proposal.after.node(ref)
        profiles = _profiles(work, created)
        if isinstance(queue, Queue):
            yield from _closed(work, queue, profiles, is_new=proposal.before.node(ref) is None)
        elif ref.group_kind != QUEUE or exists(proposal.after, ref):
            continue  # not Volcano's, or the scheduler creates it
        elif missing := proposal.incomplete(QUEUE):
            yield missing
        elif proposal.unknown(POD_GROUP) and not proposal.holds(Queue):
            yield NotEvaluated("the files have no Queue, so the queue names of work cannot be checked")
            return
        else:
            near = proposal.near(ref)
            fix = did_you_mean(near) if near else f"create queue {ref.name} or name another"
            finding = _finding(work, ref, "does not exist", fix, profiles)
            yield replace(finding, patch=write_only(work.queue_field, ref.name, near))


def _profiles(work: Attached, created: bool) -> frozenset[Profile]:
    """The profiles in which the finding counts. Volcano checks only new Jobs, and new PodGroups that name a queue."""
    names_one = isinstance(work, VolcanoJob) or (isinstance(work, WrittenPodGroup) and work.written_queue is not None)
    return BOTH if created and names_one else STRICT_ONLY


def _closed(work: Attached, queue: Queue, profiles: frozenset[Profile], is_new: bool) -> Iterator[Finding]:
    """Findings about the state of the queue. A queue that is created with its work (`is_new`) gets its state before the
    work needs it."""
    if not queue.is_open:
        fix = f"open queue {queue.name} or name another"
        yield _finding(work, queue.ref, f"is {queue.state}, so it takes no new work", fix, profiles)
    elif queue.state == "" and profiles == BOTH and not is_new:
        yield _finding(work, queue.ref, "has no state yet", "wait until Volcano has opened it", COMPAT_ONLY)


def _finding(work: Attached, queue: Ref, what: str, fix: str, profiles: frozenset[Profile]) -> Finding:
    return Finding(
        work.ref,
        work.queue_field,
        f"queue {queue.name} {what}",
        fix=fix,
        subject=queue.name,
        profiles=profiles,
        follows=(kind_field(queue),),
    )
