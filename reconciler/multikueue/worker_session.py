"""A connection to a worker: a client, a writer, a reflector for each kind, and regular checks.

Until it is closed, it passes all events to `report`, from several threads. After that no event is reported. A session
ends with `SessionBroken`; its owner decides when to open another one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from cluster.actions import Action
from cluster.client import ClusterClient
from cluster.endpoint import Endpoint, from_content
from cluster.errors import ApiError, ClusterError, Forbidden, SetBack, Unauthorized, Unreachable
from cluster.reflector import Pacing, Reflector
from cluster.wire import Timeouts
from reconciler.multikueue.kubeconfigs import WorkerLogin
from reconciler.multikueue.rate_limit import RequestRate
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Failed, Outcome
from reconciler.objects.watched import WORKLOAD_VIEW, WatchedKind, by_resource
from reconciler.shell.reflectors import follow
from reconciler.shell.writer import Writer

log = logging.getLogger(__name__)

_LIST_POLL = 0.1
"""Seconds between two checks whether everything is listed."""
_VERSION = "/version"
"""A path for which any API server has a cheap response for every authenticated user."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """The timing of the checks, in seconds.

    `every`: the time between two checks whether the worker answers.
    `answer`: the longest time for any request.
    `silence`: the longest time without news of a kind while its watch fails.
    `watch`: the duration of a watch request.
    `longest_wait`: the longest time between two attempts to connect.
    `rate`: writes per second; 0 for no limit.
    `burst`: the writes that may follow at once after a pause; 0 for those of one second.
    """

    every: float = 5.0
    answer: float = 10.0
    silence: float = 15.0
    watch: int = 45
    longest_wait: float = 320.0
    rate: float = 1000.0
    burst: int = 0


@dataclass(frozen=True, slots=True)
class SessionReady:
    """All kinds that may be read are listed. `unread`: the kinds that the credentials may not read, with the reason."""

    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionBroken:
    """The connection could not be opened, or has broken. `refused`: whether the worker refused the credentials."""

    message: str
    refused: bool = False


SessionEvent: TypeAlias = Observed[object] | Listed | Outcome | SessionReady | SessionBroken


class WorkerSession:
    """The session.

    `name`: the name of the worker.
    `login`: its kubeconfig.
    `watched`: the kinds to watch.
    `report`: called with each event.
    `may_write`: called before each write; returns whether this process may write.
    `patience`: the seconds in which everything must be listed.
    `pulse`: the timing of the checks.
    """

    def __init__(
        self,
        name: str,
        login: WorkerLogin,
        watched: tuple[WatchedKind[object], ...],
        report: Callable[[WorkerSession, SessionEvent], None],
        may_write: Callable[[], bool],
        patience: float,
        pulse: Pulse,
    ) -> None:
        self.heard_at = 0.0
        self._name = name
        self._login = login
        self._watched = watched
        self._report = report
        self._patience = patience
        self._pulse = pulse
        self._pace = RequestRate(pulse.rate, pulse.burst)
        self._permit = may_write
        self._ended = threading.Event()
        self._worried = threading.Event()
        self._set_back: SetBack | None = None
        self._writer: Writer | None = None
        self._reflectors: list[Reflector[tuple[Observed[object], ...]]] = []
        self._thread = threading.Thread(target=self._run, name=f"worker {name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def write(self, key: Key, action: Action) -> None:
        """Execute the write. Its result is reported."""
        if self._writer is None:
            self._report(self, Failed(key, action, Unreachable(self._name, "not connected yet", "try again")))
        else:
            self._writer.write(key, action)

    def close(self) -> None:
        """Close the session, and return at once. Requests in flight are abandoned."""
        self._ended.set()
        self._worried.set()

    def _run(self) -> None:
        try:
            endpoint = self._endpoint()
        except ClusterError as error:
            self._report(self, SessionBroken(str(error)))
            return
        answer = self._pulse.answer
        timeouts = Timeouts(connect=min(5.0, answer), read=answer, watch_grace=answer)
        with ClusterClient(endpoint, timeouts=timeouts, attempts=2) as worker:
            self._guard(worker)
            self._end()

    def _endpoint(self) -> Endpoint:
        login = self._login
        return from_content(login.config, f"the kubeconfig of {self._name}", link_local=login.link_local)

    def _guard(self, worker: ClusterClient) -> None:
        """Run until the session is closed or breaks, and report the latter at once."""
        try:
            self._live(worker)
        except ClusterError as error:
            self._report(self, SessionBroken(str(error), refused=isinstance(error, Unauthorized)))
        except Exception as error:
            log.exception("worker %s: its connection failed with an internal error", self._name)
            self._report(self, SessionBroken(f"{type(error).__name__}: {error}"))

    def _live(self, worker: ClusterClient) -> None:
        """Run until the session is closed. Raises ClusterError as soon as the connection is found broken."""
        self._ping(worker)
        self._writer = Writer(worker, lambda event: self._report(self, event), self._may_write)
        pacing = Pacing(longest=60.0, watch=self._pulse.watch)
        self._reflectors = follow(worker, self._hear, by_resource(self._watched), pacing)
        self._report(self, SessionReady(self._await_lists()))
        while not self._ended.is_set():
            self._worried.wait(self._pulse.every)
            self._worried.clear()
            self._check_worker(worker)

    def _hear(self, event: Observed[object] | Listed | SetBack) -> None:
        if isinstance(event, SetBack):
            self._set_back = event
            self._worried.set()
        else:
            self._report(self, event)

    def _end(self) -> None:
        self._ended.set()
        for reflector in self._reflectors:
            reflector.stop(timeout=0)
        if self._writer is not None:
            self._writer.close()
        for reflector in self._reflectors:
            reflector.stop(timeout=2 * self._pulse.answer)

    def _may_write(self) -> bool:
        self._pace.wait()
        return self._permit() and not self._ended.is_set()

    def _await_lists(self) -> tuple[str, ...]:
        """Wait until all kinds are listed. Returns those that may not be read. Raises ClusterError on a failure."""
        deadline = time.monotonic() + self._patience
        while not self._ended.is_set():
            waiting = [each for each in self._reflectors if not each.synced.is_set()]
            unread = [each for each in waiting if isinstance(each.last_error, Forbidden)]
            for reflector in waiting:
                error = reflector.last_error
                if isinstance(error, ClusterError) and not self._may_be_unread(reflector, error):
                    raise error
            if len(unread) == len(waiting):
                self._need_workloads()
                return tuple(f"{each.resource}: {each.last_error}" for each in unread)
            if time.monotonic() > deadline:
                missing = ", ".join(str(each.resource) for each in waiting)
                raise Unreachable(
                    self._name, f"{missing} not listed within {self._patience:.0f} s", "it is tried again"
                )
            self._ended.wait(_LIST_POLL)
        return ()

    def _may_be_unread(self, reflector: Reflector[tuple[Observed[object], ...]], error: ClusterError) -> bool:
        """Whether the session can do without this kind. The credentials must allow to read Workloads."""
        return isinstance(error, Forbidden) and reflector is not self._workloads

    @property
    def _workloads(self) -> Reflector[tuple[Observed[object], ...]]:
        return next(each for each in self._reflectors if each.resource == WORKLOAD_VIEW.resource)

    def _need_workloads(self) -> None:
        if isinstance(self._workloads.last_error, ApiError) and self._workloads.state == "absent":
            raise Unreachable(self._name, f"it has no {self._workloads.resource}", "install Kueue's kinds there")

    def _check_worker(self, worker: ClusterClient) -> None:
        """Check the worker.

        Raises ClusterError if it was set back, does not answer twice in a row, or a kind has had no news for too long.
        """
        if self._ended.is_set():
            return
        if self._set_back is not None:
            raise self._set_back
        try:
            self._ping(worker)
        except Unauthorized:
            raise
        except ClusterError:
            self._ping(worker)
        for each in self._reflectors:
            failing = each.state in ("waiting", "listing") and each.synced.is_set()
            if failing and isinstance(each.last_error, ClusterError) and (each.age or 0.0) > self._pulse.silence:
                raise each.last_error
        self._need_workloads()

    def _ping(self, worker: ClusterClient) -> None:
        """Send a request. Any response except a server error or refused credentials shows that the worker is alive."""
        try:
            worker.get(_VERSION)
        except ApiError as error:
            if isinstance(error, Unauthorized) or error.status >= 500 or error.status == 429:
                raise
        self.heard_at = time.time()

    def worry(self) -> None:
        """A write got no response: check now whether the worker answers."""
        self._worried.set()
