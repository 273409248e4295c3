"""Selects the fields of an object that a snapshot contains: quota, usage, and the requests of work.

Only the fields that this module lists are kept. A snapshot therefore contains no Secrets, no images, commands,
environments or volumes, no names of containers, no annotations of other projects, and no comments or unknown keys of a
queues.yaml.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from cli.input.snapshot_file import WORK
from cli.report.redacted_queues import REDACTED, redacted_queues
from policies import dialects
from policies.amounts.devices import CLAIM_TEMPLATE, DEVICE_CLASS
from policies.dialects import core, kueue, volcano
from policies.dialects.core import CONFIG_MAP
from policies.dialects.kueue_kinds import (
    ADMISSION_CHECK,
    MULTIKUEUE_CLUSTER,
    MULTIKUEUE_CONFIG,
    PREFIX,
    TOPOLOGY,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
)
from policies.dialects.kueue_workload import REPLACES, SLICE_CHAIN
from policies.dialects.priority_class import PRIORITY_CLASS
from policies.dialects.reading import Manifest, group_kind, listing, mapping, metadata, texts
from policies.dialects.volcano_gates import GROUP_NAMES
from policies.dialects.yunikorn import USER_INFO
from policies.dialects.yunikorn_config.configmap import PATTERNS, SETTINGS, read_config_map
from policies.model.exemptions import PREFIX as EXEMPT
from policies.model.objects import GroupKind
from scheduling.objects.template import template
from scheduling.simulation.intake import LIMIT_RANGE, RUNTIME_CLASS

_METADATA = ("name", "namespace", "generation", "uid", "creationTimestamp", "deletionTimestamp")
_OWNER = ("apiVersion", "kind", "name", "uid", "controller")
_IDS = (
    *(core.APP_ID, "applicationId", "spark-app-selector", "app"),
    *(f"{PREFIX}pod-group-name", f"{PREFIX}job-owner-name", "volcano.sh/job-name", *GROUP_NAMES),
    f"{core.YUNIKORN}username",
)
"""Labels and annotations whose value identifies work or a user, such as an application id."""
_OF_USERS = "admissionController.accessControl."
"""The prefix of YuniKorn's settings that have patterns for users and groups."""
_WORKLOADS = (
    *(REPLACES, SLICE_CHAIN, f"{PREFIX}workload", f"{PREFIX}prebuilt-workload-name"),
    f"{PREFIX}concurrent-admission-parent",
)
"""Annotations and labels whose value is the name of a Workload, as `name` or `namespace/name`."""
_WORKLOAD = (
    "queueName",
    "priority",
    "priorityClassRef",
    "priorityClassName",
    "priorityClassSource",
    "active",
    "maximumExecutionTimeSeconds",
    "preemptionGates",
)
_POD_SET = ("name", "count", "minCount", "topologyRequest")
_JOB = ("queue", "minAvailable", "schedulerName", "priorityClassName")
_DEVICES = ("deviceClassName", "count", "allocationMode", "adminAccess")
_TASK = ("name", "replicas", "minAvailable")
_POD_GROUP = ("queue", "minMember", "minTaskMember", "minResources", "priorityClassName")
_POD = ("schedulerName", "nodeName", "priority", "priorityClassName", "preemptionPolicy", "schedulingGates")


@dataclass(frozen=True, slots=True)
class Redaction:
    """Redacts objects.

    `hash_names`: hash the names of work, users and groups. The key is random and not stored, so that nobody can find a
    name by hashing guesses.
    """

    hash_names: bool = False
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def redact(self, manifest: Manifest) -> dict[str, Any] | None:
        """The fields of the object that are kept; None if a snapshot does not contain its kind."""
        kind = group_kind(manifest)
        parts = _PARTS.get(kind)
        if parts is None or (kind == CONFIG_MAP and dialects.read(manifest) is None):
            return None
        kept = {"apiVersion": manifest["apiVersion"], "kind": kind.kind, "metadata": self._metadata(manifest, kind)}
        made = self._settings(manifest) if kind == CONFIG_MAP else parts(manifest)
        kept |= {key: value for key, value in made.items() if value}
        return kept

    def _settings(self, manifest: Manifest) -> dict[str, Any]:
        """YuniKorn's settings in its ConfigMap, uncompressed. Other keys are left out."""
        found = read_config_map(manifest)
        texts = {key: setting.text for key, setting in found.settings.items()} if found is not None else {}
        return {"data": {key: self._setting(key, text) for key, text in texts.items() if _is_yunikorns(key)}}

    def _setting(self, key: str, text: str | None) -> str:
        if text is None:
            return REDACTED
        if key.endswith(".yaml"):
            return redacted_queues(text, self._name)
        if key in PATTERNS and key.startswith(_OF_USERS):
            return ",".join(map(self._name, text.split(",")))
        return text

    def _metadata(self, manifest: Manifest, kind: GroupKind) -> dict[str, Any]:
        meta = metadata(manifest)
        kept = {key: meta[key] for key in _METADATA if meta.get(key)}
        if kind in WORK:
            kept["name"] = self._name(str(meta.get("name") or ""))
        whole = kind in (core.NAMESPACE, core.NODE)  # `snapshot_json` later removes labels that nothing selects by
        labels, annotations = texts(meta.get("labels")), texts(meta.get("annotations"))
        pairs = {"labels": labels if whole else core.ours(labels), "annotations": _annotations(annotations)}
        kept |= {key: {name: self._id(name, value) for name, value in of.items()} for key, of in pairs.items() if of}
        owners = [
            {**{key: owner[key] for key in _OWNER if key in owner}, "name": self._name(str(owner.get("name") or ""))}
            for owner in map(mapping, listing(meta.get("ownerReferences")))
        ]
        return {**kept, "ownerReferences": owners} if owners and kind in WORK else kept

    def _id(self, key: str, value: str) -> str:
        if key in _WORKLOADS:
            namespace, slash, name = value.rpartition("/")
            return f"{namespace}{slash}{self._name(name)}"
        return self._name(value) if key in _IDS else value

    def _name(self, name: str) -> str:
        if not self.hash_names or not name:
            return name
        return f"n{hmac.new(self._key, name.encode(), sha256).hexdigest()[:20]}"


def _annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """The annotations that rules read, except YuniKorn's annotation with users."""
    exempt = {key: value for key, value in annotations.items() if key.startswith(EXEMPT)}
    kept = {**core.ours(annotations), **exempt}
    return {key: value for key, value in kept.items() if key != USER_INFO}


def _fields(*keys: str) -> Callable[[Manifest], dict[str, Any]]:
    return lambda manifest: {key: manifest.get(key) for key in keys}


def _selected(value: object, keys: Iterable[str]) -> dict[str, Any]:
    content = mapping(value)
    return {key: content[key] for key in keys if key in content}


def _workload(manifest: Manifest) -> dict[str, Any]:
    spec = mapping(manifest.get("spec"))
    pod_sets = [
        {
            **_selected(each, _POD_SET),
            "template": {"spec": _pod_spec(mapping(mapping(each).get("template")).get("spec"))},
        }
        for each in listing(spec.get("podSets"))
    ]
    return {"spec": {**_selected(spec, _WORKLOAD), "podSets": pod_sets}, **_with_status(manifest)}


def _pod_spec(spec: object) -> dict[str, Any]:
    """The fields of a Pod spec with its requests, and those that decide its flavor."""
    kept = dict(template(spec).spec)
    for key in ("containers", "initContainers"):
        if key in kept:
            kept[key] = [{"name": str(number), **each} for number, each in enumerate(kept[key])]
    if affinity := _selected(kept.pop("affinity", None), ["nodeAffinity"]):
        kept["affinity"] = affinity
    if "resourceClaims" in kept:  # only their existence matters
        kept["resourceClaims"] = [{"name": str(number)} for number, _ in enumerate(kept["resourceClaims"])]
    return kept


def _with_status(manifest: Manifest) -> dict[str, Any]:
    """The spec and status, without messages and lists that name work."""
    status = {key: value for key, value in mapping(manifest.get("status")).items() if key != "pendingWorkloadsStatus"}
    for key in ("conditions", "admissionChecks"):
        if key in status:
            status[key] = [_condition(mapping(each)) for each in listing(status[key])]
    return {"status": status}


def _condition(entry: Manifest) -> dict[str, Any]:
    """A condition or an admission check. The annotations that a check adds to Pods may have names of work."""
    updates = [_selected(each, ["name", "nodeSelector", "tolerations"]) for each in listing(entry.get("podSetUpdates"))]
    return {**entry, "message": "", **({"podSetUpdates": updates} if updates else {})}


def _queue(manifest: Manifest) -> dict[str, Any]:
    return {"spec": manifest.get("spec"), **_with_status(manifest)}


def _is_yunikorns(key: str) -> bool:
    return key.endswith(".yaml") or key in SETTINGS


def _job(manifest: Manifest) -> dict[str, Any]:
    spec = mapping(manifest.get("spec"))
    tasks = [_selected(task, _TASK) for task in listing(spec.get("tasks"))]
    state = _selected(mapping(mapping(manifest.get("status")).get("state")), ["phase"])
    return {"spec": {**_selected(spec, _JOB), "tasks": tasks}, "status": {"state": state}}


def _pod_group(manifest: Manifest) -> dict[str, Any]:
    return {"spec": _selected(manifest.get("spec"), _POD_GROUP), "status": _selected(manifest.get("status"), ["phase"])}


def _node(manifest: Manifest) -> dict[str, Any]:
    """The fields of a Node that decide which pods can run on it."""
    spec, status = mapping(manifest.get("spec")), mapping(manifest.get("status"))
    ready = [each for each in map(mapping, listing(status.get("conditions"))) if each.get("type") == "Ready"]
    conditions = [_selected(each, ["type", "status", "lastTransitionTime"]) for each in ready]
    kept = {**_selected(status, ["allocatable"]), "conditions": conditions}
    return {"spec": _selected(spec, ["taints", "unschedulable"]), "status": kept}


def _device_class(manifest: Manifest) -> dict[str, Any]:
    return {"spec": _selected(manifest.get("spec"), ["extendedResourceName"])}


def _claim_template(manifest: Manifest) -> dict[str, Any]:
    """The requests for devices, without selectors and parameters of drivers."""
    devices = mapping(mapping(mapping(manifest.get("spec")).get("spec")).get("devices"))
    requests = [
        {key: _selected(each[key], _DEVICES) for key in ("exactly", "firstAvailable") if key in each}
        for each in map(mapping, listing(devices.get("requests")))
    ]
    return {"spec": {"spec": {"devices": {"requests": requests}}}}


def _pod(manifest: Manifest) -> dict[str, Any]:
    """The fields of a Pod that its scheduler reads, and its phase."""
    spec = mapping(manifest.get("spec"))
    phase = mapping(manifest.get("status")).get("phase") or "Pending"
    return {"spec": {**_pod_spec(spec), **_selected(spec, _POD)}, "status": {"phase": phase}}


_PARTS: Mapping[GroupKind, Callable[[Manifest], dict[str, Any]]] = {
    kueue.COHORT: _queue,
    kueue.CLUSTER_QUEUE: _queue,
    kueue.LOCAL_QUEUE: _queue,
    kueue.RESOURCE_FLAVOR: _fields("spec"),
    ADMISSION_CHECK: _queue,
    MULTIKUEUE_CONFIG: _fields("spec"),
    MULTIKUEUE_CLUSTER: _queue,
    TOPOLOGY: _fields("spec"),
    WORKLOAD_PRIORITY_CLASS: _fields("value"),
    PRIORITY_CLASS: _fields("value", "globalDefault", "preemptionPolicy"),
    LIMIT_RANGE: _fields("spec"),
    RUNTIME_CLASS: _fields("overhead"),
    DEVICE_CLASS: _device_class,
    CLAIM_TEMPLATE: _claim_template,
    core.NAMESPACE: _fields(),
    CONFIG_MAP: _fields(),
    volcano.QUEUE: _queue,
    volcano.JOB: _job,
    volcano.POD_GROUP: _pod_group,
    core.POD: _pod,
    core.NODE: _node,
    WORKLOAD: _workload,
}
