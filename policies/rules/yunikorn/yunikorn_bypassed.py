from __future__ import annotations

from collections.abc import Iterator

from policies.dialects import yunikorn
from policies.dialects.core import NAMESPACE, POD, Namespace, namespace_in
from policies.dialects.yunikorn_config.model import RECOVERY
from policies.dialects.yunikorn_config.placement import RECOVERY_QUEUE
from policies.dialects.yunikorn_work import NO_TEMPLATE, WrittenTemplate
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding, NotEvaluated
from policies.model.objects import KubeObject
from policies.mutation.yunikorn_admission import Filters
from policies.rules._pod_templates import MAKERS, templates

_DEFAULT = NO_TEMPLATE.scheduler_name


@rule(
    "yunikorn-bypassed",
    source="YuniKorn: admission controller, pods labelled app: yunikorn; quota counts pods of its scheduler only",
    kinds=MAKERS,
    default=Action.WARN,
)
def yunikorn_bypassed(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Pod bypasses YuniKorn in a Namespace with a YuniKorn quota.

    Why it is reported: YuniKorn charges only the pods of its own scheduler. Its admission controller ignores Pods
    with the label `app: yunikorn`, so anyone who sets it escapes the quota. A Pod of another scheduler takes room
    on the nodes that no queue accounts for. The queue `root.@recovery@` is for applications that ran before a
    restart and has no quota, but a `provided` rule with `create: true` places any Pod there that requests it. The
    rule covers Namespaces that YuniKorn processes and that have a YuniKorn quota, a `parentqueue` or
    `namespace.enableYuniKorn: "true"`. Set the rule to deny to close the gap.
    Example: a Pod with the label `app: yunikorn` in a namespace with `namespace.quota`.
    Fix: remove the label, the schedulerName or the queue, or run the Pod in a namespace without a YuniKorn quota.
    """
    filters: Filters | None = None
    for obj, before, after in templates(proposal):
        fault = _fault(obj, after)
        if fault is None or (before is not None and _fault(obj, before) == fault):
            continue
        namespace = namespace_in(proposal.after, obj.ref.namespace)
        if namespace is None:
            if proposal.unknown(NAMESPACE):
                yield NotEvaluated(f"Namespace {obj.ref.namespace} is not known")
            continue
        filters = filters or Filters.of(proposal.after, proposal.configuration.yunikorn.namespace)
        annotation = _given(namespace)
        if annotation and filters.processes(namespace.ref.name, yunikorn.enabled(namespace)):
            field, message, fix = fault
            yield Finding(
                obj.ref,
                field,
                f"{message}; {annotation} of namespace {namespace.ref.name} does not apply to it",
                fix=fix,
                profiles=STRICT_ONLY,
            )


def _fault(obj: KubeObject, pod: WrittenTemplate) -> tuple[str, str, str] | None:
    """The fault as (field, message, fix), or None. A scheduler in a template may still be replaced when the Pod is
    created."""
    asked = pod.annotations.get(yunikorn.QUEUE, "")
    if asked.lower() in (RECOVERY, RECOVERY_QUEUE) and not pod.labels.get(yunikorn.QUEUE):
        message = f"the pod requests {asked}, YuniKorn's queue for recovery, which has no quota"
        return pod.field("annotations", yunikorn.QUEUE), message, "request another queue"
    if pod.scheduler_name == yunikorn.SCHEDULER:
        return None
    if pod.labels.get("app") == yunikorn.SCHEDULER:
        message = f"the label app: yunikorn keeps the pod with {pod.scheduler_name}, and YuniKorn ignores it"
        return pod.field("labels", "app"), message, "give the label app another value"
    if pod.scheduler_name != _DEFAULT and obj.ref.group_kind == POD:
        message = f"the pod is scheduled by {pod.scheduler_name}, not by YuniKorn"
        fix = "remove schedulerName, or run the pod in a namespace without a YuniKorn quota"
        return pod.scheduler_field, message, fix
    return None


def _given(namespace: Namespace) -> str:
    """The annotation that puts the namespace under YuniKorn, for the message; empty if there is none."""
    found = next((key for key in yunikorn.QUOTA_KEYS if namespace.annotations.get(key)), "")
    return yunikorn.short(found or (yunikorn.ENABLE if yunikorn.enabled(namespace) else ""))
