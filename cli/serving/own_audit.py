"""Serves /v1/findings without an audit server: this process audits the objects that the user may read."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from audit.api import AuditApi
from audit.auditor import PAUSE_FACTOR, SHORTEST_PAUSE
from cli.serving.answers import FileReviews, answered, unavailable_as_client_errors
from cluster.errors import ClusterError, Unreachable
from dashboard.reading.backend import Manifest
from policies.audit.audited import Audit

log = logging.getLogger(__name__)
_PATIENCE = 3.0
"""Seconds that a page waits for the first audit."""
_BRIEF = 1.0
"""Seconds that a page waits for a later audit. Most audits end within it, so that the page has no old findings."""


class OwnAudit:
    """The audit of a dashboard for one user. A request starts an audit if the last one is old. Only one runs at a time.

    `judge`: reads and audits the objects; raises OutOfReach.
    `patience`: the seconds that a request waits for the first audit.
    `brief`: the seconds that a request waits for a later audit. After that it gets the last one, whose `judged` is the
    time of that audit.
    """

    def __init__(self, judge: Callable[[], Audit], patience: float = _PATIENCE, brief: float = _BRIEF) -> None:
        self._judge, self._patience, self._brief = judge, patience, brief
        self._api = AuditApi(lambda: self._last, FileReviews())  # type: ignore[arg-type]
        self._last: Audit | None = None
        self._error: ClusterError | None = None
        self._next_at = float("-inf")
        self._idle = threading.Event()
        self._idle.set()
        self._lock = threading.Lock()

    def get(self, path: str, params: Mapping[str, str] | None = None) -> Manifest:
        """The last audit, for a path of the audit's API.

        Raises ClusterError if the first audit has not ended yet, or the last one failed.
        """
        self._begin()
        ended = self._idle.wait(self._patience if self._last is None else self._brief)
        if self._last is None and not ended:
            raise Unreachable("the audit", "the first one has not ended yet", "this page shows them when it has ended")
        if self._error is not None:
            raise self._error
        return answered(self._api, path, params)

    def _begin(self) -> None:
        with self._lock:
            if self._idle.is_set() and time.monotonic() >= self._next_at:
                self._idle.clear()
                # It is a daemon thread so that Ctrl-C does not wait for it.
                threading.Thread(target=self._run, name="audit", daemon=True).start()

    def _run(self) -> None:
        began, factor = time.monotonic(), PAUSE_FACTOR
        try:
            with unavailable_as_client_errors("the audit"):
                self._last, self._error = self._judge(), None
        except ClusterError as error:
            self._error, factor = error, 0.0  # a cluster that did not answer for long may answer now
        except Exception:
            log.exception("the cluster could not be audited: internal error")
            self._error = Unreachable("the audit", "internal error", "the command's output has the trace")
        finally:
            ended = time.monotonic()
            self._next_at = ended + max(SHORTEST_PAUSE, factor * (ended - began))
            self._idle.set()
