"""YuniKorn's queues.yaml among the manifests: bare, or as a text in its ConfigMap.

A bare one is read as the ConfigMap that would hold it. In both, a field of the queues has its place in the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from policies.dialects.yunikorn_config.configmap import CONFIGS
from policies.model import fields
from policies.text import yaml_values
from policies.text.field_paths import Outline, Region
from policies.text.positions import Position

NAMESPACE = "yunikorn"
KEY = "queues.yaml"
_WITHIN = fields.join("data", KEY)
_EMPTY = r"(?:[ \t]*+\r?\n)*+"  # possessive: no memory for ways back, however many lines
_LITERAL = re.compile(
    r"\|[-+]?[ \t]*+(?:#[^\n]*+)?\r?\n"
    rf"(?P<lines>{_EMPTY}(?P<indent> ++)[^\n]*+(?:\n(?:(?P=indent)[^\n]*+|[ \t\r]*+(?=\n|\Z)))*+)"
).match
"""A literal block from its `|` on, without an indentation indicator."""


@dataclass(frozen=True, slots=True)
class QueuesRegion(Region):
    """Finds the fields of the text under the ConfigMap's key in the file itself."""

    def locate(self, field: str) -> Position:
        return Region.locate(self, field.removeprefix(_WITHIN).lstrip(".") if field.startswith(_WITHIN) else "")


class _Block:
    """The lines of a text that is a literal block, searched once."""

    def __init__(self, whole: Outline, end: int) -> None:
        self._whole = whole
        self._end = end

    @cached_property
    def outline(self) -> Outline | None:
        """The outline of the block; None if the text is not such a block."""
        text, at = self._whole.text, self._whole.find(_WITHIN)
        lines = _LITERAL(text, at, self._end) if at is not None else None
        return Outline(text, self._whole.steps, *lines.span("lines")) if lines else None


@dataclass(frozen=True, slots=True)
class BlockRegion(Region):
    """Finds the fields of a text that is a literal block (`|`) under the ConfigMap's key.

    The lines of such a block are those of the text, only further right, so the file itself is read there. In any other
    text the lines are not those of the file: then the place is that of the text.
    """

    block: _Block | None = None

    def locate(self, field: str) -> Position:
        inner = self.block.outline if self.block is not None and field.startswith(_WITHIN) else None
        found = inner.find(field.removeprefix(_WITHIN).lstrip(".")) if inner is not None else None
        return Region.locate(self, field) if found is None else self.lines.position(found)


def is_queue_config(value: dict[str, Any]) -> bool:
    """Whether it has partitions, and neither kind nor apiVersion."""
    return "partitions" in value and "kind" not in value and "apiVersion" not in value


def names_queues(region: Region) -> bool:
    """Whether a bare text names queues in one of its partitions; other programs have partitions as well."""
    start, end = region.span.document
    partitions = yaml_values.single(region.outline.text[start:end])["partitions"]
    return isinstance(partitions, list) and any(isinstance(it, dict) and "queues" in it for it in partitions)


def within_config_map(manifest: dict[str, Any], region: Region) -> Region:
    """The region of a manifest, where fields inside of its queues.yaml are found."""
    if manifest.get("kind") != "ConfigMap" or region.within:
        return region
    return BlockRegion(region.outline, region.lines, region.span, block=_Block(region.outline, region.span.end))


def as_config_map(region: Region) -> tuple[dict[str, Any], QueuesRegion]:
    """The manifest with the text unchanged, and where that text is."""
    start, end = region.span.document
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIGS, "namespace": NAMESPACE},
        "data": {KEY: region.outline.text[start:end]},
    }
    return manifest, QueuesRegion(region.outline, region.lines, region.span, region.within)
