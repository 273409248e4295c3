"""From the first line of a server's log to its last signal."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from cluster.addresses import url_of, write_address

log = logging.getLogger(__name__)


def announce(scheme: str, host: str, port: int, file: Path | None, **more: str) -> None:
    """Say in the log, and where asked for in a file, where the probes are served."""
    address = {"url": url_of(scheme, host, port), "pid": os.getpid(), **more}
    log.info("serving", extra={"fields": address})
    write_address(file, address)


@contextmanager
def signalled(ended: threading.Event) -> Iterator[Callable[[float], bool]]:
    """Wait for SIGTERM or SIGINT by the function that this yields; a second signal ends the process at once.

    The function waits up to so many seconds, sets the event if a signal came, and returns whether the event is set.
    """
    handled = (signal.SIGTERM, signal.SIGINT)
    # A handler runs between two lines of the main thread. An Event has a lock, which one of these lines may hold.
    arrived: SimpleQueue[int] = SimpleQueue()

    def end(number: int, _: object) -> None:
        arrived.put(number)
        signal.signal(number, signal.SIG_DFL)

    def wait(seconds: float) -> bool:
        with suppress(Empty):
            arrived.get(timeout=seconds)
            ended.set()
        return ended.is_set()

    before = {number: signal.signal(number, end) for number in handled}
    try:
        yield wait
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
