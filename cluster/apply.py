"""Performs the actions of `cluster.actions`; each purpose has its field manager.

Leases, take-overs and migrations of storage write on their own.
"""

import base64
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from cluster.actions import (
    INSTALLED_BY,
    Action,
    Apply,
    ApplySecret,
    Create,
    Delete,
    Evict,
    Patch,
    SetApiServiceBundle,
    SetCaBundle,
    SetConversionBundle,
)
from cluster.client import MERGE_PATCH, ClusterClient
from cluster.errors import ApiError, EvictionBlocked, NotFound
from cluster.leftovers import leftovers, owners_without
from cluster.resource import (
    API_SERVICES,
    CUSTOM_RESOURCE_DEFINITIONS,
    MUTATING_WEBHOOKS,
    SECRETS,
    VALIDATING_WEBHOOKS,
    Manifest,
    Resource,
)
from policies.dialects.kueue_kinds import CONVERSION_PATH

CERTS_MANAGER = "quotree-certs"
CONFLICT, TOO_MANY = 409, 429
INVALID = 422
"""The HTTP status of an object that its schema does not allow."""

WEBHOOKS: Mapping[str, Resource] = {
    "ValidatingWebhookConfiguration": VALIDATING_WEBHOOKS,
    "MutatingWebhookConfiguration": MUTATING_WEBHOOKS,
}


def perform(cluster: ClusterClient, action: Action) -> Manifest:
    """Perform the action; returns the object as stored afterwards. Actions are idempotent.

    Raises Conflict if a compare-and-swap lost: read and decide again. Raises NotFound if the namespace, the webhook
    configuration or the CustomResourceDefinition does not exist, and other ApiErrors that the server returns.
    """
    match action:
        case ApplySecret():
            return _apply_secret(cluster, action)
        case SetCaBundle():
            return _set_ca_bundle(cluster, action)
        case SetConversionBundle():
            return _set_conversion_bundle(cluster, action)
        case SetApiServiceBundle():
            return _set_api_service_bundle(cluster, action)
        case Create():
            collection = action.resource.collection(action.namespace)
            return cluster.create(collection, dict(action.body), field_manager=action.manager)
        case Apply():
            return _apply(cluster, action)
        case Patch():
            return _patch(cluster, action)
        case Evict():
            return _evict(cluster, action)
        case Delete():
            path = action.resource.item(action.name, action.namespace)
            return cluster.delete(
                path,
                resource_version=action.resource_version,
                uid=action.uid,
                propagation=action.propagation,
                grace_seconds=action.grace_seconds,
            )


def _evict(cluster: ClusterClient, action: Evict) -> Manifest:
    """Evict the Pod, and return it as read afterwards; empty if it is gone. Raises EvictionBlocked."""
    path = action.resource.item(action.name, action.namespace)
    preconditions = {"uid": action.uid, "resourceVersion": action.resource_version}
    body: Manifest = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": action.name, "namespace": action.namespace},
        "deleteOptions": {"preconditions": {key: value for key, value in preconditions.items() if value}},
    }
    try:
        cluster.create(f"{path}/eviction", body)
    except ApiError as refused:
        if refused.status == TOO_MANY and refused.has_cause("DisruptionBudget"):
            raise EvictionBlocked(CONFLICT, refused.reason, refused.message, request=refused.request) from refused
        raise
    try:
        return cluster.get(path)
    except NotFound:
        return {}


def _patch(cluster: ClusterClient, action: Patch) -> Manifest:
    bound = {"resourceVersion": action.resource_version, "uid": action.uid}
    metadata = {**action.body.get("metadata", {}), **{key: value for key, value in bound.items() if value}}
    path = action.resource.item(action.name, action.namespace, subresource=action.subresource)
    body = {**action.body, "metadata": metadata}
    return cluster.patch(path, body, MERGE_PATCH, field_manager=action.manager, dry_run=action.dry_run)


def _apply(cluster: ClusterClient, action: Apply) -> Manifest:
    """Apply, then remove fields that `action.body` removes and other managers still own.

    The removal is a merge patch: one that only removes fields makes nobody their owner. The manager also loses what it
    owns through merge patches of an earlier version of Quotree: otherwise another program that applies with the same
    manager, such as Kueue, could not remove these fields. Only a write of the object itself, not of a subresource, can
    change `managedFields`.
    """
    try:
        stored = _applied(cluster, action, action.resource_version)
    except ApiError as refused:
        if refused.status != INVALID:
            raise
        # If another manager owns only the key of a list entry, the entry is invalid once the apply drops our fields.
        stored = _patch(cluster, action)
        with suppress(ApiError):  # the next apply retries it
            stored = _applied(cluster, action, stored["metadata"]["resourceVersion"])
    with suppress(ApiError):  # the answer reports what was stored; the next apply retries the rest
        if left := leftovers(stored, action.body):
            stored = _patch_again(cluster, action, stored, left, action.subresource)
        ended = {action.manager: None, **({action.ends: action.body} if action.ends else {})}
        owners = owners_without(stored, ended, action.subresource)
        if owners is not None:
            stored = _patch_again(cluster, action, stored, {"metadata": {"managedFields": owners}}, None)
    return stored


def _applied(cluster: ClusterClient, action: Apply, version: str | None) -> Manifest:
    path = action.resource.item(action.name, action.namespace, subresource=action.subresource)
    metadata = {"name": action.name, "namespace": action.namespace, "resourceVersion": version}
    return cluster.apply(path, {**action.applied, "metadata": metadata}, action.manager, force=True)


def _patch_again(
    cluster: ClusterClient, action: Apply, stored: Manifest, body: Mapping[str, Any], subresource: str | None
) -> Manifest:
    version = stored["metadata"]["resourceVersion"]
    patch = Patch(action.resource, action.namespace, action.name, body, version, action.manager, subresource)
    return _patch(cluster, patch)


def _apply_secret(cluster: ClusterClient, action: ApplySecret) -> Manifest:
    data = {key: base64.b64encode(value).decode() for key, value in action.data.items()}
    metadata = {"name": action.name, "namespace": action.namespace, "labels": dict(action.labels)}
    body: Manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
    if action.resource_version is None:
        # POST, since apply would overwrite what another replica has just created.
        return cluster.create(SECRETS.collection(action.namespace), body, field_manager=CERTS_MANAGER)
    metadata["resourceVersion"] = action.resource_version
    return cluster.apply(SECRETS.item(action.name, action.namespace), body, CERTS_MANAGER, force=True)


def _set_ca_bundle(cluster: ClusterClient, action: SetCaBundle) -> Manifest:
    path = WEBHOOKS[action.kind].item(action.name)
    present = [webhook["name"] for webhook in cluster.get(path).get("webhooks") or ()]
    wanted = [name for name in present if action.webhooks is None or name in action.webhooks]
    bundle = base64.b64encode(action.ca_bundle).decode()
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": action.kind,
        "metadata": _named(action.name, action.resource_version),
        # Server-side apply treats `webhooks` as a map by name: fields that are absent here stay with their owners.
        "webhooks": [{"name": name, "clientConfig": {"caBundle": bundle}} for name in wanted],
    }
    return cluster.apply(path, body, CERTS_MANAGER, force=True)


def _set_conversion_bundle(cluster: ClusterClient, action: SetConversionBundle) -> Manifest:
    path = CUSTOM_RESOURCE_DEFINITIONS.item(action.name)
    present = cluster.get(path)
    bundle = base64.b64encode(action.ca_bundle).decode()
    if not converts_with_us(present):
        return present
    if present["spec"]["conversion"]["webhook"].get("clientConfig", {}).get("caBundle") == bundle:
        return present  # a needless write would make the API server rebuild its handler of the kind
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        # The version ensures that Kueue's definition has not replaced ours meanwhile.
        "metadata": _named(action.name, action.resource_version or present["metadata"]["resourceVersion"]),
        "spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}},
    }
    return cluster.apply(path, body, CERTS_MANAGER, force=True)


def _set_api_service_bundle(cluster: ClusterClient, action: SetApiServiceBundle) -> Manifest:
    body = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": _named(action.name, action.resource_version),
        "spec": {"caBundle": base64.b64encode(action.ca_bundle).decode()},
    }
    return cluster.apply(API_SERVICES.item(action.name), body, CERTS_MANAGER, force=True)


def _named(name: str, version: str) -> dict[str, str]:
    return {"name": name, "resourceVersion": version} if version else {"name": name}


def converts_with_us(definition: Mapping[str, Any]) -> bool:
    """Whether our webhook converts this definition's objects: it is our definition, or one taken over from Kueue."""
    conversion = definition["spec"].get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return False
    ours = INSTALLED_BY.items() <= (definition["metadata"].get("labels") or {}).items()
    service = (conversion.get("webhook") or {}).get("clientConfig", {}).get("service") or {}
    return ours or service.get("path") == CONVERSION_PATH
