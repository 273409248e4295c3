"""The connections to all workers: they are opened, checked, reopened after a failure, and closed.

All methods run in the loop's thread. Each `WorkerSession` has its own threads, and reports by a `Call`. Nothing in
memory has to survive a restart: the condition of the MultiKueueCluster shows when the worker was lost.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cluster.actions import Action
from cluster.errors import Unreachable
from reconciler.multikueue.kubeconfigs import RefusedKubeconfig, WorkerLogin
from reconciler.multikueue.worker_session import Pulse, SessionBroken, SessionEvent, SessionReady, WorkerSession
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Failed, ObjectRead, Outcome, Written
from reconciler.objects.watched import WatchedKind
from reconciler.objects.workers import ConnectionState, FromWorker, WorkerActivity, WorkerConnection
from reconciler.shell.call import Call
from scheduling.objects import times
from scheduling.objects.times import SECOND

log = logging.getLogger(__name__)

CONNECTED = "Connected"
FAILED = "ClientConnectionFailed"
JITTER = 0.1
RETRY, STEPS = 5 * SECOND, 7
"""The first wait after a failure, and how often it doubles at most: from 5 s to 5 min 20 s."""
PATIENCE, MOST_PATIENCE = 60 * SECOND, 600 * SECOND
"""How long everything on a worker may take to be listed. It doubles after each failure, because caches may be cold."""

Step: TypeAlias = Literal["keep", "connect", "wait"]


@dataclass
class ConnectedWorker:
    """A worker and its connection.

    `link`: when to connect.
    `login`: the kubeconfig, or why there is none; None if its source was not read yet.
    `session`: the open connection; None if there is none.
    `state`, `reason`, `message`: those of the connection.
    `stored`: the condition Active of its MultiKueueCluster.
    `pending`: the writes that have no response yet.
    `unread`: the kinds that the credentials may not read, with the reason.
    `reported`: the state of the connection as last reported.
    `heard_at`: the time of the last response in earlier sessions, in seconds since 1970.
    `losses`: how often the connection was lost.
    """

    name: str
    link: Link
    login: WorkerLogin | RefusedKubeconfig | None = None
    session: WorkerSession | None = None
    state: ConnectionState = "connecting"
    reason: str = ""
    message: str = ""
    stored: WorkerActivity = field(default_factory=WorkerActivity)
    pending: dict[Key, Action] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    reported: WorkerConnection | None = None
    heard_at: float = 0.0
    losses: int = 0

    @property
    def connection(self) -> WorkerConnection:
        """The state of the connection. It has the time of the stored condition, if the condition shows this state."""
        connected = self.state == "connected"
        agreed = self.stored.since and self.stored.holds == connected
        since = self.stored.since if agreed else 0
        link = self.link
        return WorkerConnection(self.state, self.reason, self.message, since, link.failures, link.retry_at)

    @property
    def last_heard(self) -> float:
        """The time of the last response, in seconds since 1970; 0 if the worker never answered."""
        return self.session.heard_at if self.session is not None and self.session.heard_at else self.heard_at


class Connections:
    """The connections.

    `post`: puts a call into the inbox of the loop.
    `emit`: reports an event to the core.
    `watched`: the kinds that are watched on workers.
    `may_write`: called before each write; returns whether this process may write.
    """

    def __init__(
        self,
        post: Callable[[Call], None],
        emit: Callable[[FromWorker], None],
        watched: tuple[WatchedKind[object], ...],
        may_write: Callable[[], bool],
        pulse: Pulse | None = None,
        clock: Callable[[], int] = time.time_ns,
        open_session: Callable[..., WorkerSession] = WorkerSession,
    ) -> None:
        self.workers: dict[str, ConnectedWorker] = {}
        self._post = post
        self._emit = emit
        self._watched = watched
        self._may_write = may_write
        self._pulse = pulse or Pulse()
        self._clock = clock
        self._open_session = open_session

    # --- the wanted connections

    def offer(self, name: str, login: WorkerLogin | RefusedKubeconfig) -> None:
        """Process the present kubeconfig of the worker, or the reason why there is none."""
        worker = self._worker(name)
        worker.login = login
        if isinstance(login, RefusedKubeconfig):
            self._refuse(worker, login)
            return
        another = login.content != worker.link.content
        if worker.link.step(login.content, self._clock()) == "connect" and (another or worker.session is None):
            if another:
                self._set(worker, "connecting", "", "")
            self._connect(worker, login)

    def renew(self, name: str) -> None:
        """Connect anew, if there is a connection. Until all is listed, the state of the worker is not known."""
        worker = self.workers.get(name)
        if worker is not None and worker.session is not None and isinstance(worker.login, WorkerLogin):
            if worker.state == "connected":
                self._set(worker, "connecting", "", "")
            self._connect(worker, worker.login)

    def drop(self, name: str) -> None:
        worker = self.workers.pop(name, None)
        if worker is not None:
            self._close(worker)
            self._emit(FromWorker(name, None))

    def stored(self, name: str, active: WorkerActivity) -> None:
        """Process the stored condition Active. It shows when the connection was lost."""
        worker = self._worker(name)
        worker.stored = active
        self._report(worker)

    def tick(self) -> None:
        """Retry the workers whose next attempt is due. Called regularly."""
        now = self._clock()
        for worker in self.workers.values():
            login = worker.login
            if (
                isinstance(login, WorkerLogin)
                and worker.session is None
                and worker.link.step(login.content, now) == "connect"
            ):
                self._connect(worker, login)

    def close(self) -> None:
        for worker in self.workers.values():
            if worker.session is not None:
                worker.session.close()

    def _worker(self, name: str) -> ConnectedWorker:
        known = self.workers.get(name)
        if known is None:
            longest = int(self._pulse.longest_wait * SECOND)
            known = self.workers[name] = ConnectedWorker(name, Link(jitter=JITTER, longest=longest))
        return known

    # --- writes

    def write(self, cluster: str, key: Key, action: Action) -> None:
        worker = self.workers.get(cluster)
        if worker is None or worker.session is None or worker.state != "connected":
            self._fail(cluster, {key: action}, sent=False)
        else:
            worker.pending[key] = action
            worker.session.write(key, action)

    def _fail(self, cluster: str, pending: Mapping[Key, Action], *, sent: bool) -> None:
        """Report these writes as failed. `sent`: whether they may have been executed."""
        error = Unreachable(cluster, "it is not connected", "it is tried again once it is", sent=sent)
        for key, action in pending.items():
            self._emit(FromWorker(cluster, Failed(key, action, error)))

    # --- reports of sessions

    def _take_event(self, name: str, session: WorkerSession, event: SessionEvent) -> None:
        worker = self.workers.get(name)
        if worker is None or worker.session is not session:
            return  # the session was closed, so its report is outdated
        match event:
            case Observed() | Listed():
                self._emit(FromWorker(name, event))
            case SessionReady():
                worker.link.made()
                worker.unread = event.unread
                self._set(worker, "connected", "Active", CONNECTED)
            case SessionBroken():
                self._session_broken(worker, event)
            case Written() | Failed() | ObjectRead():
                self._outcome(worker, event)

    def _outcome(self, worker: ConnectedWorker, outcome: Outcome) -> None:
        worker.pending.pop(outcome.key, None)
        if isinstance(outcome, Failed) and isinstance(outcome.error, Unreachable) and worker.session is not None:
            worker.session.worry()
        self._emit(FromWorker(worker.name, outcome))

    def _session_broken(self, worker: ConnectedWorker, broke: SessionBroken) -> None:
        self._close(worker)
        if worker.link.connected:
            worker.losses += 1
            worker.link.lost()
            log.warning("worker %s is lost: %s", worker.name, broke.message)
        else:
            again = times.rfc3339(worker.link.failed(self._clock()))
            log.warning(
                "worker %s: %s; attempt %d, the next at %s", *(worker.name, broke.message), worker.link.failures, again
            )
        self._set(worker, "misconfigured" if broke.refused else "lost", FAILED, broke.message)

    # --- actions

    def _connect(self, worker: ConnectedWorker, login: WorkerLogin) -> None:
        self._close(worker)
        patience = patience_after(worker.link.failures) / SECOND
        name = worker.name

        def report(session: WorkerSession, event: SessionEvent) -> None:
            self._post(Call(lambda: self._take_event(name, session, event)))

        worker.session = self._open_session(name, login, self._watched, report, self._may_write, patience, self._pulse)
        worker.session.start()

    def _refuse(self, worker: ConnectedWorker, refused: RefusedKubeconfig) -> None:
        self._close(worker)
        worker.link.lost()
        self._set(worker, "misconfigured", refused.reason, refusal(refused))

    def _close(self, worker: ConnectedWorker) -> None:
        """Close the connection. Requests in flight may still be executed; the result of each is reported as unknown."""
        session, pending = worker.session, worker.pending
        worker.session, worker.pending = None, {}
        if session is not None:
            worker.heard_at = max(worker.heard_at, session.heard_at)
            session.close()
        self._fail(worker.name, pending, sent=True)

    def _set(self, worker: ConnectedWorker, state: ConnectionState, reason: str, message: str) -> None:
        worker.state, worker.reason, worker.message = state, reason, message
        self._report(worker)

    def _report(self, worker: ConnectedWorker) -> None:
        """Report the state of the connection to placement and conditions, if it has changed."""
        if worker.connection != worker.reported:
            worker.reported = worker.connection
            self._emit(FromWorker(worker.name, worker.reported))


def refusal(refused: RefusedKubeconfig) -> str:
    """The message of the condition, in Kueue's words."""
    return f"load client config failed: {refused.message}"


def wait_after(failures: int) -> int:
    """Nanoseconds until the next attempt, after this number of failures in a row."""
    return RETRY << (min(failures, STEPS) - 1) if failures else 0


def patience_after(failures: int) -> int:
    """Nanoseconds that an attempt may take, after this number of failures in a row."""
    return min(MOST_PATIENCE, PATIENCE << min(failures, STEPS))


@dataclass
class Link:
    """The attempts to reach one worker. Source: Kueue v0.19, pkg/controller/admissionchecks/multikueue.

    `content`: the kubeconfig.
    `connected`: whether the last attempt succeeded and the connection is not lost.
    `failures`: how many attempts in a row have failed.
    `retry_at`: when the next attempt is due, in nanoseconds.
    `jitter`: waits are longer by up to this fraction, so that workers that were lost together are not retried together.
    `longest`: the longest wait in nanoseconds, without the jitter.
    `chance`: the source of random numbers.
    """

    content: str = ""
    connected: bool = False
    failures: int = 0
    retry_at: int = 0
    jitter: float = 0.0
    longest: int = wait_after(STEPS)
    chance: random.Random = field(default_factory=random.Random)

    def step(self, content: str, now: int) -> Step:
        """What to do with this kubeconfig now. If it has changed, connect at once."""
        if content != self.content:
            self.content, self.failures, self.retry_at, self.connected = content, 0, 0, False
            return "connect"
        if self.connected:
            return "keep"
        return "wait" if now < self.retry_at else "connect"

    def made(self) -> None:
        self.connected, self.failures, self.retry_at = True, 0, 0

    def failed(self, now: int) -> int:
        """An attempt failed. Returns the time of the next one."""
        self.failures += 1
        self.retry_at = now + int(
            min(wait_after(self.failures), self.longest) * (1 + self.chance.uniform(0, self.jitter))
        )
        self.connected = False
        return self.retry_at

    def lost(self) -> None:
        """An open connection broke. The first attempt to reopen it is due at once."""
        self.connected, self.failures, self.retry_at = False, 0, 0
