"""A migration as JSON. Its schema is docs/schemas/migration.schema.json; a change of meaning needs a new apiVersion."""

from __future__ import annotations

from dataclasses import asdict

from cli.input.migration import Migrated
from cli.output import json_text
from cli.report.as_json import place_json

API_VERSION = "quotree.dev/v1alpha1"


def migration_json(found: Migrated) -> str:
    answer = {
        "apiVersion": API_VERSION,
        "kind": "Migration",
        "from": str(found.origin),
        "objects": list(found.migration.objects),
        "lost": [asdict(each) for each in found.migration.lost],
        "renamed": dict(found.migration.names),
        "unreadable": [{**place_json(item.place), "message": item.message} for item in found.unreadable],
    }
    return json_text(answer)
