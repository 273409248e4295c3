"""The workers of MultiKueue: connection, free quota, what runs there."""

from __future__ import annotations

from typing import Any

from dashboard.reading.cache import CachedReader


def page(reader: CachedReader) -> dict[str, Any]:
    """The worker clusters for the template, those without a connection first. Raises ClusterError."""
    found = list(reader.ask("/v1/clusters")["items"])
    return {"clusters": sorted(found, key=lambda each: each.get("connection") == "connected")}
