"""Renews certificates while a process runs."""

import logging
import threading
from collections.abc import Callable

from cluster.errors import ClusterError
from cluster.retry import Backoff

# Seconds. Nothing is due that often, but a caBundle that `kubectl replace` removed is restored after that time.
EVERY = 300.0

log = logging.getLogger(__name__)


class Renewal:
    """Calls `renew` in a thread every `every` seconds; after a failure sooner, with a backoff.

    `renew` does what is due: `certs.secret.ensure` and then `certs.files.write`, or `certs.files.ensure`. It returns
    whether everything is in order. False, for example for a missing webhook configuration, is retried sooner, too. The
    caller makes the first call itself, before it serves.
    """

    def __init__(
        self,
        renew: Callable[[], bool],
        *,
        every: float = EVERY,
        backoff: Backoff | None = None,
        rest: Callable[[float], object] | None = None,
    ) -> None:
        self.problem: str | None = None
        self._renew = renew
        self._every = every
        self._backoff = backoff or Backoff(first=5.0, longest=300.0)
        self._stop = threading.Event()
        self._rest = rest or self._stop.wait
        self._thread = threading.Thread(target=self._run, name="certificate renewal", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """End the thread; a renewal in progress is abandoned after `timeout` seconds."""
        self._stop.set()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _run(self) -> None:
        wait = self._every
        while True:
            self._rest(wait)
            if self._stop.is_set():
                return
            wait = self._once()

    def _once(self) -> float:
        """Call `renew` once; returns the seconds until the next call."""
        try:
            complete = self._renew()
        except (ClusterError, OSError, ValueError) as error:
            self.problem = str(error)
            wait = self._backoff.next()
            log.warning("certificates could not be renewed: %s; next attempt in %.0f s", error, wait)
            return wait
        self.problem = None
        if complete:
            self._backoff.reset()
            return self._every
        return self._backoff.next()
