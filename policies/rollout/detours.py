"""Makes detours: intermediate versions of an object that make room for other edits.

A node has less quota, or is outside of its tree. YuniKorn's ConfigMap has room for the queues before and after.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from policies import dialects
from policies.dialects.core import YUNIKORN, Namespace
from policies.dialects.kueue import KueueNode
from policies.dialects.reading import Manifest, Parsed, listing, mapping, metadata
from policies.dialects.volcano import Queue
from policies.dialects.yunikorn_config.configmap import QueueConfigMap
from policies.rollout.edits import Edit
from policies.rollout.queue_configs import lower, with_higher_guarantees, with_lower_guarantees

_LIMITS = ("borrowingLimit", "lendingLimit")
_GUARANTEED = YUNIKORN + "namespace.guaranteed"
_QUOTA = YUNIKORN + "namespace.quota"


def detours(edit: Edit) -> Iterator[Parsed]:
    """The versions to try, the smallest change first. Only nodes, Namespaces and YuniKorn's ConfigMap have any, and
    only if they exist before and after."""
    before, after = edit.before, edit.after
    if before is None or after is None or before.manifest is None or after.manifest is None:
        return
    makers: tuple[Callable[[Manifest, Manifest], Manifest], ...] = ()
    if isinstance(after.object, KueueNode):
        key = after.object.parent_field.removeprefix("spec.")
        makers = (_lowered_quota, _without(key), _without_quota)
    elif isinstance(after.object, Queue):
        makers = (_lowered_amounts, _without_amounts)
    elif isinstance(after.object, Namespace):
        makers = (_lowered_annotations, _without_guaranteed)
    elif isinstance(after.object, QueueConfigMap):
        makers = (with_higher_guarantees, with_lower_guarantees)
    for make in makers:
        manifest = make(before.manifest, after.manifest)
        found = dialects.read(manifest)
        if found is not None and not found.defects and found not in (before.object, after.object):
            yield Parsed(found, manifest)


# --- Kueue


def _lowered_quota(before: Manifest, after: Manifest) -> Manifest:
    """The node below its old parent, with the lower amount of each pair before and after."""
    final = dict(_quotas(after))
    found = _copy(before)
    for place, quota in _quotas(found):
        for key in ("nominalQuota", "lendingLimit"):
            if key in quota:
                missing = 0 if key == "nominalQuota" else quota[key]
                quota[key] = lower(quota[key], final.get(place, {}).get(key, missing))
    return found


def _without_quota(before: Manifest, after: Manifest) -> Manifest:  # noqa: ARG001, as the others
    """The node below its old parent, without quota of its own."""
    found = _copy(before)
    for _, quota in _quotas(found):
        quota["nominalQuota"] = 0
        if "lendingLimit" in quota:
            quota["lendingLimit"] = 0
    return found


def _without(key: str) -> Callable[[Manifest, Manifest], Manifest]:
    """The node as a root, without the field `key` of its parent, and without limits, which need a parent."""

    def make(before: Manifest, after: Manifest) -> Manifest:  # noqa: ARG001, as the others
        found = _copy(before)
        found["spec"].pop(key, None)
        for _, quota in _quotas(found):
            for limit in _LIMITS:
                quota.pop(limit, None)
        return found

    return make


def _quotas(manifest: Mapping[str, Any]) -> Iterator[tuple[tuple[object, object], dict[str, Any]]]:
    for group in listing(mapping(manifest.get("spec")).get("resourceGroups")):
        for flavor in listing(mapping(group).get("flavors")):
            for quota in listing(mapping(flavor).get("resources")):
                if isinstance(quota, dict):
                    yield (mapping(flavor).get("name"), quota.get("name")), quota


# --- Volcano


def _lowered_amounts(before: Manifest, after: Manifest) -> Manifest:
    """The queue below its old parent, with the lower amount of each resource before and after."""
    final = _promises(after)
    found = _copy(before)
    for field, amounts in _promises(found).items():
        for resource in amounts:
            amounts[resource] = lower(amounts[resource], final.get(field, {}).get(resource, 0))
    return found


def _without_amounts(before: Manifest, after: Manifest) -> Manifest:  # noqa: ARG001, as the others
    """The queue below its old parent, with nothing promised."""
    found = _copy(before)
    found["spec"].pop("guarantee", None)
    found["spec"].pop("deserved", None)
    return found


def _promises(manifest: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    spec = mapping(manifest.get("spec"))
    found = {"deserved": spec.get("deserved"), "guarantee": mapping(spec.get("guarantee")).get("resource")}
    return {field: amounts for field, amounts in found.items() if isinstance(amounts, dict)}


# --- YuniKorn


def _lowered_annotations(before: Manifest, after: Manifest) -> Manifest:
    """The Namespace below its old queue, with the lower amount of each resource before and after.

    A resource without a guarantee counts as 0, and a resource without a quota as unlimited.
    """
    found = _with_own_annotations(before)
    notes, final = found["metadata"]["annotations"], mapping(metadata(after).get("annotations"))
    guaranteed, quota = _amounts(final, _GUARANTEED), _amounts(final, _QUOTA)
    lowest = {
        _GUARANTEED: {
            name: lower(was, guaranteed.get(name, "0")) for name, was in _amounts(notes, _GUARANTEED).items()
        },
        _QUOTA: {name: lower(was, quota.get(name, was)) for name, was in _amounts(notes, _QUOTA).items()},
    }
    notes |= {key: json.dumps(amounts) for key, amounts in lowest.items() if amounts}
    return found


def _without_guaranteed(before: Manifest, after: Manifest) -> Manifest:  # noqa: ARG001, as the others
    """The Namespace below its old queue, with nothing guaranteed."""
    found = _with_own_annotations(before)
    found["metadata"]["annotations"].pop(_GUARANTEED, None)
    return found


def _with_own_annotations(manifest: Manifest) -> dict[str, Any]:
    """A copy whose annotations may be changed."""
    meta = metadata(manifest)
    return {**manifest, "metadata": {**meta, "annotations": dict(mapping(meta.get("annotations")))}}


def _amounts(annotations: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The mapping in a JSON text; empty for a text that is not a JSON object."""
    try:
        return mapping(json.loads(annotations.get(key) or "{}"))
    except (ValueError, TypeError, RecursionError):
        return {}


# --- all


def _copy(manifest: Manifest) -> dict[str, Any]:
    found = deepcopy(dict(manifest))
    found["spec"] = dict(mapping(found.get("spec")))
    return found
