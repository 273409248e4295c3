"""Answers reviews: small ones in the thread of the connections. The answers are the same as those of the app.

Python runs one thread at a time, so a worker thread does not speed up a short request: switching threads twice takes as
long as judging it. A request that may take longer gets a worker thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from webhook.front.reading import WholeRequest
from webhook.front.response import DeferredResponse, HttpResponse
from webhook.ledger.entry import author
from webhook.review_handler import JSON, KnownRequest, MustWait, Reply, ReviewHandler
from webhook.spans import HEADER

SMALL = 16 * 1024
"""The most bytes of a body that is judged at once. A review of a queue has 2 KiB, of a Pod 10 KiB."""
ENTRIES = 600
"""The most opening brackets and commas in such a body. Each defect in an object takes up to 0.1 ms. A review of a Pod
has 300."""
SLOW = 0.01
"""Seconds of CPU time. After a review that takes longer, threads answer its path for a while. Most reviews take a
fortieth of this."""
REST = 100
"""A slow review sends its path to threads for this many times its duration. So it delays others at most 1 % of the
time."""

_SIGNS = (b"{", b"[", b",")


class Quick:
    """Answers small reviews at once, and others in worker threads.

    `clock`: seconds. `cost`: seconds of CPU time that this thread has used.
    """

    def __init__(
        self,
        handler: ReviewHandler,
        clock: Callable[[], float] = time.monotonic,
        cost: Callable[[], float] = time.thread_time,
    ) -> None:
        self._handler = handler
        self._clock = clock
        self._cost = cost
        self._resting = dict.fromkeys(handler.paths, 0.0)
        """The time until which threads answer the requests of a path."""

    def __call__(self, request: WholeRequest) -> HttpResponse | DeferredResponse | None:
        """The response, or one that a thread has to compute. None if the app must answer."""
        until = self._resting.get(request.path)
        if until is None or not _plain(request):
            return None
        if not _small(request.body) or (until and self._clock() < until):
            return DeferredResponse(partial(self._answer, request))
        began = self._cost()
        try:
            return self._answer(request)
        finally:
            took = self._cost() - began
            if took > SLOW:
                self._resting[request.path] = self._clock() + took * REST

    def _answer(self, request: WholeRequest) -> HttpResponse | DeferredResponse:
        """The response. If it has to wait, a thread of the author's share waits for it."""
        parent = request.header(HEADER) if self._handler.traced else ""
        try:
            return _response(
                self._handler.answer(request.path, request.body, waits=False, parent=parent, gone=request.gone)
            )
        except MustWait as waiting:
            return DeferredResponse(partial(self._resume, waiting.request), author(waiting.request.user))

    def _resume(self, request: KnownRequest) -> HttpResponse:
        return _response(self._handler.go_on(request))


def _response(reply: Reply) -> HttpResponse:
    """The reply as the same response that the app would return."""
    headers = (("Content-Type", reply.content_type), ("Content-Length", str(len(reply.body))))
    return HttpResponse(f"{reply.status} {reply.status.phrase.upper()}", headers, reply.body)


def _plain(request: WholeRequest) -> bool:
    """Whether the app would hand the same request to the handler."""
    return request.method == "POST" and not request.cut and request.header("content-type") == JSON


def _small(body: bytes) -> bool:
    return len(body) <= SMALL and sum(map(body.count, _SIGNS)) <= ENTRIES
