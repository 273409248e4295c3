"""gunicorn's worker: runs the loop of the connections, and ends without cutting a request off."""

from __future__ import annotations

import os
import signal
import time
from types import FrameType
from typing import Any

from gunicorn.workers.base import Worker

from webhook.app import CONVERTING
from webhook.front.gate import ClientGate
from webhook.front.loop import Front
from webhook.front.quick import Quick

_SIGN = 1.0
"""Seconds between two signs of life to the master, which waits for 60 s."""


class FrontWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """A worker that becomes unready on SIGTERM, and keeps serving until load balancers have noticed.

    Meanwhile each response closes its connection, so that the client connects to another replica.
    """

    app: Any
    _next_sign = 0.0

    def init_signals(self) -> None:
        super().init_signals()
        signal.signal(signal.SIGALRM, self._drained)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        drain_seconds = self.app.settings.drain_seconds
        if drain_seconds and not self.app.draining.is_set():
            self.app.draining.set()
            signal.setitimer(signal.ITIMER_REAL, drain_seconds)  # a thread must not be started in a signal handler
        elif not drain_seconds:
            self._drained(sig, frame)

    def _drained(self, sig: int, frame: FrameType | None) -> None:
        self.app.draining.set()
        super().handle_exit(sig, frame)

    def run(self) -> None:
        front = self._front()
        signal.set_wakeup_fd(front.waker, warn_on_full_buffer=False)
        try:
            while self.alive and self._supervised():
                front.turn()
            front.stop_accepting()
            end = time.monotonic() + self.cfg.graceful_timeout
            while front.busy and time.monotonic() < end:
                self.notify()
                front.turn()
        finally:
            signal.set_wakeup_fd(-1)
            front.close()

    def _supervised(self) -> bool:
        """Whether the master still runs. Also notifies it that the worker runs, at most once a second, since each time
        is a system call."""
        now = time.monotonic()
        if now < self._next_sign:
            return True
        self._next_sign = now + _SIGN
        self.notify()
        return bool(self.ppid == os.getppid())

    def _front(self) -> Front:
        settings = self.app.settings
        return Front(
            [listener.sock for listener in self.sockets],
            self.app.tls.current,
            self.wsgi,
            Quick(self.app.handler),
            settings,
            gate=ClientGate(
                settings.client_ca is not None,
                frozenset(settings.client_names),
                frozenset({CONVERTING} if settings.converts_for_all else ()),
            ),
            limit=lambda path: settings.conversion_limit if path == CONVERTING else settings.body_limit,
            ending=self.app.draining.is_set,
            turned_away=self.app.metrics.turned_away,
        )
