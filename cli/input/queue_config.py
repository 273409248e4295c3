"""A bare queues.yaml of YuniKorn among the manifests: it stands for the ConfigMap that would hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cli.input.document_positions import Place, Position
from policies.dialects.yunikorn_config.configmap import CONFIGS
from policies.model import fields

NAMESPACE = "yunikorn"
KEY = "queues.yaml"
_WITHIN = fields.join("data", KEY)


@dataclass(frozen=True, slots=True)
class QueuesPlace(Place):
    """Finds the fields of the text under the ConfigMap's key in the file itself."""

    def locate(self, field: str) -> Position:
        return Place.locate(self, field.removeprefix(_WITHIN).lstrip(".") if field.startswith(_WITHIN) else "")


def is_queue_config(value: dict[str, Any]) -> bool:
    """Partitions, and nothing that would make a manifest of it."""
    return "partitions" in value and "kind" not in value and "apiVersion" not in value


def as_config_map(place: Place) -> tuple[dict[str, Any], QueuesPlace]:
    """The manifest with the text as it stands, and the place of that text."""
    start, end = place.span.document
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIGS, "namespace": NAMESPACE},
        "data": {KEY: place.text[start:end]},
    }
    return manifest, QueuesPlace(place.text, place.steps, place.span, place.line, place.within)
