"""Converts objects of kueue.x-k8s.io between v1beta1 and v1beta2 without loss.

    convert(manifest, "v1beta2")

An annotation keeps the fields that the other version does not have. They are restored when the object is converted
back, but only in places that were not edited in the other version since then.
Source of the field names: Kueue v0.19, apis/kueue v1beta1 and v1beta2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from policies.conversion import kinds
from policies.conversion.lost_fields import LostFields, lost_fields, restored
from policies.dialects.kueue_kinds import GROUP
from policies.dialects.reading import Manifest, mapping, text
from policies.schema import declarations
from policies.schema.declarations import Schema

__all__ = ["DOMAIN", "VERSIONS", "Unconvertible", "convert", "is_convertible", "needs_webhook"]

VERSIONS: Final = ("v1beta2", "v1beta1")
"""The versions, the storage version first."""
DOMAIN: Final = "kueue.quotree.dev/"
"""The prefix of the annotations that keep lost fields. The rest of the key is the version that has these fields."""
_MOST_ANNOTATIONS = 256 * 1024
"""The most bytes of all annotations of an object, which is the limit of the API server."""


class Unconvertible(ValueError):
    """The object cannot be converted to the requested version. The message says why."""


def is_convertible(kind: str) -> bool:
    """Whether this kind of kueue.x-k8s.io exists in both versions."""
    return (GROUP, kind) in declarations.FILES and set(VERSIONS) <= _schemas(kind).keys()


def needs_webhook(kind: str) -> bool:
    """Whether the versions of a convertible kind differ in more than the apiVersion."""
    one, other = (_schemas(kind)[version]["properties"] for version in VERSIONS)
    return any(one.get(key) != other.get(key) for key in one.keys() | other.keys())


def convert(manifest: Manifest, to: str) -> dict[str, Any]:
    """A copy of the object in version `to` (v1beta1 or v1beta2).

    Any object is accepted: values that do not match the schema are kept unchanged. A conversion and its reverse give
    the same object. Raises Unconvertible for another kind or version, and if the annotations become too large.
    """
    group, _, version = str(manifest.get("apiVersion")).rpartition("/")
    kind = str(manifest.get("kind"))
    if group != GROUP or not is_convertible(kind):
        raise Unconvertible(f"{kind} in group {group!r} cannot be converted")
    for each in (version, to):
        if each not in VERSIONS:
            raise Unconvertible(f"{kind} exists as {' and '.join(VERSIONS)}, not as {each!r}")
    if version == to:
        return dict(manifest)
    return _converted(manifest, kind, version, to)


def _converted(manifest: Manifest, kind: str, version: str, to: str) -> dict[str, Any]:
    body, kept = _without_lost_fields(manifest, DOMAIN + to)
    made = _translated(body, kind, to)
    back = _translated(made, kind, version)
    result = restored(made, kept, _schemas(kind)[to], DOMAIN + to)
    if result is not made and _translated(result, kind, version) != back:
        # A lost field does not show in the other version, so Quotree did not write this annotation. Users who
        # may not write the status must not be able to do so with the annotation.
        result = made
    return _with_lost_fields(result, DOMAIN + version, lost_fields(body, back, DOMAIN + version))


def _translated(body: Manifest, kind: str, to: str) -> dict[str, Any]:
    """The fields that both versions have, in the form of `to`."""
    version = next(each for each in VERSIONS if each != to)
    result = kinds.translated(body, kind, to)
    result["apiVersion"] = f"{GROUP}/{to}"
    annotations = mapping(mapping(body.get("metadata")).get("annotations"))
    if DOMAIN + version in annotations:  # not Quotree's, since an object of this version has no lost fields
        result["metadata"] = _with_annotations(result, {k: v for k, v in annotations.items() if k != DOMAIN + version})
    declared = _schemas(kind)
    return kinds.without_undeclared(result, declared[version], declared[to])


def _without_lost_fields(manifest: Manifest, key: str) -> tuple[dict[str, Any], list[LostFields]]:
    """The object without this annotation, and the lost fields in it: none if Quotree did not write it."""
    body = dict(manifest)
    annotations = mapping(mapping(body.get("metadata")).get("annotations"))
    if key not in annotations:
        return body, []
    body["metadata"] = _with_annotations(body, {name: value for name, value in annotations.items() if name != key})
    try:
        return body, LostFields.read(json.loads(text(annotations[key]) or ""))
    except (ValueError, RecursionError):
        return body, []


def _with_lost_fields(body: dict[str, Any], key: str, lost: list[LostFields]) -> dict[str, Any]:
    if not lost:
        return body
    content = json.dumps([each.write() for each in lost], separators=(",", ":"), sort_keys=True, allow_nan=False)
    annotations = {**mapping(mapping(body.get("metadata")).get("annotations")), key: content}
    size = sum(len(str(name).encode()) + len(str(value).encode()) for name, value in annotations.items())
    if size > _MOST_ANNOTATIONS:
        raise Unconvertible(
            f"what only {key.removeprefix(DOMAIN)} can express needs {size} bytes of annotations, but "
            f"{_MOST_ANNOTATIONS} are allowed; read and write this object as {key.removeprefix(DOMAIN)}"
        )
    return {**body, "metadata": _with_annotations(body, annotations)}


def _with_annotations(body: Manifest, annotations: Mapping[str, Any]) -> dict[str, Any]:
    """The object with these annotations. If there are none, the key `annotations` is left out."""
    metadata = {key: value for key, value in mapping(body.get("metadata")).items() if key != "annotations"}
    return {**metadata, "annotations": dict(annotations)} if annotations else metadata


@cache
def _schemas(kind: str) -> Mapping[str, Schema]:
    declaration = declarations.load(declarations.FILES[GROUP, kind])
    return {version["name"]: version["schema"] for version in declaration["versions"]}
