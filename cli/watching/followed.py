"""Counts changes of the objects that commands read in a cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from cli.exits import OutOfReach
from cli.input.against import Against
from cluster.errors import ClusterError
from cluster.sources import WatchSource

_LISTED = 10.0
"""Seconds to wait for the first lists. Objects that arrive later count as changes."""
_POLL_SECONDS = 0.05


class ChangeCounter:
    """A thread-safe counter."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def add(self) -> None:
        with self._lock:
            self.count += 1


@contextmanager
def following(against: Against) -> Iterator[ChangeCounter]:
    """Count the changes in a cluster until the `with` block ends. Without a cluster, the count stays 0.

    Raises OutOfReach.
    """
    changes = ChangeCounter()
    if against.kind != "cluster":
        yield changes
        return
    from analysis.cluster import read_kinds  # here, since these take long to load
    from cluster.store import Store

    try:
        cluster = against.login.connect()
    except ClusterError as error:
        raise OutOfReach(f"cannot read {against}: {error}") from error
    store = Store(following=[_counted(source, changes) for source in read_kinds()])
    with cluster:
        store.start(cluster)
        try:
            until = time.monotonic() + _LISTED
            while store.ready() and time.monotonic() < until:
                time.sleep(_POLL_SECONDS)
            yield changes
        finally:
            store.close()


def _counted(source: WatchSource, changes: ChangeCounter) -> WatchSource:
    """The source, changed so that it counts each object that arrives and keeps only its name."""

    def count(manifest: Mapping[str, Any]) -> dict[str, Any]:
        changes.add()
        meta = manifest.get("metadata") or {}
        named = {key: meta[key] for key in ("name", "namespace") if key in meta}
        return {"apiVersion": manifest.get("apiVersion"), "kind": manifest.get("kind"), "metadata": named}

    return replace(source, trim=count)
