"""/v1/findings without a server of the audit: what a command may read is judged in this process, now and then."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from audit.api import AuditApi
from audit.auditor import PAUSE_FACTOR, SHORTEST_PAUSE
from cli.serving.answers import FileReviews, out_of_reach_as_by_a_server, refused_as_by_a_server
from cluster.errors import ClusterError, Unreachable
from dashboard.reading.backend import Manifest
from policies.audit.audited import Audit

log = logging.getLogger(__name__)
_PATIENCE = 3.0
"""Seconds that a page waits for the first audit."""
_BRIEF = 1.0
"""Seconds that a page waits for a later one. Most clusters are judged within it, and the page has no old findings."""


class OwnAudit:
    """The audit of the own dashboard. One audit runs at a time; it starts with a request, if the last one is old.

    An answer waits for it up to `brief` seconds, the first one up to `patience`. After that the last one is the answer;
    its `judged` says when that was. `judge` reads and judges; it raises OutOfReach.
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
        with refused_as_by_a_server():
            return self._api.answer(f"{path}?{urlencode(params or {})}", "Bearer own")

    def _begin(self) -> None:
        with self._lock:
            if self._idle.is_set() and time.monotonic() >= self._next_at:
                self._idle.clear()
                # A daemon, so that Ctrl-C need not wait for it.
                threading.Thread(target=self._run, name="audit", daemon=True).start()

    def _run(self) -> None:
        began = time.monotonic()
        try:
            with out_of_reach_as_by_a_server("the audit"):
                self._last, self._error = self._judge(), None
        except ClusterError as error:
            self._error = error
        except Exception:
            log.exception("the cluster could not be audited: internal error")
            self._error = Unreachable("the audit", "internal error", "the command's output has the trace")
        finally:
            ended = time.monotonic()
            self._next_at = ended + max(SHORTEST_PAUSE, PAUSE_FACTOR * (ended - began))
            self._idle.set()
