"""The start and the end of a server: it announces its address, and stops at a signal."""

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
    """Log the address of the probes, and write it to `file` if one is set."""
    address = {"url": url_of(scheme, host, port), "pid": os.getpid(), **more}
    log.info("serving", extra={"fields": address})
    write_address(file, address)


@contextmanager
def signalled(ended: threading.Event) -> Iterator[Callable[[float], bool]]:
    """Handle SIGTERM and SIGINT, and yield a function that waits for one. A second signal ends the process at once.

    The function waits at most the given number of seconds, sets `ended` if a signal arrived, and returns whether
    `ended` is set.
    """
    handled = (signal.SIGTERM, signal.SIGINT)
    # A signal handler interrupts the main thread at any line, even one that holds the lock of an Event. A SimpleQueue
    # is safe in a handler.
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
