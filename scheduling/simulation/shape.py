"""What an API server would refuse of an object that has no schema here: a job, a Pod, a LimitRange, a RuntimeClass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies.dialects.reading import Manifest, listing, mapping, text
from policies.model import fields
from policies.model.defect import Defect
from policies.model.quantity import BadQuantity, Quantity

_OF_RESOURCES = ("requests", "limits")
_OF_LIMIT_RANGE = ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio")
_COUNTS = ("parallelism", "completions", "replicas")


def faults(manifest: Manifest) -> Iterator[Defect]:
    """Names, labels, numbers of pods, and every quantity that is asked for."""
    yield from _of_metadata(manifest.get("metadata"))
    for key in ("spec", "overhead"):
        if manifest.get(key) is not None and not isinstance(manifest[key], dict):
            yield Defect(key, "is no mapping")
    yield from _of_amounts(manifest)
    overhead = mapping(manifest.get("overhead"))
    yield from _quantities(overhead.get("podFixed"), "overhead.podFixed")
    if manifest.get("kind") == "LimitRange":
        for index, item in enumerate(listing(mapping(manifest.get("spec")).get("limits"))):
            for key in _OF_LIMIT_RANGE:
                yield from _quantities(mapping(item).get(key), fields.join("spec.limits", index, key))


def _of_metadata(meta: object) -> Iterator[Defect]:
    if not isinstance(meta, dict):
        yield Defect("metadata", "is no mapping; it needs a name at least")
        return
    if not text(meta.get("name")) and not text(meta.get("generateName")):
        yield Defect("metadata.name", "is missing; it is required, unless there is a generateName")
    if meta.get("namespace") is not None and not isinstance(meta["namespace"], str):
        yield Defect("metadata.namespace", "is no text")
    for key in ("labels", "annotations"):
        values = meta.get(key)
        if values is not None and not isinstance(values, dict):
            yield Defect(f"metadata.{key}", "is no mapping")
        for name, value in mapping(values).items():
            if not isinstance(value, str):
                yield Defect(fields.join("metadata", key, name), "is no text; write it in quotes")


def _of_amounts(manifest: Manifest) -> Iterator[Defect]:
    """Everything called resources in it, and the numbers of pods."""
    stack: list[tuple[Any, tuple[str | int, ...]]] = [(manifest.get("spec"), ("spec",))]
    while stack:
        thing, at = stack.pop()
        if isinstance(thing, list):
            stack.extend((item, (*at, index)) for index, item in enumerate(thing))
        elif isinstance(thing, dict):
            if at[-1] == "resources":
                for key in _OF_RESOURCES:
                    yield from _quantities(thing.get(key), fields.join("", *at, key))
            for key in _COUNTS:
                if thing.get(key) is not None and not _is_count(thing[key]):
                    yield Defect(fields.join("", *at, key), f"{thing[key]!r} is no number from 0 to 2147483647")
            stack.extend((value, (*at, key)) for key, value in thing.items())


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _quantities(values: object, at: str) -> Iterator[Defect]:
    if values is not None and not isinstance(values, dict):
        yield Defect(at, "is no mapping of quantities")
    for resource, value in mapping(values).items():
        try:
            negative = Quantity.parse(value) < Quantity.ZERO
        except BadQuantity as error:
            yield Defect(fields.join(at, resource), str(error), quantity=True)
            continue
        if negative:
            yield Defect(fields.join(at, resource), f"{value} is negative; nothing can be asked for less than 0")
