"""Carries actions out beside the loop, one at a time for each object, and only while the Lease is held."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

from cluster.actions import Action
from cluster.apply import perform
from cluster.client import Cluster
from cluster.errors import ClusterError, NotFound
from cluster.retry import Backoff
from cluster.stream import Manifest
from reconciler.feed import Followed, Key, Listed, Seen

log = logging.getLogger(__name__)
_THREADS = 8
"""As many writes at a time; one write waits for the API server, so this is its load and not ours."""
_LATER_THREADS = 2
_LATER = ("Event", "ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor", "AdmissionCheck")
"""What only tells how things stand has threads of its own: admissions never wait behind a thousand statuses."""


@dataclass(frozen=True, slots=True)
class Written:
    """An action was carried out; `manifest` is the object as it is stored now, or as it was when it was deleted."""

    key: Key
    action: Action
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Failed:
    """An action was not carried out, or nobody knows."""

    key: Key
    action: Action | None
    error: Exception


@dataclass(frozen=True, slots=True)
class Read:
    """An object as it is stored now, after a write that came too late."""

    key: Key
    manifest: Manifest


Outcome: TypeAlias = Written | Failed | Read


@dataclass(slots=True)
class Round:
    """How the loop is doing, for tests and metrics."""

    cycles: int = 0
    written: int = 0
    failed: int = 0


class Lost(ClusterError):
    """The Lease is not held any more, so nothing was written."""


class Writer:
    """`tell` gets what came of each action, from another thread. `may_write` is asked before each.

    `writes` are the connections for writing: they give up before another one may write, and try once.
    `known`: see `Followed.seen`.
    """

    def __init__(
        self,
        cluster: Cluster,
        tell: Callable[[Outcome | Listed], None],
        may_write: Callable[[], bool],
        writes: Cluster | None = None,
        known: Callable[[Key], Seen | None] = lambda _: None,
    ) -> None:
        self._cluster = cluster
        self._writes = writes or cluster
        self._tell = tell
        self._may_write = may_write
        self._known = known
        self._closed = threading.Event()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="writer")
        self._later = ThreadPoolExecutor(_LATER_THREADS, thread_name_prefix="status")

    def write(self, key: Key, action: Action) -> None:
        pool = self._later if key[0] in _LATER else self._pool
        pool.submit(self._perform, key, action)

    def read(self, key: Key, path: str) -> None:
        """Have the object read anew."""
        self._pool.submit(self._get, key, path)

    def relist(self, followed: Followed, asked: int) -> None:
        """Have all objects of a kind read anew, as often as it takes. `asked`: see `Known.ask`."""
        self._pool.submit(self._list, followed, asked)

    def close(self) -> None:
        """What was not begun is dropped; what was is waited for."""
        self._closed.set()
        for pool in (self._pool, self._later):
            pool.shutdown(wait=True, cancel_futures=True)

    def _perform(self, key: Key, action: Action) -> None:
        try:
            if not self._may_write():
                raise Lost("the Lease is not held")
            self._tell(Written(key, action, perform(self._writes, action)))
        except ClusterError as error:
            self._tell(Failed(key, action, error))
        except Exception as error:
            log.exception("%s: a write failed by a fault of ours", key)
            self._tell(Failed(key, action, error))

    def _list(self, followed: Followed, asked: int) -> None:
        backoff = Backoff()
        while not self._closed.is_set():
            try:
                listing = self._cluster.snapshot(
                    followed.resource,
                    lambda each: followed.seen(each, self._known),
                    label_selector=followed.labelled,
                    attempts=1,
                )
            except NotFound:
                self._tell(Listed(followed.kind, (), asked=asked))  # not installed, or no longer
                return
            except ClusterError as error:
                log.warning("%s could not be listed: %s", followed.resource, error)
                self._closed.wait(backoff.next())
            except Exception:
                log.exception("%s could not be listed by a fault of ours; it is tried again", followed.resource)
                self._closed.wait(backoff.next())
            else:
                self._tell(Listed(followed.kind, listing.items, listing.resource_version, asked))
                return

    def _get(self, key: Key, path: str) -> None:
        try:
            self._tell(Read(key, self._cluster.get(path)))
        except ClusterError as error:
            self._tell(Failed(key, None, error))
        except Exception as error:
            log.exception("%s: a read failed by a fault of ours", key)
            self._tell(Failed(key, None, error))
