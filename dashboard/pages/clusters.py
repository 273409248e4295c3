"""The workers of MultiKueue: connection, free quota, what runs there."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from dashboard.reading.cache import CachedReader


def page(reader: CachedReader) -> dict[str, Any]:
    """The worker clusters for the template, those without a connection first. Raises ClusterError."""
    found = sorted(reader.ask("/v1/clusters")["items"], key=lambda each: each.get("connection") == "connected")
    return {"clusters": [{**each, "command": _command(each)} for each in found]}


def _command(worker: Mapping[str, Any]) -> str:
    """What makes the Secret that is missing; empty where none is."""
    namespace, _, name = str(worker.get("missingSecret") or "").partition("/")
    made = ("kubectl", "-n", namespace, "create", "secret", "generic", name, "--from-file=kubeconfig=worker.yaml")
    return shlex.join(made) if name else ""
