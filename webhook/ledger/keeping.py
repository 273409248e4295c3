"""The thread that removes old entries even if no change is written, and the readiness of the ledger."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable

from cluster.errors import ClusterError
from policies.judge import Judgement
from policies.model.change import Change
from policies.model.forest import Forest
from webhook.ledger.entry import LedgerEntry, UnreadableEntry
from webhook.ledger.ledger import Ledger
from webhook.ledger.store import ConfigMapStore, LedgerUnavailable

log = logging.getLogger(__name__)

_TIDY_EVERY = 15.0
"""Seconds between two rounds. The entry of a request that failed is therefore removed within 90 s."""
_OBSERVE_EVERY = 0.25
"""Seconds between two comparisons of the open entries with the cache."""
_RETRY_AFTER = 2.0
"""Seconds between two attempts while the ledger is not ready."""


class MaintainedLedger:
    """A ledger with its ConfigMap and its thread. It is ready when the ConfigMap was read and can be written."""

    def __init__(self, ledger: Ledger, store: ConfigMapStore) -> None:
        self._ledger = ledger
        self._store = store
        self._problem = "not read yet"
        self._stop = threading.Event()
        self._tidy = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)

    def start(self) -> None:
        self._store.start()
        self._thread.start()

    def decide(self, change: Change, judge: Callable[[Forest], Judgement], entry: LedgerEntry | None) -> Judgement:
        return self._ledger.decide(change, judge, entry)

    def abandon(self, request: str) -> None:
        """Void the entry of a request whose client has gone, and have the thread remove it at once."""
        self._ledger.abandon(request)
        self._tidy.set()

    def ready(self) -> list[str]:
        return [f"ledger: {self._problem}"] if self._problem else []

    def entries(self) -> int:
        contents = self._store.newest()
        return len(contents.entries) if contents else 0

    def close(self) -> None:
        self._stop.set()
        self._tidy.set()
        self._store.close()
        if self._thread.ident is not None:
            self._thread.join(5.0)

    def attempt(self) -> None:
        """Check whether the ledger can be used; once it can, remove old entries. Logs errors."""
        try:
            if self._problem:
                self._store.try_out()
                self._problem = ""
            else:
                self._ledger.tidy()
        except (ClusterError, LedgerUnavailable, UnreadableEntry) as error:
            self._problem = self._problem and str(error)
            log.warning("ledger: %s", error)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._round()
            except Exception:  # without this thread, the ledger fills up
                log.exception("ledger: internal error; trying again")
                self._stop.wait(_RETRY_AFTER)

    def _round(self) -> None:
        self.attempt()
        seconds = _RETRY_AFTER if self._problem else _TIDY_EVERY * random.uniform(0.8, 1.2)  # noqa: S311
        next_round = time.monotonic() + seconds
        while time.monotonic() < next_round and not self._tidy.wait(_OBSERVE_EVERY):
            self._ledger.observe()
        self._tidy.clear()
