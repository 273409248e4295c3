"""A bare queues.yaml of YuniKorn among the manifests: it is read as the ConfigMap that would hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from policies.dialects.yunikorn_config.configmap import CONFIGS
from policies.model import fields
from policies.text.field_paths import Region
from policies.text.positions import Position

NAMESPACE = "yunikorn"
KEY = "queues.yaml"
_WITHIN = fields.join("data", KEY)


@dataclass(frozen=True, slots=True)
class QueuesRegion(Region):
    """Finds the fields of the text under the ConfigMap's key in the file itself."""

    def locate(self, field: str) -> Position:
        return Region.locate(self, field.removeprefix(_WITHIN).lstrip(".") if field.startswith(_WITHIN) else "")


def is_queue_config(value: dict[str, Any]) -> bool:
    """Whether it has partitions, and neither kind nor apiVersion."""
    return "partitions" in value and "kind" not in value and "apiVersion" not in value


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
