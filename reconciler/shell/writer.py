"""Executes actions in other threads, one at a time for each object, and only while the Lease is held."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from cluster.actions import Action
from cluster.apply import perform
from cluster.client import ClusterClient, ObjectListing
from cluster.errors import ClusterError, NotFound
from cluster.resource import Resource
from cluster.retry import RandomBackoff
from reconciler.core.commands import REPORTS
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Failed, LeaseLost, ObjectRead, Outcome, Written
from reconciler.objects.watched import WatchedResource, lists_of
from reconciler.shell.precedence import ReportPrecedence
from reconciler.shell.write_window import LEAST, MOST, WriteWindow

log = logging.getLogger(__name__)
_REPORTS = 8
"""The most reports at a time. Reports have their own threads, so that an admission never waits behind a thousand
statuses, and competes with only a few of them for connections and processor time."""
_READS = 32
"""The most reads of single objects at a time. They have their own threads, so that no write waits behind them: one
Workload may name thousands of owners."""


class Writer:
    """Executes actions.

    `report`: called with the result of each action, in the thread that executed it.
    `may_write`: called before each action; returns whether this process may write.
    `writes`: the client for writes. It tries once, and times out before another process may write.
    `known`: see `WatchedKind.observed`.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        report: Callable[[Outcome | Listed], None],
        may_write: Callable[[], bool],
        writes: ClusterClient | None = None,
        known: Callable[[Key], Observed[object] | None] = lambda _: None,
    ) -> None:
        self._cluster = cluster
        self._writes = writes or cluster
        self._report = report
        self._may_write = may_write
        self._known = known
        self._closed = threading.Event()
        self._pool = ThreadPoolExecutor(MOST, thread_name_prefix="writer")
        self._window = WriteWindow(self._pool)
        self._reads = ThreadPoolExecutor(_READS, thread_name_prefix="reader")
        self._later = ThreadPoolExecutor(_REPORTS, thread_name_prefix="status")
        self._precedence = ReportPrecedence(self._beside)

    def write(self, key: Key, action: Action) -> None:
        if key[0] in REPORTS:
            self._later.submit(self._perform_later, key, action, time.monotonic())
        else:
            self._precedence.begin()
            self._window.put(partial(self._perform_first, key, action))

    def read(self, key: Key, resource: Resource) -> None:
        self._reads.submit(self._get, key, resource)

    def relist(self, watched: WatchedResource, request: int) -> None:
        """List all objects of a resource again, with retries. `request`: see `ListProgress.ask`."""
        self._pool.submit(self._list, watched, request)

    def close(self) -> None:
        """Stop. Actions that have not begun are dropped; the others are completed."""
        self._closed.set()
        self._precedence.end()
        self._window.drop()
        for pool in (self._pool, self._reads, self._later):
            pool.shutdown(wait=True, cancel_futures=True)

    def _beside(self) -> int:
        """How many reports may be in flight together with other writes: one while the API server responds quickly.

        Then two reports would take a tenth of its capacity each from the admissions. While responses take long, the
        window is larger, and as many more reports are written, so that no status is minutes late.
        """
        return max(1, self._window.size - LEAST)

    def _perform_first(self, key: Key, action: Action) -> Exception | None:
        try:
            return self._perform(key, action)
        finally:
            self._precedence.done()

    def _perform_later(self, key: Key, action: Action, asked_at: float) -> None:
        with self._precedence.report(asked_at):
            self._perform(key, action)

    def _perform(self, key: Key, action: Action) -> Exception | None:
        """Perform the action and report the result. Returns the error."""
        try:
            if not self._may_write():
                raise LeaseLost("the Lease is not held")
            self._report(Written(key, action, perform(self._writes, action)))
        except Exception as error:
            if not isinstance(error, ClusterError):
                log.exception("%s: a write failed with an internal error", key)
            self._report(Failed(key, action, error))
            return error
        return None

    def _list(self, watched: WatchedResource, request: int) -> None:
        backoff = RandomBackoff()
        while not self._closed.is_set():
            try:
                listing = self._cluster.snapshot(
                    watched.resource,
                    lambda each: watched.observed(each, self._known),
                    label_selector=watched.label_selector,
                    field_selector=watched.field_selector,
                    attempts=1,
                )
            except NotFound:
                listing = ObjectListing((), "")  # the kind is not installed, or no longer
                break
            except ClusterError as error:
                log.warning("%s could not be listed: %s", watched.resource, error)
                self._closed.wait(backoff.next())
            except Exception:
                log.exception("%s could not be listed because of an internal error; it is retried", watched.resource)
                self._closed.wait(backoff.next())
            else:
                break
        else:
            return
        for listed in lists_of(watched, listing.items, listing.resource_version, request):
            self._report(listed)

    def _get(self, key: Key, resource: Resource) -> None:
        try:
            self._report(ObjectRead(key, self._cluster.get(resource.path(key[1]))))
        except Exception as error:
            if not isinstance(error, ClusterError):
                log.exception("%s: a read failed with an internal error", key)
            self._report(Failed(key, None, error))
