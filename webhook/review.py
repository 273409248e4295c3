"""Parses AdmissionReviews. Only this module reads the raw request; routes and rules get a Review."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from policies.dialects.core import NAMESPACE
from policies.dialects.reading import Manifest, group_kind, mapping, text
from policies.judging.changes import changed
from policies.model.change import Change, ChangeOperation, User
from policies.model.objects import GroupKind, KubeObject

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"


class BadReview(Exception):
    """The body is not a valid AdmissionReview. The message says why. `field`: the path of the wrong field, or empty."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One request of the API server.

    `object` is missing on DELETE, `old_object` on CREATE. `kind` is that of the object. `name` is empty if the API
    server generates it (generateName), and for each object of a DELETECOLLECTION, which arrives as DELETE. `resource`
    is the API group and the plural of what the request names; with a subresource, `kind` may be another one.
    """

    uid: str
    operation: ChangeOperation
    kind: GroupKind
    namespace: str = ""
    name: str = ""
    resource: tuple[str, str] = ("", "")
    subresource: str = ""
    dry_run: bool = False
    user: User = field(default_factory=User)
    object: Manifest | None = None
    old_object: Manifest | None = None

    @property
    def manifest(self) -> Manifest:
        """The new object or, on DELETE, the old one."""
        manifest = self.old_object if self.object is None else self.object
        assert manifest is not None
        return manifest

    def change(self, known: KubeObject | None = None, *, orchestrated: bool = False) -> Change | None:
        """The change of the object; None for a kind without quota.

        `known`: the old object if it is already parsed.
        `orchestrated`: see `policies.dialects.readers.read`.
        """
        change = changed(self.old_object, self.object, self.subresource, known, orchestrated=orchestrated)
        if change is None:
            return None
        before, after = _stored(change.before), _stored(change.after)
        same = before is change.before and after is change.after  # nearly always, so spare the copy
        return change if same else Change(before, after, change.defects)


def _stored(found: KubeObject | None) -> KubeObject | None:
    """The object without warnings about unknown fields, since the API server has already dropped these fields."""
    if found is None or not found.defects or not any(defect.warning for defect in found.defects):
        return found
    return replace(found, defects=tuple(defect for defect in found.defects if not defect.warning))


def parse(body: bytes) -> Review:
    """Read the request of an AdmissionReview. Raises BadReview."""
    review = _load(body)
    got = (review.get("apiVersion"), review.get("kind"))
    if got != (API_VERSION, KIND):
        raise BadReview(
            f"expected apiVersion {API_VERSION} and kind {KIND}, got {got[0]!r} and {got[1]!r};"
            " set admissionReviewVersions: [v1] in the webhook configuration",
            "apiVersion" if got[0] != API_VERSION else "kind",
        )
    request = _mapping(review, "request", "")
    return _review(request, _operation(request))


def _review(request: Mapping[str, Any], operation: ChangeOperation) -> Review:
    namespace, name = _text(request, "namespace"), _text(request, "name")
    new = _object(request, "object", namespace, needed=operation is not ChangeOperation.DELETE)
    old = _object(request, "oldObject", namespace, needed=operation is not ChangeOperation.CREATE)
    user = _mapping(request, "userInfo", "request.", needed=False)
    resource = _mapping(request, "resource", "request.", needed=False)
    manifest = old if operation is ChangeOperation.DELETE else new
    assert manifest is not None
    return Review(
        uid=_text(request, "uid"),
        operation=operation,
        kind=group_kind(manifest),
        namespace=namespace,
        name=name,
        resource=(_text(resource, "group", "request.resource."), _text(resource, "resource", "request.resource.")),
        subresource=_text(request, "subResource"),
        dry_run=request.get("dryRun") is True,
        user=User(_text(user, "username", "request.userInfo."), _groups(user)),
        object=new if operation is not ChangeOperation.DELETE else None,
        old_object=old if operation is not ChangeOperation.CREATE else None,
    )


_OPERATIONS = {str(operation): operation for operation in ChangeOperation}


def _operation(request: Mapping[str, Any]) -> ChangeOperation:
    name = _text(request, "operation")
    operation = _OPERATIONS.get(name)
    if operation is None:
        raise BadReview(
            f"request.operation is {name!r}; it must be one of {', '.join(ChangeOperation)}", "request.operation"
        )
    return operation


def _object(request: Mapping[str, Any], key: str, namespace: str, *, needed: bool) -> Manifest | None:
    """The manifest. If it has no namespace, it gets that of the request."""
    manifest = _mapping(request, key, "request.", needed=needed)
    if not manifest:
        if needed:
            raise BadReview(f"request.{key} is empty; it must have the object", f"request.{key}")
        return None
    if not text(manifest.get("apiVersion")) or not text(manifest.get("kind")):
        raise BadReview(f"request.{key} has no apiVersion and kind", f"request.{key}")
    metadata = manifest.get("metadata")
    if not namespace or not isinstance(metadata, Mapping) or group_kind(manifest) == NAMESPACE:
        return manifest  # in a request for a Namespace, `namespace` is its own name
    if text(metadata.get("namespace")):
        return manifest
    return {**manifest, "metadata": {**metadata, "namespace": namespace}}


def _mapping(parent: Mapping[str, Any], key: str, path: str, *, needed: bool = True) -> Mapping[str, Any]:
    value = parent.get(key)
    if value is None and not needed:
        return {}
    if not isinstance(value, (dict, Mapping)):
        raise BadReview(f"{path}{key} must be an object, it is {_name(value)}", path + key)
    return value


def _text(parent: Mapping[str, Any], key: str, path: str = "request.") -> str:
    value = parent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadReview(f"{path}{key} must be a string, it is {_name(value)}", path + key)
    return value


def _groups(user: Mapping[str, Any]) -> tuple[str, ...]:
    groups = user.get("groups")
    return tuple(group for group in groups if isinstance(group, str)) if isinstance(groups, list) else ()


_NAMES = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "missing"}


def _name(value: object) -> str:
    return _NAMES.get(type(value), "a number")


def _load(body: bytes) -> Mapping[str, Any]:
    try:
        review = _READER.decode(body.decode())
    except RecursionError:
        raise BadReview("the body is nested too deeply") from None
    except ValueError as error:
        raise BadReview(f"the body is not JSON: {error}") from None
    return mapping(review)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dict. Rejects duplicate keys, since another parser might use the other value."""
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise BadReview(f"the body has the duplicate key {twice!r} in one object")
    return found


def _decimal(text: str) -> Decimal:
    """The exact number. Rejects one that is too large for the 64-bit floats of the API server."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("Infinity")
    if math.isinf(float(number)):
        raise BadReview(f"the body has the number {text[:40]}, which is too large")
    return number


def _no_number(name: str) -> NoReturn:
    raise BadReview(f"the body is not JSON: {name} is not a JSON number")


_READER = json.JSONDecoder(parse_float=_decimal, parse_constant=_no_number, object_pairs_hook=_without_duplicates)
