"""Sessions that have ended before their time, in a ConfigMap that all replicas watch."""

from __future__ import annotations

import threading
import time
from hashlib import sha256

from cluster.actions import Patch
from cluster.apply import perform
from cluster.client import ClusterClient
from cluster.reflector import ChangeKind, Pacing, Reflector
from cluster.resource import CONFIG_MAPS, Manifest

MOST_ENDED = 2000
"""Sessions in the ConfigMap, about 100 KiB. It has no room for more before the first of them expires."""
_MANAGER = "quotree-dashboard"
_WATCH = Pacing(first=0.2, longest=3.0)


class TooManyEnded(Exception):
    """The list of ended sessions is full."""


class EndedSessions:
    """The list has a hash of each session and when its cookie expires, in Unix seconds; nobody can sign in with it.

    May be used by many threads. `start` in the process that serves, since threads do not survive a fork.
    """

    def __init__(self, cluster: ClusterClient, namespace: str, name: str) -> None:
        self._cluster, self._namespace, self._name = cluster, namespace, name
        self._lock = threading.Lock()
        self._until: dict[str, float] = {}
        self._uid = ""
        self._reflector: Reflector[Manifest] = Reflector(
            cluster,
            CONFIG_MAPS,
            self._changed,
            on_replace=self._listed,
            keep=lambda manifest: manifest,
            namespace=namespace,
            field_selector=f"metadata.name={name}",
            pacing=_WATCH,
        )

    def start(self) -> None:
        """Begin to follow the list."""
        self._reflector.start()

    def close(self) -> None:
        """Stop following it."""
        self._reflector.stop()
        self._cluster.close()

    def unready(self) -> str:
        """Why it is not known which sessions have ended; empty once it is. Until then no session may be opened."""
        if self._uid:
            return ""
        error = None if self._reflector.synced.is_set() else self._reflector.last_error
        return f"ConfigMap {self._namespace}/{self._name} " + (f"cannot be read: {error}" if error else "was not found")

    def has(self, session: str) -> bool:
        """Whether the session has ended."""
        return _key(session) in self._until

    def add(self, session: str, until: float) -> None:
        """End a session whose cookie expires at `until`, in Unix seconds, at every replica.

        Raises ClusterError if the list cannot be written, TooManyEnded if it is full.
        """
        key, now = _key(session), time.time()
        with self._lock:
            expired = [each for each, end in self._until.items() if end <= now and each != key]
            if key not in self._until and len(self._until) - len(expired) >= MOST_ENDED:
                raise TooManyEnded(f"ConfigMap {self._namespace}/{self._name} has {MOST_ENDED} sessions and is full")
            uid = self._uid
        data = {**dict.fromkeys(expired), key: str(int(until) + 1)}
        # The keys of two replicas differ, so their writes need no order.
        patch = Patch(CONFIG_MAPS, self._namespace, self._name, {"data": data}, "", _MANAGER, uid=uid)
        self._take(perform(self._cluster, patch))

    def _listed(self, items: tuple[Manifest, ...], _: str) -> None:
        for each in items:
            self._take(each)

    def _changed(self, kind: ChangeKind, manifest: Manifest, _: str) -> None:
        if kind != "DELETED":
            self._take(manifest)

    def _take(self, manifest: Manifest) -> None:
        """Sessions never come back: what was known before is kept, also if somebody deletes the list."""
        now = time.time()
        found = {key: _seconds(text) for key, text in (manifest.get("data") or {}).items()}
        with self._lock:
            kept = {key: end for key, end in self._until.items() if end > now}
            self._until = kept | found
            self._uid = str(manifest["metadata"]["uid"])


def _key(session: str) -> str:
    return sha256(session.encode()).hexdigest()[:32]


def _seconds(text: str) -> float:
    """0 for what is not a time: the next write removes it."""
    return float(text) if text.isdecimal() else 0.0
