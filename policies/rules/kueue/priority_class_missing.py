from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.kueue_jobs import PRIORITY_CLASS, QUEUE_NAME
from policies.dialects.kueue_kinds import WORKLOAD_PRIORITY_CLASS
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Finding, NotEvaluated, kind_field, write_only
from policies.model.objects import Ref
from policies.model.suggestion import write_or_create
from policies.rules.kueue._submissions import LABELLED, NamedQueues, labelled


@rule(
    "priority-class-missing",
    source="Kueue: a job's WorkloadPriorityClass is read before its Workload is made",
    kinds=LABELLED,
    default=Action.WARN,
)
def priority_class_missing(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A job, a Pod or the jobTemplate of a CronJob names a WorkloadPriorityClass that does not exist.

    Why it is reported: Kueue accepts the job, but creates no Workload for it until the class exists. So the job waits
    and is in no list of Workloads. It is a warning, since objects may be applied in any order. Files are judged only if
    they have a WorkloadPriorityClass. A job without a queue is not judged, since Kueue does not read its class.
    Example: `kueue.x-k8s.io/priority-class: prod-prority` where the class is called `prod-priority`.
    Fix: correct the name, or create the WorkloadPriorityClass.
    """
    known = NamedQueues(proposal)
    for each in labelled(proposal):
        name = each.new(PRIORITY_CLASS)
        wanted = Ref(*WORKLOAD_PRIORITY_CLASS, "", name)
        if not name or not each.now.get(QUEUE_NAME) or proposal.after.get(wanted) is not None:
            continue
        if missing := proposal.incomplete(WORKLOAD_PRIORITY_CLASS):
            yield missing
            return
        if known.of_files and not _any(proposal):
            yield NotEvaluated(
                "the files have no WorkloadPriorityClass, so the priority classes of jobs cannot be checked"
            )
            return
        field, near = fields.join(each.at, PRIORITY_CLASS), proposal.near(wanted)
        yield Finding(
            each.ref,
            field,
            f"WorkloadPriorityClass {name} does not exist, so {each.waits} without a Workload until it does",
            fix=write_or_create("WorkloadPriorityClass", name, near),
            patch=write_only(field, name, near),
            subject=name,
            profiles=STRICT_ONLY,
            follows=(kind_field(wanted),),
        )


def _any(proposal: Proposal) -> bool:
    return any(obj.ref.group_kind == WORKLOAD_PRIORITY_CLASS for obj in proposal.after.objects())
