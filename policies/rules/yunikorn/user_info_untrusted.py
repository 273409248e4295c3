from __future__ import annotations

from collections.abc import Iterator

from policies.dialects import yunikorn
from policies.dialects.core import CONFIG_MAP, POD
from policies.dialects.frameworks.replicated import REPLICA_SET
from policies.dialects.yunikorn_config.configmap import refs
from policies.dialects.yunikorn_work import WrittenTemplate
from policies.judging.rule import Proposal, rule
from policies.model.change import User
from policies.model.findings import BOTH, STRICT_ONLY, Finding, NotEvaluated, Profile
from policies.model.objects import KubeObject
from policies.mutation.yunikorn_admission import (
    Filters,
    PodAdmission,
    concerns_workload,
    refused_pod_update,
    refused_user_info,
)
from policies.rules._pod_templates import MAKERS, templates


@rule("user-info-untrusted", source="YuniKorn: admission controller, user.info of pods and workloads", kinds=MAKERS)
def user_info_untrusted(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """A Pod claims to run on behalf of another user, without permission.

    Why it is refused: YuniKorn applies user limits and ACLs by the annotation `yunikorn.apache.org/user.info`. Users
    who can write any value could use the quota of others. Only the users and groups that YuniKorn's ConfigMap lists
    under `admissionController.accessControl` may write it: externalUsers, externalGroups, and systemUsers while
    trustControllers is on. All users may name themselves with all their groups, and with bypassAuth all users may write
    anything. On a Pod it cannot change. YuniKorn checks workloads only when they are created, and not in namespaces
    that it does not process or label. This rule also checks later changes of the template, and all templates whose pods
    go to YuniKorn's scheduler, since their pods come from a trusted controller. Of kinds that YuniKorn does not check,
    such as a SparkApplication, the webhook gets only jobs with a label of Kueue. The value is a JSON object with user
    and groups.
    Example: anna creates a Pod with `user.info: '{"user":"root"}'`.
    Fix: leave the annotation out; YuniKorn writes the user who creates the Pod.
    """
    settings = proposal.configuration.yunikorn
    filters: Filters | None = None
    for obj, before, after in templates(proposal):
        written, old = (each.annotations.get(yunikorn.USER_INFO) if each else None for each in (after, before))
        if written == old and (before is None or before.scheduler_name == after.scheduler_name):
            continue
        if filters is None:
            filters = Filters.of(proposal.after, settings.namespace)
        request = PodAdmission.of(obj.ref.namespace, proposal.circumstances.user, proposal.after)
        reason = _reason(obj, before, after, request, filters)
        if reason is None:
            continue
        if not request.user.name and (written is None or yunikorn.read_user_info(written) is not None):
            yield NotEvaluated("the requesting user is not known, so the right to write user.info cannot be checked")
        elif proposal.unknown(CONFIG_MAP) and all(proposal.after.get(ref) is None for ref in refs(settings.namespace)):
            yield NotEvaluated(
                f"the users that YuniKorn trusts are not known: its ConfigMaps in namespace {settings.namespace}"
            )
        else:
            yield _finding(obj, after, reason, _profiles(obj, before, after, request, filters))


def _reason(
    obj: KubeObject, before: WrittenTemplate | None, after: WrittenTemplate, request: PodAdmission, filters: Filters
) -> str | None:
    written, kind = after.annotations.get(yunikorn.USER_INFO), obj.ref.kind
    if kind == POD.kind and before is not None:
        return refused_pod_update(after.labels, before.annotations.get(yunikorn.USER_INFO), written, request, filters)
    if kind != POD.kind and not _goes_to_yunikorn(kind, after, request, filters):
        return None
    return None if _names_requester(written, request.user) else refused_user_info(written, request.user, filters)


def _goes_to_yunikorn(kind: str, template: WrittenTemplate, request: PodAdmission, filters: Filters) -> bool:
    """Whether the Pods of the template go to YuniKorn's scheduler. No for a ReplicaSet of a controller, which has the
    template of its Deployment."""
    if kind == REPLICA_SET.kind.kind and filters.is_system(request.user):
        return False
    return template.scheduler_name == yunikorn.SCHEDULER or filters.processes(request.namespace, request.enabled)


def _profiles(
    obj: KubeObject, before: WrittenTemplate | None, after: WrittenTemplate, request: PodAdmission, filters: Filters
) -> frozenset[Profile]:
    """YuniKorn looks at Pods, and at new workloads in the namespaces that it processes and labels."""
    kind = obj.ref.kind
    looks = kind == POD.kind or (before is None and concerns_workload(kind, after.labels, request, filters))
    return BOTH if looks else STRICT_ONLY


def _names_requester(written: str | None, user: User) -> bool:
    """Whether the annotation names the requesting user with all groups, as a mutating webhook has written it. Without
    one of the groups, the limits of this group would not apply."""
    found = yunikorn.read_user_info(written or "")
    return bool(user.name) and found is not None and found[0] == user.name and set(found[1] or ()) == set(user.groups)


def _finding(obj: KubeObject, after: WrittenTemplate, reason: str, profiles: frozenset[Profile]) -> Finding:
    return Finding(
        obj.ref,
        after.field("annotations", yunikorn.USER_INFO),
        f"the annotation {yunikorn.USER_INFO} is refused: {reason}",
        fix="keep it as it was, or leave it out of a new object: YuniKorn then writes the user who creates it. Its "
        "ConfigMap lists trusted users under admissionController.accessControl",
        profiles=profiles,
    )
