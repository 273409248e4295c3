"""YuniKorn's own tables of its admission controller: what it writes into pods and workloads, and what it refuses."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from policies.configuration.settings import AdmissionSettings, Configuration, YuniKornSettings
from policies.dialects import read, yunikorn
from policies.dialects.core import read_namespace
from policies.dialects.priority_class import says_true
from policies.dialects.reading import metadata, texts
from policies.dialects.yunikorn_work import TEMPLATES, inside
from policies.judge import evaluate
from policies.judging.rule import propose
from policies.model.change import Change, User
from policies.model.findings import Profile
from policies.model.forest import Forest
from policies.mutation import yunikorn_admission
from policies.mutation.yunikorn_admission import Filters, PodAdmission
from tests.conformance.suite import Check, Data, Suite, mismatch, suite

ALL = AdmissionSettings(scheduler_name="always", labels=True, user_info=True, preemption=True)
_FLAGS = {"unset": None, "true": True, "false": False}
_LISTS = {
    "processNamespaces": "process_namespaces",
    "bypassNamespaces": "bypass_namespaces",
    "labelNamespaces": "label_namespaces",
    "noLabelNamespaces": "no_label_namespaces",
    "systemUsers": "system_users",
    "externalUsers": "external_users",
    "externalGroups": "external_groups",
}
_SWITCHES = {"bypassAuth": "bypass_auth", "trustControllers": "trust_controllers", "generateUniqueAppIds": "unique_ids"}


def suites(folder: Path) -> Iterator[Suite]:
    for name, check in sorted(CHECKS.items()):
        yield suite("yunikorn", folder / "yunikorn" / f"{name}.json", check, _made_up)


def _made_up(case: Data) -> str:
    answer = case["given"].get("schedulerAnswer")
    if answer is None or answer.get("status") != 200 or (answer.get("body") or {}).get("allowed"):
        return ""
    return "the refusal is a made-up answer of the scheduler to queues that are fine; here it is not asked"


def _filters(config: Data | None) -> Filters:
    config = config or {}
    known: dict[str, Any] = {ours: tuple(config[theirs] or ()) for theirs, ours in _LISTS.items() if theirs in config}
    known |= {ours: config[theirs] for theirs, ours in _SWITCHES.items() if theirs in config}
    return Filters(**known)


def _user(name: str | None, groups: list[str] | None) -> User:
    return User(name or "", tuple(groups or ()))


# -- namespaces --------------------------------------------------------------------------------------------------------


def _filter(case: Data) -> str | None:
    given = case["given"]
    flags, filters = (given["namespaceFlags"] or {}).get(given["namespace"], {}), _filters(given["config"])
    if given["wants"] == "process":
        answer = filters.processes(given["namespace"], _FLAGS[flags.get("enableYuniKorn", "unset")])
    else:
        answer = filters.labels(given["namespace"], _FLAGS[flags.get("generateAppID", "unset")])
    return mismatch(case["expect"]["answer"], answer)


def _namespace_flags(case: Data) -> str | None:
    return _annotation(case) if "annotation" in case["given"] else _flags(case)


def _flags(case: Data) -> str | None:
    names = {value: name for name, value in _FLAGS.items()}
    namespace = read_namespace(case["given"]["namespace"])
    found = {
        "enableYuniKorn": names[yunikorn.enabled(namespace)],
        "generateAppID": names[yunikorn.generates_app_id(namespace)],
    }
    return mismatch(case["expect"]["flags"], found)


def _annotation(case: Data) -> str | None:
    annotations = case["given"]["annotations"] or {}
    return mismatch(case["expect"]["value"], says_true(annotations, case["given"]["annotation"]))


def _config_map(case: Data) -> str | None:
    asked = case["given"].get("schedulerAnswer") is not None
    return _judged_without_scheduler(case) if asked else _unasked(case)


def _unasked(case: Data) -> str | None:
    """Where the scheduler is not asked, the ConfigMap is accepted: it is none of those that hold queues."""
    return mismatch(case["expect"]["error"], None)


def _judged_without_scheduler(case: Data) -> str | None:
    """The scheduler agrees, or cannot be asked, which counts as agreement."""
    manifest = copy.deepcopy(case["given"]["configMap"])
    manifest["metadata"].setdefault("namespace", YuniKornSettings().namespace)
    verdict = evaluate(propose(Forest(), [Change(None, read(manifest))], Configuration(profile=Profile.COMPAT)))
    return mismatch(case["expect"]["error"] is None, verdict.allowed)


# -- users -------------------------------------------------------------------------------------------------------------


def _user_info(case: Data) -> str | None:
    given, expect = case["given"], case["expect"]
    filters, user = _filters(given["config"]), _user(given.get("user"), given.get("groups"))
    if given["wants"] == "valid":
        return mismatch(expect["valid"], yunikorn.read_user_info(given["annotationValue"]) is not None)
    if given["wants"] == "allowed":
        return mismatch(expect["allowed"], filters.trusts(user))
    work = next((part for part in given.values() if isinstance(part, dict) and part.get("kind") in TEMPLATES), None)
    return _workload_patch(work, expect, filters, user) if work else _pod_patch(given, expect, user)


def _pod_patch(given: Data, expect: Data, user: User) -> str | None:
    pod = {"metadata": {"annotations": given.get("annotations") or {}}}
    only = AdmissionSettings(user_info=True)
    patch = yunikorn_admission.mutated_pod(pod, PodAdmission(namespace="default", user=user), Filters(), only)
    return mismatch([expect["patch"]], patch)


def _workload_patch(manifest: Data, expect: Data, filters: Filters, user: User) -> str | None:
    request = PodAdmission(namespace="default", user=user)
    patch = yunikorn_admission.mutated_workload(manifest["kind"], manifest, request, filters, ALL)
    return mismatch(_applied(manifest, [expect["patch"]]), _applied(manifest, patch))


# -- pods and workloads ------------------------------------------------------------------------------------------------


def _labels(case: Data) -> str | None:
    given, expect = case["given"], case["expect"]
    found = yunikorn_admission.labels(given["pod"], given["namespace"], given["generateUniqueAppIds"])
    if "labels" in expect:
        return mismatch(expect["labels"], found)
    return mismatch(expect["patch"], [{"op": "add", "path": "/metadata/labels", "value": found}])


def _mutate(case: Data) -> str | None:
    given, expect = case["given"], case["expect"]
    asked = given["admissionReview"].get("request")
    if asked is None:
        return mismatch(expect["allowed"], False)
    denied, patch = _judge(asked, given["config"] or {})
    if denied or not expect["allowed"]:
        return mismatch(expect["allowed"], not denied)
    manifest = asked.get("object") or {}
    return mismatch(_applied(manifest, expect["patch"] or []), _applied(manifest, patch))


def _judge(asked: Data, config: Data) -> tuple[bool, list[dict[str, Any]]]:
    """Whether the request is refused, and the operations where it is not."""
    kind, update, filters = asked["kind"]["kind"], asked["operation"] == "UPDATE", _filters(config)
    request = _request(asked, config)
    if _refused(kind, asked.get("object"), asked.get("oldObject"), update, request, filters):
        return True, []
    if update:
        return False, []
    if kind == "Pod":
        return False, yunikorn_admission.mutated_pod(asked["object"], request, filters, ALL)
    return False, yunikorn_admission.mutated_workload(kind, asked.get("object") or {}, request, filters, ALL)


def _refused(
    kind: str, after: Data | None, before: Data | None, update: bool, request: PodAdmission, filters: Filters
) -> bool:
    """Whether the change of user is refused, or an object that the answer depends on is missing."""
    if kind != "Pod" and (
        update or kind not in TEMPLATES or (kind == "ReplicaSet" and filters.is_system(request.user))
    ):
        return False
    if after is None or (update and before is None):
        return True
    meta = metadata(inside(after, TEMPLATES[kind]) if kind in TEMPLATES else after)
    labels, user = texts(meta.get("labels")), texts(meta.get("annotations")).get(yunikorn.USER_INFO)
    if update:
        old = texts(metadata(before or {}).get("annotations")).get(yunikorn.USER_INFO)
        return bool(yunikorn_admission.refused_pod_update(labels, old, user, request, filters))
    if kind != "Pod" and not yunikorn_admission.concerns_workload(kind, labels, request, filters):
        return False
    return bool(yunikorn_admission.refused_user_info(user, request.user, filters))


def _request(asked: Data, config: Data) -> PodAdmission:
    namespace, who = asked.get("namespace") or "default", asked.get("userInfo") or {}
    flags = (config.get("namespaceFlags") or {}).get(namespace, {})
    priority_class = ((asked.get("object") or {}).get("spec") or {}).get("priorityClassName", "")
    return PodAdmission(
        namespace=namespace,
        user=_user(who.get("username"), who.get("groups")),
        enabled=_FLAGS[flags.get("enableYuniKorn", "unset")],
        generates=_FLAGS[flags.get("generateAppID", "unset")],
        preemption=(config.get("priorityClassAllowsPreemptSelf") or {}).get(priority_class, True),
    )


def _applied(manifest: Data, patch: list[dict[str, Any]]) -> Data:
    """The object afterwards, for the operation `add` on members of mappings."""
    result: Data = copy.deepcopy(manifest)
    for operation in patch:
        assert operation["op"] == "add"
        *steps, last = operation["path"].strip("/").split("/")
        place = result
        for step in steps:
            place = place.setdefault(step, {})
        place[last] = operation["value"]
    return result


CHECKS: dict[str, Check] = {
    "shim-mutate": _mutate,
    "shim-labels": _labels,
    "shim-userinfo": _user_info,
    "shim-namespace-filter": _filter,
    "shim-namespace-flags": _namespace_flags,
    "shim-configmap-validate": _config_map,
}
