"""The workers of MultiKueue: connection, free quota, what runs there."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from typing import Any

from dashboard.pages.formatting import path_part
from dashboard.pages.parts import Tile
from dashboard.reading.cache import CachedReader

_ORDER = {word: turn for turn, word in enumerate(("lost", "misconfigured", "connecting", "connected"))}


def worker_url(name: str) -> str:
    """Its place on the page."""
    return f"/clusters#worker-{path_part(name)}"


def page(reader: CachedReader) -> dict[str, Any]:
    """The worker clusters for the template, the worst first. Raises ClusterError."""
    found = sorted(reader.ask("/v1/clusters")["items"], key=lambda each: _ORDER.get(str(each.get("connection")), 0))
    counts = Counter(str(each.get("connection")) for each in found)
    wrong = [Tile(counts[word], word, state="bad") for word in ("lost", "misconfigured") if counts[word]]
    tiles = [
        *wrong,
        *([Tile(counts["connecting"], "connecting", state="pending")] if counts["connecting"] else []),
        Tile(counts["connected"], "connected", state="used" if counts["connected"] else ""),
        Tile(sum(each.get("placed") or 0 for each in found), "Workloads there"),
    ]
    return {"clusters": [{**each, "command": _command(each)} for each in found], "tiles": tiles if found else []}


def _command(worker: Mapping[str, Any]) -> str:
    """What makes the Secret that is missing; empty where none is."""
    namespace, _, name = str(worker.get("missingSecret") or "").partition("/")
    made = ("kubectl", "-n", namespace, "create", "secret", "generic", name, "--from-file=kubeconfig=worker.yaml")
    return shlex.join(made) if name else ""
