"""Renews certificates while a process runs."""

import logging
import threading
from collections.abc import Callable

from cluster.errors import ClusterError
from cluster.retry import RandomBackoff

# Seconds. Nothing is due that often, but a watch may miss a change.
EVERY = 300.0
# Seconds between two looks, however often somebody else writes.
_PAUSE = 0.5

log = logging.getLogger(__name__)


class Renewal:
    """Calls `renew` in a thread every `every` seconds, and after `wake`; after a failure sooner, with a backoff.
    Two calls are `pause` seconds apart at least.

    `renew` does what is due: `certs.secret.ensure` and then `certs.files.write`, or `certs.files.ensure`. It returns
    whether everything is in order. False, for example for a missing webhook configuration, is retried sooner, too. The
    caller makes the first call itself, before it serves.
    """

    def __init__(
        self,
        renew: Callable[[], bool],
        *,
        pause: float = _PAUSE,
        rest: Callable[[float], object] | None = None,
    ) -> None:
        self.problem: str | None = None
        self._renew = renew
        self._pause = pause
        self._backoff = RandomBackoff(first=1.0, longest=300.0)
        self._stop = threading.Event()
        self._woken = threading.Event()
        self._rest = rest or self._woken.wait
        self._thread = threading.Thread(target=self._run, name="certificate renewal", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def wake(self) -> None:
        """Somebody changed what the certificates depend on: look at once."""
        self._woken.set()

    def stop(self, timeout: float = 5.0) -> None:
        """End the thread; a renewal in progress is abandoned after `timeout` seconds."""
        self._stop.set()
        self._woken.set()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _run(self) -> None:
        wait = EVERY
        while True:
            self._rest(wait)
            self._woken.clear()
            if self._stop.is_set():
                return
            wait = self._once()
            self._stop.wait(self._pause)

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
            return EVERY
        return self._backoff.next()
