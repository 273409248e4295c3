from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from policies.dialects import kueue_jobs as kueue
from policies.dialects import yunikorn, yunikorn_gangs
from policies.dialects.core import (
    APP_ID,
    NAMESPACE,
    VOLCANO_QUEUE,
    VOLCANO_SCHEDULER,
    YUNIKORN,
    YUNIKORN_QUEUE,
    Namespace,
    Pod,
)
from policies.dialects.kueue_jobs import QueuedJob
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.priority_class import ALLOW_PREEMPTION
from policies.dialects.yunikorn_work import CRON_JOB, JOB_LABELS, NO_TEMPLATE, OtherWork, WrittenTemplate
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Finding, rename
from policies.model.objects import GroupKind, KubeObject
from policies.model.suggestion import close, only
from policies.rules._pod_templates import MAKERS, templates

_OF_JOBS = (
    kueue.QUEUE_NAME,
    kueue.PRIORITY_CLASS,
    kueue.MAX_SECONDS,
    kueue.MIN_PARALLELISM,
    kueue.PREBUILT,
    kueue.POD_GROUP_SIZE,
)
_OF_YUNIKORN_PODS = (
    APP_ID,
    YUNIKORN_QUEUE,
    yunikorn.USER_INFO,
    yunikorn_gangs.TASK_GROUP,
    yunikorn_gangs.TASK_GROUPS,
    ALLOW_PREEMPTION,
    *(
        YUNIKORN + name
        for name in (
            "ignore-application",
            "parentqueue",
            "placeholder",
            "schedulingPolicyParameters",
            "scheduling-policy-parameters",
            "username",
        )
    ),
)
"""The labels and annotations of Pods that YuniKorn reads. Source: YuniKorn 1.9, k8shim `pkg/common/constants`."""
_NEAR = 0.9
"""The least similarity of the parts after the slash. No two keys of the projects are this similar."""
_LABELS_ONLY = (kueue.QUEUE_NAME, kueue.PRIORITY_CLASS, kueue.MAX_SECONDS)
"""The keys that Kueue reads from the labels of a job only; the queue since Kueue 0.15."""
_OF_PODS = (
    *kueue.TOPOLOGY_REQUESTS,
    f"{kueue.POD_SET_NOTES}slice-size",
    f"{kueue.POD_SET_NOTES}group-name",
    kueue.INDEX_OFFSET,
)
"""The keys that Kueue reads from the annotations of pod templates and Pods only."""
_JOB = GroupKind("batch", "Job")


@rule(
    "key-misspelt",
    source="Quotree: the three projects ignore keys that they do not know",
    kinds=(NAMESPACE, *MAKERS),
    default=Action.WARN,
    alone=True,
    no_cel="does no harm while the webhook is down",
)
def key_misspelt(proposal: Proposal) -> Iterator[Finding]:
    """A label or annotation is nearly one that YuniKorn or Kueue reads, or is where its project does not read it.

    Why it is reported: an unknown key is ignored without a message, so the quota or the queue that it should set does
    not exist. Only keys with the prefixes of the two projects, or with misspelt ones of these, are compared. Kueue
    reads the queue, the priority class and the time of a job from the labels of the job: not from annotations, nor
    from the pod template of a Job, nor from a CronJob, which does not give its labels to its Jobs. It reads topology
    requests from the annotations of the pod template only. Volcano reads the queue of a pod from an annotation; with a
    label, the pod is in the queue default.
    Example: `yunikorn.apache.org/namespace.qouta` on a Namespace; `kueue.x-k8s.io/queuename` on a Job;
    `yunikorn.apache.org/quue` on a Pod or in a pod template; `kueue.x-k8s.io/queue-name` in the labels of a CronJob.
    Fix: write the key that the message suggests, in the place that it names.
    """
    for old, namespace in proposal.changed(Namespace):
        known = old.annotations if old else {}
        yield from _near(
            namespace, "metadata.annotations", namespace.annotations, known, YUNIKORN, yunikorn.NAMESPACE_KEYS
        )
    for before, job in proposal.changed(QueuedJob):
        yield from _near(job, "metadata.labels", job.labels, before.labels if before else {}, PREFIX, _OF_JOBS)
        yield from _new(_misplaced(before), _misplaced(job))
        known = _notes_of_pods(before) if before else {}
        for pods in job.pod_sets:
            yield from _near(job, f"{pods.at}.metadata.annotations", pods.annotations, known, PREFIX, _OF_PODS)
    for was, pod in proposal.changed(Pod):
        yield from _near(pod, "metadata.labels", pod.labels, was.labels if was else {}, PREFIX, _OF_JOBS)
        known, read = was.annotations if was else {}, (kueue.POD_GROUP_SIZE, *_OF_PODS)
        yield from _near(pod, "metadata.annotations", pod.annotations, known, PREFIX, read)
    for old_work, work in proposal.changed(OtherWork):
        yield from _near(work, "metadata.labels", work.labels, old_work.labels if old_work else {}, PREFIX, _OF_JOBS)
        yield from _new(_misplaced(old_work), _misplaced(work))
        yield from _near(work, JOB_LABELS, work.job_labels, old_work.job_labels if old_work else {}, PREFIX, _OF_JOBS)
    for obj, earlier, written in templates(proposal):
        then = earlier or NO_TEMPLATE
        for (where, start), pairs, known in (
            (written.place("labels"), written.labels, then.labels),
            (written.place("annotations"), written.annotations, then.annotations),
        ):
            now, earlier_keys = ({f"{start}{key}": value for key, value in each.items()} for each in (pairs, known))
            read = tuple(f"{start}{key}" for key in _OF_YUNIKORN_PODS)
            yield from _near(obj, where, now, earlier_keys, f"{start}{YUNIKORN}", read)
        yield from _new(_unread_by_volcano(obj, then), _unread_by_volcano(obj, written))


def _new(before: Mapping[str, Finding], now: Mapping[str, Finding]) -> Iterator[Finding]:
    return (finding for field, finding in now.items() if field not in before)


def _misplaced(work: QueuedJob | OtherWork | None) -> dict[str, Finding]:
    """A finding for each field with a key that Kueue does not read there, and that is absent where Kueue reads it."""
    if isinstance(work, QueuedJob):
        places = [("metadata.annotations", work.annotations, "Kueue reads it from labels, not from annotations")]
        if work.ref.group_kind == _JOB:
            reason = "Kueue reads it from the Job, not from its pods"
            places += [(fields.join(each.at, "labels"), each.labels, reason) for each in work.templates]
        return _unread(work, _LABELS_ONLY, places, work.labels, "metadata.labels") | _beside_pods(work)
    if work is not None and work.ref.group_kind == CRON_JOB:
        places = [("metadata.labels", work.labels, "a CronJob does not give its own labels to its Jobs")]
        return _unread(work, _LABELS_ONLY, places, work.job_labels, JOB_LABELS)
    return {}


def _unread_by_volcano(obj: KubeObject, pods: WrittenTemplate) -> dict[str, Finding]:
    """The finding for the queue in a label of pods of Volcano's scheduler; they go to the queue default then."""
    if pods.scheduler_name != VOLCANO_SCHEDULER or pods.conf:
        return {}
    places = [(fields.join(pods.at, "labels"), pods.labels, "Volcano reads it from annotations, not from labels")]
    return _unread(obj, (VOLCANO_QUEUE,), places, pods.annotations, fields.join(pods.at, "annotations"))


def _beside_pods(job: QueuedJob) -> dict[str, Finding]:
    """The findings for keys of `_OF_PODS`."""
    reason = "Kueue reads it from the annotations of the pods"
    places = [("metadata.annotations", job.annotations, reason), ("metadata.labels", job.labels, reason)]
    places += [(fields.join(each.at, "labels"), each.labels, reason) for each in job.templates]
    alone = len(job.pod_sets) == 1
    right = (
        f"{job.pod_sets[0].at}.metadata.annotations"
        if alone
        else "metadata.annotations of the pod templates that need it"
    )
    return _unread(job, _OF_PODS, places, _notes_of_pods(job), right) if job.pod_sets else {}


def _notes_of_pods(job: QueuedJob) -> dict[str, str]:
    return {key: value for pods in job.pod_sets for key, value in pods.annotations.items()}


def _unread(
    work: KubeObject,
    keys: Sequence[str],
    places: Sequence[tuple[str, Mapping[str, str], str]],
    read: Mapping[str, str],
    right: str,
) -> dict[str, Finding]:
    """A finding for each key in one of these places, which are (path, content, reason), that is not in `read`.

    `right`: the path of `read`.
    """
    return {
        (field := fields.join(where, key)): Finding(
            work.ref,
            field,
            f"has no effect for the {work.ref.kind}: {reason}",
            fix=f"write it in {right}",
            profiles=STRICT_ONLY,
        )
        for where, pairs, reason in places
        for key in keys
        if key in pairs and key not in read
    }


def _near(
    obj: KubeObject, where: str, now: Mapping[str, str], before: Mapping[str, str], prefix: str, read: tuple[str, ...]
) -> Iterator[Finding]:
    """Findings for new keys that are not read, but are similar to a key that is."""
    for key in now:
        if key in read or key in before:
            continue
        if not key.startswith(prefix):
            yield from _near_prefix(obj, fields.join(where, key), key, prefix, read)
            continue
        by_lower, wrong = {each.removeprefix(prefix).lower(): each for each in read}, key.removeprefix(prefix).lower()
        slip = only(wrong, by_lower)
        longer = (each for each in by_lower if wrong.startswith(f"{each}-"))  # such as queue-name, as Volcano calls it
        near = close(wrong, by_lower, _NEAR) or slip or next(longer, None)
        if near:
            field = fields.join(where, key)
            certain = near == slip and by_lower[near] not in now
            yield Finding(
                obj.ref,
                field,
                f"{key} is not read by anything",
                fix=f"did you mean {by_lower[near]}?",
                patch=rename(field, by_lower[near]) if certain else (),
                profiles=STRICT_ONLY,
            )


def _near_prefix(obj: KubeObject, field: str, key: str, prefix: str, read: tuple[str, ...]) -> Iterator[Finding]:
    """A finding if a key has a known name, but a misspelling of this prefix."""
    domain, slash, name = key.partition("/")
    meant, project = f"{prefix}{name}", prefix.partition(".")[0]
    if slash and meant in read and (domain.startswith(f"{project}.") or only(domain, [prefix.removesuffix("/")])):
        message = f"{key} is not read by anything: the prefix is {prefix}"
        yield Finding(
            obj.ref, field, message, fix=f"did you mean {meant}?", patch=rename(field, meant), profiles=STRICT_ONLY
        )
