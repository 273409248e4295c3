"""Pods wait for YuniKorn's quota at a gate of ours, which can only be set when they are created."""

from __future__ import annotations

from typing import Any

from policies.configuration.settings import Enforce, YuniKornSettings
from policies.dialects.core import NAMESPACE, Namespace, read_namespace
from policies.dialects.quota_gates import ADMITTED, MARK, WAITS, is_gated, mark_of
from policies.dialects.reading import Manifest, listing, mapping, metadata, text, texts
from policies.dialects.yunikorn_gates import MARKED, has_quota
from policies.model import fields
from policies.model.change import User
from policies.model.forest import Forest
from policies.model.objects import Ref

Patch = list[dict[str, Any]]
_KUBELETS = "system:nodes"


def quota_gate(manifest: Manifest, forest: Forest, settings: YuniKornSettings, user: User) -> Patch:
    """Gate and label for a Pod of a Namespace with quota, and for one of a Namespace that is not known yet.

    A Pod that says that it was admitted says so no more. Mirror pods, which kubelets create, run already.
    """
    meta, spec = manifest.get("metadata"), manifest.get("spec")
    if settings.enforce is not Enforce.GATES or not isinstance(meta, dict) or not isinstance(spec, dict):
        return []
    if _KUBELETS in user.groups or not (mark_of(manifest) == MARKED or _counts(manifest, forest)):
        return []
    patch: Patch = []
    if mark_of(manifest) != MARKED:
        patch.append(_add({**texts(meta.get("labels")), MARK: MARKED}, "metadata", "labels"))
    if not is_gated(manifest):
        patch.append(_add([*listing(spec.get("schedulingGates")), {"name": MARK}], "spec", "schedulingGates"))
    notes = texts(meta.get("annotations"))
    patch += [_remove("metadata", "annotations", key) for key in (ADMITTED, WAITS) if key in notes]
    return patch


def quota_label(manifest: Manifest, settings: YuniKornSettings) -> Patch:
    """The label of a Namespace with quota, by which the API server knows that its Pods must not slip through."""
    if settings.enforce is not Enforce.GATES:
        return []
    labels, wanted = mapping(metadata(manifest).get("labels")), has_quota(read_namespace(manifest))
    if wanted and labels.get(MARK) != MARKED:
        return [_add({**labels, MARK: MARKED}, "metadata", "labels")]
    if not wanted and MARK in labels:
        return [_remove("metadata", "labels", MARK)]
    return []


def _counts(manifest: Manifest, forest: Forest) -> bool:
    namespace = forest.get(Ref(*NAMESPACE, "", text(metadata(manifest).get("namespace")) or "default"))
    return not isinstance(namespace, Namespace) or has_quota(namespace)


def _add(value: object, *path: str) -> dict[str, Any]:
    return {"op": "add", "path": fields.pointer(*path), "value": value}


def _remove(*path: str) -> dict[str, Any]:
    return {"op": "remove", "path": fields.pointer(*path)}
