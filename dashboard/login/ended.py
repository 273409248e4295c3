"""Records sessions that ended before their cookie expired, in a ConfigMap that all replicas watch."""

from __future__ import annotations

import threading
import time
from hashlib import sha256

from cluster.actions import Patch
from cluster.apply import perform
from cluster.client import ClusterClient
from cluster.reflector import Pacing, of_one, whole
from cluster.resource import CONFIG_MAPS, Manifest

MOST_ENDED = 2000
"""The maximum number of sessions in the ConfigMap, about 100 KiB. Expired sessions make room for others."""
_MANAGER = "quotree-dashboard"
_WATCH = Pacing(first=0.2, longest=3.0)


class TooManyEnded(Exception):
    """The list of ended sessions is full."""


class EndedSessions:
    """The list of ended sessions. It maps a hash of each session to the time in Unix seconds when its cookie expires.

    Nobody can sign in with a hash. The class is thread-safe. Call `start` in the process that serves, since threads do
    not survive a fork.
    """

    def __init__(self, cluster: ClusterClient, namespace: str, name: str) -> None:
        self._cluster, self._namespace, self._name = cluster, namespace, name
        self._lock = threading.Lock()
        self._until: dict[str, float] = {}
        self._uid = ""
        self._reflector = of_one(
            cluster, CONFIG_MAPS, name, self._observe, keep=whole, namespace=namespace, pacing=_WATCH
        )

    def start(self) -> None:
        self._reflector.start()

    def close(self) -> None:
        self._reflector.stop()
        self._cluster.close()

    def unready(self) -> str:
        """Why the list is unknown; empty if it is known. While it is unknown, no session may be opened."""
        if self._uid:
            return ""
        error = None if self._reflector.synced.is_set() else self._reflector.last_error
        return f"ConfigMap {self._namespace}/{self._name} " + (f"cannot be read: {error}" if error else "was not found")

    def has(self, session: str) -> bool:
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
        # Replicas write different keys of the ConfigMap, so concurrent writes do not conflict.
        patch = Patch(CONFIG_MAPS, self._namespace, self._name, {"data": data}, "", _MANAGER, uid=uid)
        self._take(perform(self._cluster, patch))

    def _observe(self, manifest: Manifest | None) -> None:
        if manifest is not None:
            self._take(manifest)

    def _take(self, manifest: Manifest) -> None:
        """Add the sessions of the ConfigMap. Known sessions stay until they expire, even if the list is deleted."""
        now = time.time()
        found = {key: _seconds(text) for key, text in (manifest.get("data") or {}).items()}
        with self._lock:
            kept = {key: end for key, end in self._until.items() if end > now}
            self._until = kept | found
            self._uid = str(manifest["metadata"]["uid"])


def _key(session: str) -> str:
    return sha256(session.encode()).hexdigest()[:32]


def _seconds(text: str) -> float:
    """The time in a value; 0 if it is not a time, so that the next write removes the entry."""
    return float(text) if text.isdecimal() else 0.0
