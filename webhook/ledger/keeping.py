"""The thread that keeps the ledger in order while nobody writes, and tells whether it can be used."""

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
from webhook.ledger.sequencer import LedgerUnavailable
from webhook.ledger.store import ConfigMapStore

log = logging.getLogger(__name__)

_EVERY = 15.0
"""Seconds between two rounds, so that an entry of a request that failed is gone after a minute and a half."""
_LOOK = 0.25
"""Seconds between two looks at what the cache shows of the open entries."""
_AGAIN = 2.0
"""Seconds until the next attempt, while the ledger has never been written."""


class KeptLedger:
    """A ledger with its ConfigMap and its thread. Not ready until the ConfigMap was read and may be written."""

    def __init__(self, ledger: Ledger, store: ConfigMapStore) -> None:
        self._ledger = ledger
        self._store = store
        self._lack = "not read yet"
        self._stop = threading.Event()
        self._tidy = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)

    def start(self) -> None:
        self._store.start()
        self._thread.start()

    def decide(self, change: Change, judge: Callable[[Forest], Judgement], entry: LedgerEntry | None) -> Judgement:
        return self._ledger.decide(change, judge, entry)

    def abandon(self, request: str) -> None:
        """See `ChangeOrder.abandon`. The entry is taken out at once."""
        self._ledger.abandon(request)
        self._tidy.set()

    def ready(self) -> list[str]:
        return [f"ledger: {self._lack}"] if self._lack else []

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
        """One round: until it was ready once, find out whether it is; then tidy. Logs what fails."""
        try:
            if self._lack:
                self._store.try_out()
                self._lack = ""
            else:
                self._ledger.tidy()
        except (ClusterError, LedgerUnavailable, UnreadableEntry) as error:
            self._lack = self._lack and str(error)
            log.warning("ledger: %s", error)

    def _run(self) -> None:
        while not self._stop.is_set():
            self.attempt()
            again = time.monotonic() + (_AGAIN if self._lack else _EVERY * random.uniform(0.8, 1.2))  # noqa: S311
            while time.monotonic() < again and not self._tidy.wait(_LOOK):
                self._ledger.observe()
            self._tidy.clear()
