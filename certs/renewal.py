"""Renews certificates while a process runs."""

import logging
import threading
from collections.abc import Callable

from cluster.errors import ClusterError
from cluster.retry import RandomBackoff

# Seconds between two calls. Renewals are due less often, but a watch may have missed a change.
EVERY = 300.0
# The minimum number of seconds between two calls, even if others write all the time.
_PAUSE = 0.5

log = logging.getLogger(__name__)


class Renewal:
    """Calls `renew` regularly in a thread, and also after `wake`. After a failure the next call is sooner.

    `renew`: creates or renews certificates, such as by `certs.files.ensure`. It returns whether everything is in
    order. If it returns False, for example because a webhook configuration is missing, it is also called again soon.
    The owner calls `renew` for the first time before it serves.
    `pause`: the minimum number of seconds between two calls.
    """

    def __init__(
        self, renew: Callable[[], bool], *, pause: float = _PAUSE, rest: Callable[[float], object] | None = None
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
        self._thread.start()

    def wake(self) -> None:
        """Call `renew` at once, because an object that the certificates depend on has changed."""
        self._woken.set()

    def stop(self, timeout: float = 5.0) -> None:
        """End the thread. Waits at most `timeout` seconds for a renewal in progress."""
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
        except Exception as error:  # without this thread, the certificates would expire
            self.problem = str(error)
            wait = self._backoff.next()
            internal = not isinstance(error, ClusterError | OSError | ValueError)
            log.warning("certificates could not be renewed: %s; next attempt in %.0f s", error, wait, exc_info=internal)
            return wait
        self.problem = None
        if complete:
            self._backoff.reset()
            return EVERY
        return self._backoff.next()
