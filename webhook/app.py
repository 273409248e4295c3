"""The WSGI app of the webhook. Each route reads an HTTP request, and `webhook/review_handler.py` answers it."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TypeAlias

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from cluster.store import ManifestCache
from cluster.tracing.ids import trace_id
from policies.dialects.kueue_kinds import CONVERSION_PATH
from policies.rules import registry
from webhook import answer, conversion, review_handler
from webhook.front.reading import BEGINNING
from webhook.ledger.keeping import MaintainedLedger
from webhook.metrics import WebhookMetrics
from webhook.review import BadReview
from webhook.review_handler import JSON, Reply, ReviewHandler
from webhook.settings import WebhookSettings
from webhook.spans import HEADER

log = logging.getLogger(__name__)

CONVERTING = CONVERSION_PATH
"""The conversion webhook of the CustomResourceDefinitions of Kueue's group."""

_BEGINNING = re.compile(rb'"request":{"uid":"([-0-9A-Za-z]+)".*?"operation":"([A-Z]+)"').search
"""The beginning of a review, as the API server writes it: uid and operation. The object, which may have a label with
the name `operation`, comes after them."""

Answer: TypeAlias = tuple[bytes, int, Mapping[str, str]]


def create_app(
    settings: WebhookSettings,
    cache: Callable[[], ManifestCache],
    *,
    metrics: WebhookMetrics | None = None,
    draining: threading.Event | None = None,
    order: MaintainedLedger | None = None,
    judge: ReviewHandler | None = None,
) -> Flask:
    """The app.

    `cache`: returns the cache on which requests are judged.
    `draining`: once it is set, /readyz fails, while requests are still answered.
    `order`: the ledger; without it each request is judged on the cache alone.
    `judge`: answers the admission requests; by default one with the other arguments.
    """
    registry()  # load the rules now, so that no review waits for imports
    app = Flask("webhook", static_folder=None)
    # One more than allowed, since a body of unknown length is silently cut at this length.
    app.config["MAX_CONTENT_LENGTH"] = settings.body_limit + 1
    metrics = metrics or WebhookMetrics()
    judge = judge or ReviewHandler(settings, cache, metrics, order)
    views = _Views(settings, cache, metrics, draining or threading.Event(), order, judge)
    for path in judge.paths:
        app.add_url_rule(path, path, views.decide, methods=["POST"])
    app.add_url_rule(CONVERTING, CONVERTING, views.convert, methods=["POST"])
    app.add_url_rule("/healthz", "healthz", views.healthz)
    app.add_url_rule("/readyz", "readyz", views.readyz)
    app.after_request(views.end)
    app.register_error_handler(BadReview, lambda error: _text(str(error), 400))
    app.register_error_handler(RequestEntityTooLarge, views.too_long)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, lambda error: _answer(review_handler.fault(request.path, error)))
    return app


def unready(cache: ManifestCache, draining: threading.Event, order: MaintainedLedger | None = None) -> list[str]:
    """Why no requests should be sent to this process; empty if it is ready."""
    return ["draining"] if draining.is_set() else cache.ready() or (order.ready() if order else [])


class _Views:
    def __init__(
        self,
        settings: WebhookSettings,
        cache: Callable[[], ManifestCache],
        metrics: WebhookMetrics,
        draining: threading.Event,
        order: MaintainedLedger | None,
        judge: ReviewHandler,
    ) -> None:
        self._conversion_limit = settings.conversion_limit
        self._cache = cache
        self._metrics = metrics
        self._draining = draining
        self._order = order
        self._judge = judge

    def decide(self) -> Response:
        parent = request.headers.get(HEADER, "") if self._judge.traced else ""
        reply = self._judge.answer(request.path, _body(), parent=parent)
        g.counted = True
        return Response(reply.body, reply.status, content_type=reply.content_type)

    def convert(self) -> Response:
        """Convert objects to another version. It does not wait for the cache: the API server converts objects for the
        cache's own first list."""
        request.max_content_length = self._conversion_limit + 1
        asked = conversion.parse(_body())
        done = conversion.perform(asked)
        self._metrics.converted(asked.to, len(asked.objects), bool(done.failure))
        if done.failure:
            fields = {"uid": asked.uid, "trace": trace_id(asked.uid)}
            log.warning("conversion to %s failed: %s", asked.to, done.failure, extra={"fields": fields})
        return Response(done.body(), content_type=JSON)

    def healthz(self) -> Answer:
        return _text("ok", 200)

    def readyz(self) -> Answer:
        """Whether to send requests to this process; if not, what is missing."""
        lacks = unready(self._cache(), self._draining, self._order)
        return _text("not ready: " + "; ".join(lacks), 503) if lacks else _text("ok", 200)

    def too_long(self, _: RequestEntityTooLarge) -> Answer:
        """Deny the creation of an object that is too long to be judged: with an error, a Pod would pass without a gate,
        since the webhooks for work fail open. The reconciler undoes other changes."""
        beginning = request.environ["wsgi.input"].read(BEGINNING)
        limit = (request.max_content_length or 1) - 1
        review = _BEGINNING(beginning) if request.path in self._judge.paths else None
        if review is not None and review[2] == b"CREATE":
            denied = Reply(HTTPStatus.OK, JSON, answer.too_long(review[1].decode(), limit))
            body, status, headers = _answer(denied)
        else:
            body, status, headers = _text(f"the body has more than {limit} bytes, which is too long", 413)
        return body, status, {**headers, "Connection": "close"}  # do not read the rest of the body

    def end(self, response: Response) -> Response:
        """Count a request that was refused before the handler got it."""
        if request.path in self._judge.paths and not g.get("counted"):
            self._judge.refused(request.path, response.status_code)
        return response


def _body() -> bytes:
    """The request's body. Raises BadReview, or RequestEntityTooLarge before the whole body is read."""
    if request.mimetype != JSON:
        raise BadReview(f"the content type is {request.mimetype!r}; it must be application/json")
    body = request.get_data(cache=False)
    if request.max_content_length in (len(body), request.content_length):
        raise RequestEntityTooLarge
    return body


def _answer(reply: Reply) -> Answer:
    return reply.body, reply.status, {"Content-Type": reply.content_type}


def _text(text: str, status: int) -> Answer:
    return _answer(review_handler.text(text, HTTPStatus(status)))


def _http_error(error: HTTPException) -> Answer:
    return _text(error.description or error.name, error.code or 500)
