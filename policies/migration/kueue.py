"""Migrates Kueue's objects of old versions to v1beta2."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from policies.conversion import DOMAIN, Unconvertible, convert
from policies.conversion.lost_fields import LostFields
from policies.dialects.kueue_kinds import GROUP
from policies.dialects.reading import Manifest, identity, mapping, metadata
from policies.migration.model import Migration, NotKept
from policies.model import fields
from policies.model.objects import GroupKind
from policies.schema.structure import SAME_AS_V1BETA1

NEW, OLD, OLDEST = "v1beta2", "v1beta1", "v1alpha1"
_KEPT = ("name", "generateName", "namespace", "labels", "annotations")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which kubectl keeps the applied manifest, which has the old version."""


def migrate_kueue(manifests: Iterable[Manifest]) -> Migration:
    """Migrate each object of Kueue to v1beta2, without status and other fields that only a server writes. Other kinds
    are left out."""
    objects: list[dict[str, Any]] = []
    lost: list[NotKept] = []
    for manifest in manifests:
        group, _, version = str(manifest.get("apiVersion")).rpartition("/")
        if group != GROUP:
            continue
        called = _called(manifest)
        try:
            converted = convert(_with_texts(_as_v1beta1(manifest, version)), NEW)
        except Unconvertible as error:
            lost.append(NotKept(called, "apiVersion", str(error), f"write it as {NEW}"))
            continue
        result, gone = _without_annotation(converted)
        objects.append(_with_texts(result))
        lost += (NotKept(called, field, f"{NEW} does not have it", _instead(field)) for field in gone)
    return Migration(tuple(objects), tuple(lost))


def _called(manifest: Manifest) -> str:
    kind = str(manifest.get("kind"))
    return str(identity(manifest, GroupKind(GROUP, kind), namespaced="namespace" in metadata(manifest)))


def _as_v1beta1(manifest: Manifest, version: str) -> dict[str, Any]:
    """The object of v1alpha1 in the form of v1beta1, without status, which users do not apply."""
    body = {key: value for key, value in manifest.items() if key != "status"}
    meta = {key: value for key, value in metadata(manifest).items() if key in _KEPT}
    if _LAST_APPLIED in mapping(meta.get("annotations")):
        meta["annotations"] = {key: value for key, value in meta["annotations"].items() if key != _LAST_APPLIED}
    body["metadata"] = {key: value for key, value in meta.items() if value != {}}
    if version != OLDEST or manifest.get("kind") not in SAME_AS_V1BETA1:
        return body
    body["apiVersion"] = f"{GROUP}/{OLD}"
    spec = body.get("spec")
    if manifest.get("kind") == "Cohort" and isinstance(spec, Mapping) and "parent" in spec:
        body["spec"] = {("parentName" if key == "parent" else key): value for key, value in spec.items()}
    return body


def _with_texts(value: Any) -> Any:
    """The value with fractional numbers as texts, since the API server accepts only texts as fractional quantities.

    It is applied before the conversion, which keeps lost fields as JSON, since JSON has no exact numbers, and again
    after the conversion, which restores fields from JSON.
    """
    if isinstance(value, Mapping):
        return {key: _with_texts(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_texts(inner) for inner in value]
    return str(value) if isinstance(value, Decimal | float) else value


def _without_annotation(converted: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The object without the annotation of the conversion, and the fields in it, which v1beta2 does not have."""
    key = DOMAIN + OLD
    annotations = dict(mapping(metadata(converted).get("annotations")))
    text = annotations.pop(key, None)
    if text is None:
        return converted, []
    meta = {name: value for name, value in converted["metadata"].items() if name != "annotations"}
    meta |= {"annotations": annotations} if annotations else {}
    return {**converted, "metadata": meta}, list(_gone(text))


def _gone(text: object) -> Iterator[str]:
    try:
        entries = LostFields.read(json.loads(str(text)))
    except (ValueError, RecursionError):
        return
    for entry in entries:
        for key in entry.value:
            yield fields.join("", *(step if isinstance(step, str) else step[0] for step in entry.at), key)


def _instead(field: str) -> str:
    if field == "spec.retryDelayMinutes":
        return "nothing: Kueue does not read it any more"
    return "leave it out; docs/kueue-versions.md has how to keep it in an annotation"
