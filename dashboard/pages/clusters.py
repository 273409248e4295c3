"""The page about MultiKueue's worker clusters: their connections, their free quota, and the work on them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from typing import Any

from dashboard.pages.formatting import path_part
from dashboard.pages.parts import Tile
from dashboard.pages.times import past
from dashboard.reading.cache import CachedReader

_ORDER = {word: turn for turn, word in enumerate(("lost", "misconfigured", "connecting", "connected"))}
_EXPIRED = "with expired credentials"


def worker_url(name: str) -> str:
    return f"/clusters#worker-{path_part(name)}"


def page(reader: CachedReader) -> dict[str, Any]:
    """The variables of the template. The worker clusters with problems come first. Raises ClusterError."""
    every = [{**each, "command": _command(each), "state": _worst(each)} for each in reader.ask("/v1/clusters")["items"]]
    found = sorted(every, key=lambda each: _ORDER.get(each["state"], 0))
    counts = Counter(str(each.get("connection")) for each in found)
    counts[_EXPIRED] = sum(past(each.get("credentialsEnd")) for each in found)
    wrong = [Tile(counts[word], word, state="bad") for word in ("lost", "misconfigured", _EXPIRED) if counts[word]]
    tiles = [
        *wrong,
        *([Tile(counts["connecting"], "connecting", state="pending")] if counts["connecting"] else []),
        Tile(counts["connected"], "connected", state="used" if counts["connected"] else ""),
        Tile(sum(each.get("placed") or 0 for each in found), "Workloads there"),
    ]
    return {"clusters": found, "tiles": tiles if found else []}


def _worst(worker: Mapping[str, Any]) -> str:
    """The state of the worker's card: its connection, or `misconfigured` if its credentials have expired."""
    connection = str(worker.get("connection") or "")
    expired = connection in ("connecting", "connected") and past(worker.get("credentialsEnd"))
    return "misconfigured" if expired else connection


def _command(worker: Mapping[str, Any]) -> str:
    """The command that creates a missing Secret; empty if none is missing."""
    namespace, _, name = str(worker.get("missingSecret") or "").partition("/")
    made = ("kubectl", "-n", namespace, "create", "secret", "generic", name, "--from-file=kubeconfig=worker.yaml")
    return shlex.join(made) if name else ""
