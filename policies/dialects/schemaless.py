"""Finds faults that an API server would reject in kinds without a schema: jobs, Pods, LimitRanges, RuntimeClasses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies.dialects.reading import Manifest, group_kind, listing, mapping, not_texts, text
from policies.model import fields
from policies.model.objects import Defect
from policies.model.quantity import BadQuantity, Quantity, correction
from policies.model.suggestion import certain
from policies.schema.values import value_text

_OF_RESOURCES = ("requests", "limits")
_OF_LIMIT_RANGE = ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio")
_COUNTS = ("parallelism", "completions", "replicas")
_RESTARTS = ("Always", "OnFailure", "Never")
_DECODED_BY_GO = frozenset({"", "apps", "batch", "node.k8s.io", "workload.codeflare.dev"})
"""The API groups in which a quantity may be a fractional number, or null for 0. In other groups a schema requires an
integer or a string. AppWrapper is here because it contains objects of any kind.
"""


def faults(manifest: Manifest) -> Iterator[Defect]:
    """Faults of names, labels, numbers of pods, restart policies and quantities."""
    yield from _of_metadata(manifest.get("metadata"))
    for key in ("spec", "overhead"):
        if manifest.get(key) is not None and not isinstance(manifest[key], dict):
            yield Defect(key, "is not a mapping")
    by_go = group_kind(manifest).group in _DECODED_BY_GO
    yield from _of_amounts(manifest, by_go=by_go)
    yield from pod_faults(manifest)
    overhead = mapping(manifest.get("overhead"))
    yield from _quantities(overhead.get("podFixed"), "overhead.podFixed", by_go=by_go)
    if manifest.get("kind") == "LimitRange":
        for index, item in enumerate(listing(mapping(manifest.get("spec")).get("limits"))):
            for key in _OF_LIMIT_RANGE:
                yield from _quantities(mapping(item).get(key), fields.join("spec.limits", index, key), by_go=by_go)


def pod_faults(manifest: Manifest) -> Iterator[Defect]:
    """Faults of pod templates: restart policies, and labels or node selectors that are not strings."""
    for value, at in _mappings(manifest):
        if at[-1] == "metadata":
            yield from _labels(value, fields.join("", *at))
        elif "containers" in value:
            yield from _restart_policy(value.get("restartPolicy"), fields.join("", *at, "restartPolicy"))
            yield from not_texts(value.get("nodeSelector"), fields.join("", *at, "nodeSelector"))


def _restart_policy(written: object, at: str) -> Iterator[Defect]:
    if isinstance(written, str) and written not in _RESTARTS:
        message = f"{written!r} is not a restart policy; write one of {', '.join(_RESTARTS)}"
        yield Defect(at, message, write=certain(written, _RESTARTS) or None)


def _mappings(manifest: Manifest) -> Iterator[tuple[dict[str, Any], tuple[str | int, ...]]]:
    """All mappings below `spec`, each with its path."""
    stack: list[tuple[Any, tuple[str | int, ...]]] = [(manifest.get("spec"), ("spec",))]
    while stack:
        value, at = stack.pop()
        if isinstance(value, list):
            stack.extend((item, (*at, index)) for index, item in enumerate(value))
        elif isinstance(value, dict):
            yield value, at
            stack.extend((child, (*at, key)) for key, child in value.items())


def _of_metadata(meta: object) -> Iterator[Defect]:
    if meta is None:
        meta = {}
    if not isinstance(meta, dict):
        yield Defect("metadata", "is not a mapping; it needs at least a name")
        return
    if not text(meta.get("name")) and not text(meta.get("generateName")):
        yield Defect("metadata.name", "is missing; it is required unless generateName is set")
    if meta.get("namespace") is not None and not isinstance(meta["namespace"], str):
        yield Defect("metadata.namespace", "is not a string")
    yield from _labels(meta, "metadata")


def _labels(meta: dict[str, Any], at: str) -> Iterator[Defect]:
    for key in ("labels", "annotations"):
        if meta.get(key) is not None and not isinstance(meta[key], dict):
            yield Defect(f"{at}.{key}", "is not a mapping")
        yield from not_texts(meta.get(key), f"{at}.{key}")


def _of_amounts(manifest: Manifest, *, by_go: bool) -> Iterator[Defect]:
    for value, at in _mappings(manifest):
        if at[-1] == "resources":
            for key in _OF_RESOURCES:
                yield from _quantities(value.get(key), fields.join("", *at, key), by_go=by_go)
        for key in _COUNTS:
            if value.get(key) is not None and not _is_count(value[key]):
                yield Defect(
                    fields.join("", *at, key), f"{value_text(value[key])} is not a whole number from 0 to 2147483647"
                )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _quantities(values: object, at: str, *, by_go: bool) -> Iterator[Defect]:
    """Faults of a mapping of quantities. `by_go`: whether its group is one of `_DECODED_BY_GO`."""
    if values is not None and not isinstance(values, dict):
        yield Defect(at, "is not a mapping of quantities")
    for resource, value in mapping(values).items():
        if value is None and by_go:
            continue
        try:
            negative = (Quantity.decode if by_go else Quantity.parse)(value) < Quantity.ZERO
        except BadQuantity as error:
            yield Defect(fields.join(at, resource), str(error), quantity=True, write=correction(value))
            continue
        if negative:
            yield Defect(fields.join(at, resource), f"{value} is negative; request 0 or more")
