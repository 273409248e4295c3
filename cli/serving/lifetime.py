"""From the first line of a server's log to its last signal."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.addresses import url_of, write_address

log = logging.getLogger(__name__)


def announce(scheme: str, host: str, port: int, file: Path | None, **more: str) -> None:
    """Say in the log, and where asked for in a file, where the probes are served."""
    address = {"url": url_of(scheme, host, port), "pid": os.getpid(), **more}
    log.info("serving", extra={"fields": address})
    write_address(file, address)


@contextmanager
def signalled(ended: threading.Event) -> Iterator[None]:
    """SIGTERM and SIGINT set the event; a second signal ends the process at once."""
    handled = (signal.SIGTERM, signal.SIGINT)

    def end(number: int, _: object) -> None:
        ended.set()
        signal.signal(number, signal.SIG_DFL)

    before = {number: signal.signal(number, end) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
