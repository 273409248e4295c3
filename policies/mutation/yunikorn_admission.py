"""Changes Pods and workloads as YuniKorn's admission controller does, and refuses the same requests.

Each change has a switch in the configuration, which is off by default. YuniKorn's own ConfigMaps, if they are known,
and annotations of the Namespace decide which namespaces are processed and which users are trusted.
Source: YuniKorn 1.9, k8shim `pkg/admission`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies.configuration.settings import AdmissionSettings
from policies.dialects import yunikorn
from policies.dialects.core import APP_ID, namespace_in
from policies.dialects.go_values import FALSE, TRUE
from policies.dialects.priority_class import ALLOW_PREEMPTION, PRIORITY_CLASS, PriorityClass
from policies.dialects.reading import Manifest, mapping, metadata, text, texts
from policies.dialects.yunikorn_config import patterns
from policies.dialects.yunikorn_config.configmap import ConfigSetting, merged
from policies.dialects.yunikorn_work import TEMPLATES, inside
from policies.model.change import User
from policies.model.forest import Forest
from policies.mutation.patching import Patch, added

_FILTERING = "admissionController.filtering."
_ACCESS = "admissionController.accessControl."


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The lists and switches of YuniKorn's admission controller, with YuniKorn's defaults.

    Each entry of a list is a regular expression.
    `process_namespaces`, `bypass_namespaces`: the namespaces that YuniKorn processes, and those that it ignores.
    `label_namespaces`, `no_label_namespaces`: the namespaces whose Pods get application ids, and those whose Pods do
    not.
    `external_users`, `external_groups`: may set any user. So may `system_users` if `trust_controllers` is on.
    `bypass_auth`: whether all users may set any user.
    `unique_ids`: whether each Pod without an application id gets a different one.
    """

    process_namespaces: tuple[str, ...] = ()
    bypass_namespaces: tuple[str, ...] = ("^kube-system$",)
    label_namespaces: tuple[str, ...] = ()
    no_label_namespaces: tuple[str, ...] = ()
    system_users: tuple[str, ...] = ("^system:serviceaccount:kube-system:",)
    external_users: tuple[str, ...] = ()
    external_groups: tuple[str, ...] = ()
    bypass_auth: bool = False
    trust_controllers: bool = True
    unique_ids: bool = False

    @classmethod
    def read(cls, settings: Mapping[str, ConfigSetting]) -> Filters:
        """The filters in the keys of YuniKorn's ConfigMaps. An unreadable key counts as absent."""
        default = cls()

        def listed(key: str, otherwise: tuple[str, ...]) -> tuple[str, ...]:
            setting = settings.get(key)
            return otherwise if setting is None or setting.text is None else _patterns(setting.text, otherwise)

        def flag(key: str, otherwise: bool) -> bool:
            setting = settings.get(key)
            written = setting.text if setting else None
            return written in TRUE if written in TRUE | FALSE else otherwise

        return cls(
            process_namespaces=listed(_FILTERING + "processNamespaces", default.process_namespaces),
            bypass_namespaces=listed(_FILTERING + "bypassNamespaces", default.bypass_namespaces),
            label_namespaces=listed(_FILTERING + "labelNamespaces", default.label_namespaces),
            no_label_namespaces=listed(_FILTERING + "noLabelNamespaces", default.no_label_namespaces),
            system_users=listed(_ACCESS + "systemUsers", default.system_users),
            external_users=listed(_ACCESS + "externalUsers", default.external_users),
            external_groups=listed(_ACCESS + "externalGroups", default.external_groups),
            bypass_auth=flag(_ACCESS + "bypassAuth", default.bypass_auth),
            trust_controllers=flag(_ACCESS + "trustControllers", default.trust_controllers),
            unique_ids=flag(_FILTERING + "generateUniqueAppId", default.unique_ids),
        )

    @classmethod
    def of(cls, forest: Forest, namespace: str) -> Filters:
        """The filters in the ConfigMaps of YuniKorn's namespace, if the forest has them."""
        return cls.read({key: setting for key, (_, setting) in merged(forest, namespace).items()})

    def processes(self, namespace: str, annotated: bool | None) -> bool:
        """Whether YuniKorn schedules the Pods of the namespace. `annotated`: the value of its annotation, or None."""
        return _passes(namespace, annotated, self.process_namespaces, self.bypass_namespaces)

    def labels(self, namespace: str, annotated: bool | None) -> bool:
        """Whether Pods of the namespace get application ids. `annotated`: the value of its annotation, or None."""
        return _passes(namespace, annotated, self.label_namespaces, self.no_label_namespaces)

    def is_system(self, user: User) -> bool:
        return _any(self.system_users, user.name)

    def trusts(self, user: User) -> bool:
        """Whether the user may set the user that a Pod runs for."""
        if self.trust_controllers and self.is_system(user):
            return True
        return _any(self.external_users, user.name) or any(_any(self.external_groups, group) for group in user.groups)


def _patterns(written: str, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    """The list in a text, separated by commas; the default if one entry is not a pattern."""
    entries = tuple(entry.strip() for entry in written.split(",") if entry.strip())
    return entries if all(patterns.compiles(entry) for entry in entries) else otherwise


def _passes(namespace: str, annotated: bool | None, included: tuple[str, ...], excluded: tuple[str, ...]) -> bool:
    """Whether the annotation or else the lists include a namespace. A pattern that is too complex excludes it."""
    if annotated is not None:
        return annotated
    if included and not _any(included, namespace):
        return False
    return all(patterns.found(entry, namespace) is False for entry in excluded)


def _any(entries: tuple[str, ...], name: str) -> bool:
    return any(patterns.found(entry, name) for entry in entries)


# -- changes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAdmission:
    """The facts about the admission of one Pod or workload.

    `enabled`, `generates`: the values of the Namespace's annotations about processing and application ids, or None.
    `preemption`: the value of allow-preemption of the Pod's PriorityClass.
    """

    namespace: str
    user: User
    enabled: bool | None = None
    generates: bool | None = None
    preemption: bool = True

    @classmethod
    def of(cls, namespace: str, user: User, forest: Forest, priority_class: str = "") -> PodAdmission:
        """The request with its Namespace and PriorityClass from the forest.

        An unknown object counts as one without annotations, as in YuniKorn.
        """
        known, priority = namespace_in(forest, namespace), forest.get(PRIORITY_CLASS.named(priority_class))
        return cls(
            namespace=namespace,
            user=user,
            enabled=yunikorn.enabled(known) if known else None,
            generates=yunikorn.generates_app_id(known) if known else None,
            preemption=priority.preemption if isinstance(priority, PriorityClass) else True,
        )


def mutated_pod(manifest: Manifest, request: PodAdmission, filters: Filters, switches: AdmissionSettings) -> Patch:
    """The operations for a created Pod; none for Pods of YuniKorn itself and of namespaces that are not processed."""
    meta = metadata(manifest)
    if texts(meta.get("labels")).get("app") == yunikorn.SCHEDULER:
        return []
    if not filters.processes(request.namespace, request.enabled):
        return []
    labelled = filters.labels(request.namespace, request.generates)
    notes = texts(meta.get("annotations"))
    wanted = dict(notes)
    if switches.user_info and not filters.bypass_auth:
        wanted.setdefault(yunikorn.USER_INFO, user_info(request.user))
    if switches.preemption and labelled and notes.get(ALLOW_PREEMPTION) not in ("true", "false"):
        wanted[ALLOW_PREEMPTION] = "true" if request.preemption else "false"
    patch = _changed(meta, wanted, "annotations")
    patch += _scheduler(manifest, switches)
    if switches.labels and labelled:
        patch += _changed(meta, labels(manifest, request.namespace, filters.unique_ids), "labels")
    return patch


def _changed(meta: Mapping[str, Any], wanted: dict[str, str], key: str) -> Patch:
    return [] if wanted == texts(meta.get(key)) else [added(wanted, "metadata", key)]


def _scheduler(manifest: Manifest, switches: AdmissionSettings) -> Patch:
    """Set the scheduler. A scheduler that the user has chosen stays, unless the switch is `always`."""
    present = text(mapping(manifest.get("spec")).get("schedulerName")) or "default-scheduler"
    wanted = switches.scheduler_name == "always" or (
        switches.scheduler_name == "default" and present == "default-scheduler"
    )
    if not wanted or present == yunikorn.SCHEDULER or not isinstance(manifest.get("spec"), Mapping):
        return []
    return [added(yunikorn.SCHEDULER, "spec", "schedulerName")]


def labels(manifest: Manifest, namespace: str, unique_ids: bool = False) -> dict[str, str]:
    """The labels of the Pod with those that YuniKorn adds.

    It adds an application id if the Pod has none, and copies the id and the queue to the labels of older versions.
    """
    notes, result = (texts(metadata(manifest).get(key)) for key in ("annotations", "labels"))
    others = (notes.get(APP_ID), result.get("applicationId"), result.get("spark-app-selector"))
    if result.get(APP_ID):
        result["applicationId"] = result[APP_ID]
    elif not any(others):
        made = yunikorn.generated_application_id(namespace, unique=unique_ids)
        result |= {APP_ID: made, "applicationId": made}
    if result.get(yunikorn.QUEUE):
        result["queue"] = result[yunikorn.QUEUE]
    return result


def mutated_workload(
    kind: str, manifest: Manifest, request: PodAdmission, filters: Filters, switches: AdmissionSettings
) -> Patch:
    """Write the user into the pod template of a created workload, unless it names one already."""
    path = TEMPLATES.get(kind)
    if path is None or not switches.user_info or filters.bypass_auth:
        return []
    template = inside(manifest, path)
    present, notes = (texts(metadata(template).get(key)) for key in ("labels", "annotations"))
    if not template or not concerns_workload(kind, present, request, filters) or yunikorn.USER_INFO in notes:
        return []
    wanted = {**notes, yunikorn.USER_INFO: user_info(request.user)}
    if not isinstance(template.get("metadata"), Mapping):
        return [added({"annotations": wanted}, *path, "metadata")]
    return [added(wanted, *path, "metadata", "annotations")]


def concerns_workload(kind: str, labels: Mapping[str, str], request: PodAdmission, filters: Filters) -> bool:
    """Whether YuniKorn changes the workload, by the labels of its Pods. It skips a ReplicaSet of a controller, which
    would otherwise be recreated indefinitely."""
    if kind not in TEMPLATES or (kind == "ReplicaSet" and filters.is_system(request.user)):
        return False
    return _concerns(labels, request, filters)


def _concerns(labels: Mapping[str, str], request: PodAdmission, filters: Filters) -> bool:
    has_id = any(labels.get(key) for key in (APP_ID, "applicationId", "spark-app-selector"))
    return filters.processes(request.namespace, request.enabled) and (
        has_id or filters.labels(request.namespace, request.generates)
    )


def user_info(user: User) -> str:
    """The value of the annotation with the user. Empty parts are left out."""
    value = ({"user": user.name} if user.name else {}) | ({"groups": list(user.groups)} if user.groups else {})
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# -- refusals ----------------------------------------------------------------------------------------------------------


def refused_user_info(written: str | None, user: User, filters: Filters) -> str | None:
    """Why the annotation with the user is refused in a new Pod; None if it is allowed or absent."""
    if written is None or filters.bypass_auth:
        return None
    if not filters.trusts(user):
        who = user.name or "an unknown user"
        return f"{who} may not set the user that a pod runs for"
    return None if yunikorn.read_user_info(written) else f"{written!r} is not a JSON object with user and groups"


def refused_pod_update(
    labels: Mapping[str, str], before: str | None, written: str | None, request: PodAdmission, filters: Filters
) -> str | None:
    """Why an update of a Pod is refused: the user that it runs for must not change. `labels`: the new labels."""
    if labels.get("app") == yunikorn.SCHEDULER or not _concerns(labels, request, filters):
        return None
    return None if (before or "") == (written or "") else "the user that a pod runs for cannot be changed"
