"""The workers of MultiKueue: connection, free quota, what runs there."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from dashboard.pages.formatting import path_part
from dashboard.reading.cache import CachedReader

_ORDER = {word: turn for turn, word in enumerate(("lost", "misconfigured", "connecting", "connected"))}


def worker_url(name: str) -> str:
    """Its place on the page."""
    return f"/clusters#worker-{path_part(name)}"


def page(reader: CachedReader) -> dict[str, Any]:
    """The worker clusters for the template, the worst first. Raises ClusterError."""
    found = sorted(reader.ask("/v1/clusters")["items"], key=lambda each: _ORDER.get(str(each.get("connection")), 0))
    return {"clusters": [{**each, "command": _command(each)} for each in found]}


def _command(worker: Mapping[str, Any]) -> str:
    """What makes the Secret that is missing; empty where none is."""
    namespace, _, name = str(worker.get("missingSecret") or "").partition("/")
    made = ("kubectl", "-n", namespace, "create", "secret", "generic", name, "--from-file=kubeconfig=worker.yaml")
    return shlex.join(made) if name else ""
