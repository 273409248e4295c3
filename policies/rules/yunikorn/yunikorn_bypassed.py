from __future__ import annotations

from collections.abc import Iterator

from policies.dialects import yunikorn
from policies.dialects.core import NAMESPACE, POD, Namespace
from policies.dialects.yunikorn_work import NO_TEMPLATE, PodTemplate
from policies.judging.proposal import Proposal
from policies.judging.rule import rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Finding, NotEvaluated
from policies.model.objects import KubeObject
from policies.mutation.yunikorn_admission import Filters
from policies.rules.yunikorn._pod_templates import MAKERS, namespace_of, templates

_GIVING = (
    yunikorn.QUOTA,
    yunikorn.GUARANTEED,
    yunikorn.MAX_CPU,
    yunikorn.MAX_MEMORY,
    yunikorn.MAX_APPS,
    yunikorn.PARENT_QUEUE,
)
_DEFAULT = NO_TEMPLATE.scheduler_name


@rule(
    "yunikorn-bypassed",
    source="YuniKorn: admission controller, pods labelled app: yunikorn; quota counts pods of its scheduler only",
    kinds=MAKERS,
    default=Action.WARN,
)
def yunikorn_bypassed(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Pod runs beside YuniKorn in a Namespace that has quota there.

    Why it is told: YuniKorn charges only the pods of its own scheduler. Its admission controller leaves every Pod alone
    that is labelled `app: yunikorn`, so this label lifts the quota for whoever sets it; a Pod of another scheduler
    takes room on the nodes that no queue accounts for. Only Namespaces that YuniKorn processes are looked at, and of
    these those that have its quota, its `parentqueue` or `namespace.enableYuniKorn: "true"`. Set the rule to deny to
    close the gap.
    Example: a Pod with the label `app: yunikorn` in a namespace with `namespace.quota`.
    Fix: take the label or the schedulerName away, or run the Pod in a namespace without quota of YuniKorn.
    """
    filters: Filters | None = None
    for thing, before, after in templates(proposal):
        said = _fault(thing, after)
        if said is None or (before is not None and _fault(thing, before) == said):
            continue
        namespace = namespace_of(proposal, thing)
        if namespace is None:
            if proposal.unknown(NAMESPACE):
                yield NotEvaluated(f"Namespace {thing.ref.namespace} is not known")
            continue
        filters = filters or Filters.of(proposal.after, proposal.configuration.yunikorn.namespace)
        given = _given(namespace)
        if given and filters.processes(namespace.ref.name, yunikorn.enabled(namespace)):
            field, message, fix = said
            yield Finding(
                thing.ref,
                fields.join(after.at, *field),
                f"{message}; {given} of namespace {namespace.ref.name} does not count for it",
                fix=fix,
                profiles=STRICT_ONLY,
            )


def _fault(thing: KubeObject, pod: PodTemplate) -> tuple[tuple[str, ...], str, str] | None:
    """The place, what is wrong and what to do; a template's scheduler may still be replaced when the pod is made."""
    if pod.scheduler_name == yunikorn.SCHEDULER:
        return None
    if pod.labels.get("app") == yunikorn.SCHEDULER:
        message = f"the label app: yunikorn keeps the pod with {pod.scheduler_name}, unseen by YuniKorn"
        return ("metadata", "labels", "app"), message, "give the label app another value"
    if pod.scheduler_name != _DEFAULT and thing.ref.group_kind == POD:
        message = f"the pod is scheduled by {pod.scheduler_name}, not by YuniKorn"
        fix = "remove schedulerName, or run the pod in a namespace that has no quota of YuniKorn"
        return ("spec", "schedulerName"), message, fix
    return None


def _given(namespace: Namespace) -> str:
    """The annotation by which the namespace is YuniKorn's, for the message; empty where there is none."""
    found = next((key for key in _GIVING if namespace.annotations.get(key)), "")
    return yunikorn.short(found or (yunikorn.ENABLE if yunikorn.enabled(namespace) else ""))
