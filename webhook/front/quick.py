"""Small reviews are answered in the thread that holds the connections, as the app would answer them.

Python runs one thread at a time, so a thread of its own makes a short request no shorter: it costs two changes of
threads, which is as much as judging it. What may be long still gets one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from webhook.desk import JSON, Desk, KnownRequest, MustWait, Reply
from webhook.front.answering import AppAnswer, DeferredAnswer
from webhook.front.reading import WholeRequest
from webhook.ledger.entry import author
from webhook.spans import HEADER

SMALL = 16 * 1024
"""Bytes of a body that is judged at once. A review of a queue has 2 KiB, of a Pod 10 KiB."""
ENTRIES = 600
"""Opening brackets and commas of such a body: one with a defect costs up to 0.1 ms. A review of a Pod has 300."""
SLOW = 0.01
"""Seconds of processor time, after which a path gets threads again. Most reviews take a fortieth of it."""
REST = 100
"""How many times as long as a slow review took its path pauses. So such reviews delay others for 1 % of the time."""

_SIGNS = (b"{", b"[", b",")


class Quick:
    """`clock` counts the seconds, `cost` those of the processor that this thread has used."""

    def __init__(
        self,
        desk: Desk,
        clock: Callable[[], float] = time.monotonic,
        cost: Callable[[], float] = time.thread_time,
    ) -> None:
        self._desk = desk
        self._clock = clock
        self._cost = cost
        self._resting = dict.fromkeys(desk.paths, 0.0)
        """The time until which the requests of a path are not answered here."""

    def __call__(self, request: WholeRequest) -> AppAnswer | DeferredAnswer | None:
        """The answer, or what a thread is to do for it; None where that is to ask the app."""
        path = request.path
        until = self._resting.get(path)
        if until is None or not _plain(request) or (until and self._clock() < until):
            return None
        began = self._cost()
        try:
            parent = request.header(HEADER) if self._desk.traced else ""
            reply = self._desk.answer(path, request.body, waits=False, parent=parent, gone=request.gone)
        except MustWait as waiting:
            return DeferredAnswer(partial(self._later, waiting.asked), author(waiting.asked.user))
        finally:
            took = self._cost() - began
            if took > SLOW:
                self._resting[path] = self._clock() + took * REST
        return _rendered(reply)

    def _later(self, asked: KnownRequest) -> AppAnswer:
        return _rendered(self._desk.go_on(asked))


def _rendered(reply: Reply) -> AppAnswer:
    """The reply in the form that the app returns."""
    headers = (("Content-Type", reply.content_type), ("Content-Length", str(len(reply.body))))
    return AppAnswer(f"{reply.status} {reply.status.phrase.upper()}", headers, reply.body)


def _plain(request: WholeRequest) -> bool:
    """Whether the app would read the request as the desk does."""
    return (
        request.method == "POST"
        and not request.cut
        and len(request.body) <= SMALL
        and request.header("content-type") == JSON
        and sum(map(request.body.count, _SIGNS)) <= ENTRIES
    )
