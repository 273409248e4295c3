"""Finds the fields of YuniKorn's queues.yaml in the input: in a bare file, or in a text in YuniKorn's ConfigMap.

A bare file is read as the ConfigMap that would contain it, and values for YuniKorn's chart as the one that it makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from policies.dialects.yunikorn_config.configmap import CONFIGS, DEFAULTS
from policies.model import fields
from policies.text import yaml_values
from policies.text.field_paths import Outline, Region
from policies.text.positions import Position

NAMESPACE = "yunikorn"
KEY = "queues.yaml"
VALUES_KEY = "yunikornDefaults"
"""The key in the values for YuniKorn's chart whose value becomes the data of the ConfigMap."""
DATA = "data"
_QUEUES_FIELD = fields.join(DATA, KEY)
_EMPTY_LINES = r"(?:[ \t]*+\r?\n)*+"  # possessive, so that it does not backtrack over many lines
_match_literal_block = re.compile(
    r"\|[-+]?[ \t]*+(?:#[^\n]*+)?\r?\n"
    rf"(?P<lines>{_EMPTY_LINES}(?P<indent> ++)[^\n]*+(?:\n(?:(?P=indent)[^\n]*+|[ \t\r]*+(?=\n|\Z)))*+)"
).match
"""Matches a literal block, beginning with its `|`. It does not match a block with an indentation indicator (`|4`)."""


@dataclass(frozen=True, slots=True)
class QueuesFileRegion(Region):
    """The region of a bare queues.yaml. A field below the ConfigMap's key is found in the file itself."""

    def locate(self, field: str) -> Position:
        inner = field.removeprefix(_QUEUES_FIELD).lstrip(".") if field.startswith(_QUEUES_FIELD) else ""
        return Region.locate(self, inner)


class _LiteralBlock:
    """The literal block with queues.yaml in a ConfigMap. It is searched only once."""

    def __init__(self, whole: Outline, end: int, field: str = _QUEUES_FIELD) -> None:
        self._whole = whole
        self._end = end
        self._field = field

    @cached_property
    def outline(self) -> Outline | None:
        """The outline of its lines; None if queues.yaml is not a literal block."""
        text, start = self._whole.text, self._whole.find(self._field)
        block = _match_literal_block(text, start, self._end) if start is not None else None
        return Outline(text, self._whole.steps, *block.span("lines")) if block else None


@dataclass(frozen=True, slots=True)
class ConfigMapRegion(Region):
    """The region of a ConfigMap with queues.yaml.

    In a literal block (`|`) the lines of queues.yaml are lines of the file with more indentation, so its fields are
    found in the file. In other forms of the text, all fields have the position of the text.
    `data`: the field with the data.
    """

    block: _LiteralBlock | None = None
    data: str = DATA

    def locate(self, field: str) -> Position:
        inner = self.block.outline if self.block is not None and field.startswith(_QUEUES_FIELD) else None
        found = inner.find(field.removeprefix(_QUEUES_FIELD).lstrip(".")) if inner is not None else None
        if found is not None:
            return self.lines.position(found)
        return Region.locate(self, self.data + field.removeprefix(DATA) if field.startswith(DATA) else field)


def is_queue_config(value: dict[str, Any]) -> bool:
    """Whether the value looks like a bare queues.yaml: it has partitions, but neither kind nor apiVersion."""
    return "partitions" in value and "kind" not in value and "apiVersion" not in value


def has_queues(region: Region) -> bool:
    """Whether a partition of a bare file has queues. Files of other programs have partitions as well."""
    start, end = region.span.document
    partitions = yaml_values.single(region.outline.text[start:end])["partitions"]
    return isinstance(partitions, list) and any(isinstance(it, dict) and "queues" in it for it in partitions)


def config_map_region(manifest: dict[str, Any], region: Region) -> Region:
    """The region of a manifest. For a ConfigMap it also finds the fields of its queues.yaml."""
    if manifest.get("kind") != "ConfigMap" or region.within:
        return region
    return ConfigMapRegion(
        region.outline, region.lines, region.span, block=_LiteralBlock(region.outline, region.span.end)
    )


def of_values(value: dict[str, Any], region: Region) -> Iterator[tuple[dict[str, Any], ConfigMapRegion]]:
    """The ConfigMap that YuniKorn's chart makes of values with queues, and the region for its fields.

    The values may be a file, those of a chart with YuniKorn's as a part, or those in a HelmRelease or an Application.
    """
    left: list[tuple[str, Any]] = [("", value)]
    while left:
        at, here = left.pop()
        if isinstance(here, list):
            left += ((fields.join(at, index), inner) for index, inner in enumerate(here))
        elif isinstance(here, dict):
            left += ((fields.join(at, str(key)), inner) for key, inner in here.items())
            data = here.get(VALUES_KEY)
            if isinstance(data, dict) and isinstance(data.get(KEY), str):
                field = fields.join(at, VALUES_KEY)
                block = _LiteralBlock(region.outline, region.span.end, fields.join(field, KEY))
                texts = {key: text for key, text in data.items() if isinstance(text, str)}
                yield (
                    _config_map(DEFAULTS, texts),
                    ConfigMapRegion(region.outline, region.lines, region.span, block=block, data=field),
                )


def is_nameless(region: Region) -> bool:
    """Whether the text has no name of the ConfigMap, so that any two such texts describe the same object."""
    return isinstance(region, QueuesFileRegion) or (isinstance(region, ConfigMapRegion) and region.data != DATA)


def _config_map(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}, "data": data}


def as_config_map(region: Region) -> tuple[dict[str, Any], QueuesFileRegion]:
    """The ConfigMap with the text of the region, and the region for its fields."""
    start, end = region.span.document
    manifest = _config_map(CONFIGS, {KEY: region.outline.text[start:end]})
    return manifest, QueuesFileRegion(region.outline, region.lines, region.span, region.within)
