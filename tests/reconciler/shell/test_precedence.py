"""How many reports are written beside a write with precedence."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from reconciler.shell.precedence import ReportPrecedence


def test_more_reports_begin_once_more_are_allowed_beside_a_write() -> None:
    """As when the API server slows down: the next report that ends makes room for all that are allowed then."""
    allowed = [1]
    precedence, begun, ends = ReportPrecedence(lambda: allowed[0]), queue.SimpleQueue[int](), threading.Semaphore(0)

    def report(number: int) -> None:
        with precedence.report():
            begun.put(number)
            assert ends.acquire(timeout=30)

    with ThreadPoolExecutor(4) as pool:
        precedence.begin()
        written = [pool.submit(report, number) for number in range(4)]
        begun.get(timeout=30)
        with pytest.raises(queue.Empty):
            begun.get(timeout=0.1)

        allowed[0] = 3
        ends.release()
        for _ in range(3):
            begun.get(timeout=30)
        ends.release(3)
        for each in written:
            each.result(timeout=30)
