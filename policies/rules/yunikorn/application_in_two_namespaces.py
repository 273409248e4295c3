from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.core import APP_ID, POD, Pod
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Cause, Finding, NotEvaluated
from policies.model.objects import Ref

_APP_ID_LABEL = fields.join("metadata.labels", APP_ID)


@rule(
    "application-in-two-namespaces",
    source="YuniKorn: queue, user and quota of an application are those of its first pod",
    kinds=(POD,),
)
def application_in_two_namespaces(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Pod joins a YuniKorn application of another namespace.

    Why it is refused: YuniKorn identifies an application only by its id. All pods with the same id are charged to the
    queue, user and namespace of the first pod, so a pod with a copied id uses the quota of others.
    Example: pods in `dev` and in `prod`, both with the label `yunikorn.apache.org/app-id: etl`.
    Fix: give the application of each namespace an id of its own, such as `etl-dev`.
    """
    for _, pod in proposal.changed(Pod):
        if pod.application is None:
            continue
        other = _elsewhere(proposal, pod.application, pod.ref.namespace)
        if other is not None:
            name = pod.application.name
            yield Finding(
                pod.ref,
                _field(pod),
                f"application {name} has pods in another namespace; this one would run on their quota",
                fix=f"give it an id of its own, such as {name}-{pod.ref.namespace}",
                subject=name,
                causes=(Cause(other.ref, _field(other), f"belongs to application {name}"),),
                profiles=STRICT_ONLY,
            )
        elif missing := proposal.incomplete(POD):
            yield missing


def _elsewhere(proposal: Proposal, application: Ref, namespace: str) -> Pod | None:
    """A Pod of the application in another namespace. Normally there is none, and no Pod is looked at."""
    within = application._replace(namespace=namespace)
    if proposal.after.count_users(application) == proposal.after.count_users(within):
        return None
    users = proposal.after.users(application)
    first = min((ref for ref in users if ref.namespace != namespace and ref.group_kind == POD), default=None)
    found = proposal.after.get(first) if first is not None else None
    return found if isinstance(found, Pod) else None


def _field(pod: Pod) -> str:
    """The field with the id that counts."""
    if pod.labels.get(APP_ID):
        return _APP_ID_LABEL
    if pod.annotations.get(APP_ID):
        return fields.join("metadata.annotations", APP_ID)
    return fields.join("metadata.labels", "applicationId" if pod.labels.get("applicationId") else "spark-app-selector")
